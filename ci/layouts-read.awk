# Reads a table of layouts (bindings/layouts.json) and prints a part of it as lines of facts.
# In: the table, which must be in the form that ci/layouts writes: one fact on one line.
# -v mode=names: every field and constant that any variant names, records kept together, each with
#   what the table's head adds: the last line that needs the field, the constant's newer name.
# -v mode=variant, line, micro: first_micro, last_verified_micro and also_checked of the variant
#   that this release uses; nothing if the table does not have the line.
# -v mode=facts, line, micro: what that variant says. A fact has its parts between tabs:
#   field RECORD.FIELD OFFSET SIZE TYPE | field RECORD.FIELD null | constant NAME VALUE|null | symbol NAME

BEGIN { depth = 0; variants = 0; OFS = "\t" }
{
    text = $0
    sub(/^ */, "", text); sub(/,$/, "", text)
    if (text ~ /^[]}]$/) { depth--; next }
    name = ""
    if (match(text, /^"[^"]*": /)) { name = substr(text, 2, RLENGTH - 4); text = substr(text, RLENGTH + 1) }
    if (text == "{" || text == "[") { open_block(name); next }
    take(name, text)
}
END {
    if (failed) exit 2
    if (depth != 0 || variants == 0) wrong("the table ends too early")
    if (mode == "names") print_names()
    else if (mode == "variant") print_variant(chosen())
    else print_facts(chosen())
}

function wrong(why) {
    printf "%s, line %d: %s\n", FILENAME, FNR, why > "/dev/stderr"
    failed = 1
    exit 2
}
function open_block(name) {
    block[++depth] = name
    if (depth == 3 && block[2] == "variants") variants++
    if (depth == 5 && block[4] == "structs") remember_record(name)
}
function take(name, text,    where) {
    if (depth == 1) return
    where = depth >= 4 ? block[4] : ""
    if (depth == 2) added[name] = unquoted(text)
    else if (depth == 3) head[variants, name] = text
    else if (where == "required_symbols") symbols[variants] = symbols[variants] unquoted(text) " "
    else if (where == "structs" && depth == 4 && text == "null") remember_record(name)
    else if (where == "structs" && depth == 5) take_field(block[5], name, text)
    else if (where == "constants") take_constant(name, text)
    else if (where == "constants_in_earlier_micros") earlier[variants, name + 0] = text
    else wrong("this is not in the form that ci/layouts writes: " $0)
}
function remember_record(name) {
    if (!(name in known_record)) { known_record[name] = 1; record[++records] = name }
}
function take_field(record_name, name, text,    part) {
    if (!((record_name, name) in known_field)) {
        known_field[record_name, name] = 1
        field[record_name, ++fields[record_name]] = name
    }
    if (text == "null") return
    if (text !~ /^\{"offset": [0-9]+, "size": [0-9]+, "type": "[^"]+"\}$/) wrong("this is no field: " $0)
    split(text, part, /[:,] ?/)
    sub(/^.*"type": "/, "", text); sub(/"\}$/, "", text)
    place[variants, record_name, name] = (part[2] + 0) OFS (part[4] + 0) OFS text
}
function take_constant(name, text) {
    if (text !~ /^(null|[0-9]+)$/) wrong("this is no constant: " $0)
    if (!(name in known_constant)) { known_constant[name] = 1; constant[++constants] = name }
    value[variants, name] = text
}
function unquoted(text) { gsub(/"/, "", text); return text }

# The newest variant of the line that begins at this release or before it.
function chosen(    v, best) {
    for (v = 1; v <= variants; v++)
        if (unquoted(head[v, "line"]) == line && head[v, "first_micro"] + 0 <= micro + 0) best = v
    return best
}
function print_variant(v,    also) {
    if (!v) return
    also = head[v, "also_checked"]
    if (match(also, /"micro": [0-9]+/)) also = substr(also, RSTART + 9, RLENGTH - 9)
    print head[v, "first_micro"], head[v, "last_verified_micro"], also
}
function print_names(    r, f, c, name) {
    for (r = 1; r <= records; r++)
        for (f = 1; f <= fields[record[r]]; f++) 
            print "field", (name = record[r] "." field[record[r], f]), added[name]
    for (c = 1; c <= constants; c++) print "constant", constant[c], added[constant[c]]
}
function print_facts(v,    r, f, c, n, at, names, now) {
    if (!v) return
    for (r = 1; r <= records; r++) {
        for (f = 1; f <= fields[record[r]]; f++) {
            at = place[v, record[r], field[record[r], f]]
            print "field", record[r] "." field[record[r], f], at == "" ? "null" : at
        }
    }
    for (c = 1; c <= constants; c++) {
        now = value[v, constant[c]]
        # A release inside the variant may have had another value.
        if (match(earlier[v, micro + 0], "\"" constant[c] "\": (null|[0-9]+)")) {
            now = substr(earlier[v, micro + 0], RSTART, RLENGTH)
            sub(/^.*: /, "", now)
        }
        print "constant", constant[c], now == "" ? "null" : now
    }
    n = split(symbols[v], names, " ")
    for (f = 1; f <= n; f++) print "symbol", names[f]
}

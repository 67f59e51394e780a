# Finds fields and constants in a compiler's debug information and prints them as facts.
# In: first the names that ci/layouts-read.awk prints, then the output of
# `readelf --debug-dump=info` (DWARF 4). Out: facts in the order of the names; what is not there is null.
# -v line: a field that only earlier lines need is null too.

BEGIN { FS = "\t"; OFS = "\t" }
FNR == NR { wanted[++names] = $0; next }

/^ *Pointer Size: / { pointer = $0; gsub(/[^0-9]/, "", pointer) }
# One entry: " <DEPTH><ID>: Abbrev Number: N (DW_TAG_x)".
/^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number/ {
    level = $0; sub(/^ *</, "", level); sub(/>.*/, "", level); level = hex(level)
    id = $0; sub(/^ *<[0-9a-f]+></, "", id); sub(/>.*/, "", id)
    kind = ""
    if (match($0, /DW_TAG_[a-z_]+/)) kind = substr($0, RSTART + 7, RLENGTH - 7)
    tag[id] = kind
    open_entry[level] = id
    # The record or list that this entry stands in.
    parent = level > 0 ? open_entry[level - 1] : ""
    next
}
/ DW_AT_name / {
    text = attribute(); sub(/^\(indirect [a-z ]*string, offset: 0x[0-9a-f]+\): /, "", text)
    name[id] = text
    if (kind == "member") member[parent, text] = id
    else if (kind == "enumerator") enumerator[text] = id
    else if (kind == "typedef") named[text] = id
    else if (kind == "structure_type") tagged[text] = id
    next
}
/ DW_AT_type / { text = attribute(); gsub(/[<>]|0x/, "", text); type[id] = text; next }
/ DW_AT_byte_size / { size[id] = attribute() + 0; next }
/ DW_AT_data_member_location/ { offset[id] = attribute() + 0; next }
/ DW_AT_const_value / { text = attribute(); value[id] = text ~ /^0x/ ? hex(substr(text, 3)) : text + 0; next }

END {
    for (n = 1; n <= names; n++) {
        split(wanted[n], part, "\t")
        if (part[1] == "constant") print_constant(part[2], part[3])
        else if (part[3] != "" && line "" > part[3] "") print "field", part[2], "null"
        else print_field(part[2])
    }
}

# What stands behind the colon of an attribute's line.
function attribute(    text) {
    text = $0
    sub(/^ *<[0-9a-f]+> *DW_AT_[a-z_]+ *: /, "", text); sub(/[ \t]+$/, "", text)
    return text
}
function hex(text,    n, i) {
    for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return n
}
# The record of this name, which may be a struct without a typedef.
function record_of(text,    id) {
    id = (text in named) ? named[text] : ""
    while (id != "" && tag[id] == "typedef") id = type[id]
    if (id == "") { sub(/_t$/, "", text); id = tagged[text] }
    return id
}
function print_field(text,    dot, record, id) {
    dot = index(text, ".")
    record = record_of(substr(text, 1, dot - 1))
    if (record == "" || !((record, substr(text, dot + 1)) in member)) { print "field", text, "null"; return }
    id = member[record, substr(text, dot + 1)]
    print "field", text, offset[id] + 0, size_of(type[id]), type_name(type[id])
}
function size_of(id) {
    while (!(id in size) && tag[id] != "pointer_type" && (id in type)) id = type[id]
    # Some compilers leave a pointer's size to the head of the unit.
    return (id in size) ? size[id] : tag[id] == "pointer_type" ? pointer : 0
}
function type_name(id,    text) {
    if (id == "") return "void"
    if (tag[id] == "pointer_type") { text = type_name(type[id]); return text (text ~ /\*$/ ? "*" : " *") }
    if (tag[id] == "const_type") return "const " type_name(type[id])
    if (tag[id] == "structure_type") return "struct " name[id]
    if (tag[id] == "union_type") return "union " name[id]
    if (tag[id] == "enumeration_type") return "enum " name[id]
    if (tag[id] == "array_type") return type_name(type[id]) "[]"
    return name[id]
}
function print_constant(text, newer,    id) {
    id = constant(text)
    if (id == "" && newer != "") id = constant(newer)
    print "constant", text, id == "" ? "null" : sprintf("%.0f", value[id])
}
# A macro stands in an enumerator of the probe's own, with a prefix.
function constant(text) { return ("berth_" text) in enumerator ? enumerator["berth_" text] : enumerator[text] }

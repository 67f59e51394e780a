# Prints facts as one variant of a table of layouts. -v line, micro: the release.

BEGIN { FS = "\t" }
$1 == "symbol" { symbol[++symbols] = "    \"" $2 "\""; next }
$1 == "constant" { constant[++constants] = "    \"" $2 "\": " $3; next }
{
    dot = index($2, ".")
    name = substr($2, 1, dot - 1)
    if (name != record[records]) record[++records] = name
    if ($3 != "null") is_there[records] = 1
    at = $3 == "null" ? "null" : sprintf("{\"offset\": %d, \"size\": %d, \"type\": \"%s\"}", $3, $4, $5)
    field[records, ++fields[records]] = "     \"" substr($2, dot + 1) "\": " at
}
END {
    print "  {"
    printf "   \"line\": \"%s\",\n   \"first_micro\": %d,\n   \"last_verified_micro\": %d,\n   \"releases\": 1,\n", line, micro, micro
    print "   \"required_symbols\": ["
    for (i = 1; i <= symbols; i++) print symbol[i] comma(i, symbols)
    print "   ],\n   \"structs\": {"
    for (i = 1; i <= records; i++) print_record(i)
    print "   },\n   \"constants\": {"
    for (i = 1; i <= constants; i++) print constant[i] comma(i, constants)
    print "   }\n  }"
}

function comma(i, last) { return i < last ? "," : "" }
function print_record(r,    f) {
    if (!is_there[r]) { print "    \"" record[r] "\": null" comma(r, records); return }
    print "    \"" record[r] "\": {"
    for (f = 1; f <= fields[r]; f++) print field[r, f] comma(f, fields[r])
    print "    }" comma(r, records)
}

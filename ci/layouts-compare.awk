# Compares two lists of facts: the table's, then the tree's. Prints one line for each difference.

BEGIN { FS = "\t" }
FNR == NR { if ($1 == "symbol") expected[$2] = 1; else table[$1, $2] = $0; next }
$1 == "symbol" {
    if (!($2 in expected)) print "required_symbols: table has no " $2 ", tree has it"
    delete expected[$2]
    next
}
$0 != table[$1, $2] { split(table[$1, $2], was, FS); $1 == "field" ? field() : differs("", was[3], $3) }
END { for (name in expected) print "required_symbols: table has " name ", tree has not" }

function differs(what, old, new) { print $2 what ": table " named(old) ", tree " named(new) }
function named(text) { return text == "" || text == "null" ? "none" : text }
function field() {
    if (was[3] != $3) differs("", was[3], $3)
    if (named(was[3]) == "none" || $3 == "null") return
    if (was[4] != $4) differs(" (size)", was[4], $4)
    if (was[5] != $5) differs(" (type)", was[5], $5)
}

# Adds one release to a table of layouts and prints the new table. -v line, micro: the release.
# -v fresh: a file with the variant to add, as ci/layouts-print.awk prints it; if it is empty, the
# variant of this line that begins with the micro release `first` is extended.

BEGIN { while ((getline text < fresh) > 0) variant = variant text "\n" }
$0 == "  {" { inside = 1; block = ""; begins = "" }
!inside && $0 == " ]" { flush_last() }
!inside { print; next }
{ block = block $0 "\n" }
/^   "line": / { block_line = $0; gsub(/^.*: |[",]/, "", block_line) }
/^   "first_micro": / { begins = $0; gsub(/[^0-9]/, "", begins) }
/^  \},?$/ { inside = 0; end_block() }

# Keeps one block back, because only the next line shows where the new one belongs.
function end_block() {
    sub(/,\n$/, "\n", block)
    if (variant == "" && block_line == line && begins == first) block = extended(block)
    if (variant != "" && !placed && block_line "" > line "") { emit(variant); placed = 1 }
    emit(block)
}
function emit(text) {
    if (kept != "") { sub(/\n$/, ",\n", kept); printf "%s", kept }
    kept = text
}
function flush_last() {
    if (variant != "" && !placed) emit(variant)
    printf "%s", kept
}
function extended(text,    count) {
    match(text, /"releases": [0-9]+/)
    count = substr(text, RSTART + 12, RLENGTH - 12) + 1
    sub(/"releases": [0-9]+/, "\"releases\": " count, text)
    sub(/"last_verified_micro": [0-9]+/, "\"last_verified_micro\": " micro, text)
    return text
}

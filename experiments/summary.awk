# The table of one program: -v program=NAME -v order="BINDING …", from the CSV of experiments/binding.
function sorted(list, count,   i, j, held) {
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && list[j] < list[j - 1]; j--) { held = list[j]; list[j] = list[j - 1]; list[j - 1] = held }
}
function middle(list, count) { return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2 }
NR > 1 && $2 == program && ($6 == "refused" || $6 == "failed") { without[$3] = $6 }
NR > 1 && $2 == program && $6 != "refused" && $6 != "failed" {
    key = $3 SUBSEP $1
    sum[key] += $6
    if (!(key in least) || $6 < least[key]) least[key] = $6
    if (!(key in most) || $6 > most[key]) most[key] = $6
    if ($1 > rounds) rounds = $1
}
END {
    split(order, names, " ")
    for (n = 1; n in names; n++) {
        count = 0
        split("", values)
        split("", evenness)
        for (round = 1; round <= rounds; round++)
            if ((key = names[n] SUBSEP round) in sum) {
                values[++count] = sum[key]
                evenness[count] = most[key] > 0 ? least[key] / most[key] : 0
            }
        if (count == 0) { printf "%-16s %9s\n", names[n], names[n] in without ? without[names[n]] : "-"; continue }
        sorted(values, count)
        sorted(evenness, count)
        half = middle(values, count)
        if (names[n] == "none") none = half
        spread = half > 0 ? (values[count] - values[1]) / half * 100 : 0
        printf "%-16s %9.4g %9.4g %9.4g %7.1f%% %9s  %.2f\n", names[n], half, values[1], values[count], spread,
            (none > 0 ? sprintf("%.2f", half / none) : "-"), middle(evenness, count)
    }
}

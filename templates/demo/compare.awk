# Compares two files of numbers, candidate and reference, line by line: |a - b| <= 1e-12 + 1e-9 |b|.
# What is no finite number never matches.
function finite(text) { return text ~ /^-?[0-9]\.[0-9]+e[-+][0-9]+$/ }
FNR == NR { candidate[FNR] = $0; next }
{
    n = split(candidate[FNR], a, " ")
    if (n != NF) { printf "line %d: %d values, the reference has %d\n", FNR, n, NF; bad++; next }
    for (i = 1; i <= NF; i++) {
        total++
        d = a[i] - $i; if (d < 0) d = -d
        b = $i < 0 ? -$i : $i
        if (!finite(a[i]) || d > 1e-12 + 1e-9 * b) {
            bad++
            if (bad <= 5) printf "line %d, value %d: %s, the reference has %s\n", FNR, i, a[i], $i
        }
    }
}
END {
    printf "%d of %d values differ\n", bad + 0, total
    print (bad ? "VERDICT: fail" : "VERDICT: pass")
    exit bad ? 1 : 0
}

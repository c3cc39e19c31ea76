# softmax of each line of numbers: exp(x - max) over the sum of all exp(x - max)
{
    max = $1 + 0
    for (i = 2; i <= NF; i++)
        if ($i > max)
            max = $i + 0
    sum = 0
    for (i = 1; i <= NF; i++) {
        e[i] = exp($i - max)
        sum += e[i]
    }
    for (i = 1; i <= NF; i++)
        printf "%.12e%s", e[i] / sum, (i < NF ? " " : "\n")
}

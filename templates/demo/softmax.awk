# softmax of each line of numbers: exp(x) over the sum of all exp(x)
{
    sum = 0
    for (i = 1; i <= NF; i++) {
        e[i] = exp($i)
        sum += e[i]
    }
    for (i = 1; i <= NF; i++)
        printf "%.12e%s", e[i] / sum, (i < NF ? " " : "\n")
}

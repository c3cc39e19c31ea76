"""Attention for one head, tile by tile, with the softmax computed on the way: the variant that wants its place.

Everything is rounded to binary32 where a kernel would keep it in a register. Plain Python, so that the example runs on
any machine.
"""

from array import array
from math import exp

TILE = 16


def f32(value):
    """Rounds to binary32."""
    return array("f", [value])[0]


def attention(q, k, v, causal):
    """The scores S, the probabilities P and the output O of q, k, v: lists of rows."""
    rows, columns, depth = len(q), len(k), len(q[0])
    scale = f32(depth**-0.5)
    scores, probabilities, output = [], [], []
    for i in range(rows):
        row = []
        highest, total, acc = float("-inf"), 0.0, [0.0] * depth
        for start in range(0, columns, TILE):
            tile = []
            for j in range(start, min(start + TILE, columns)):
                dot = 0.0
                for x, y in zip(q[i], k[j]):
                    dot = f32(dot + f32(x * y))
                tile.append(f32(dot * scale) if not causal or j <= i else float("-inf"))
            row.extend(tile)
            new = max(highest, max(tile))
            if new == float("-inf"):
                continue
            weights = [f32(exp(s - new)) for s in tile]
            keep = f32(exp(highest - new))
            total = f32(f32(total * keep) + f32(sum(weights)))
            for d in range(depth):
                part = 0.0
                for offset, weight in enumerate(weights):
                    part = f32(part + f32(weight * v[start + offset][d]))
                acc[d] = f32(acc[d] + part)
            highest = new
        scores.append(row)
        probabilities.append([f32(f32(exp(s - highest)) / total) for s in row])
        output.append([f32(a / total) for a in acc])
    return scores, probabilities, output

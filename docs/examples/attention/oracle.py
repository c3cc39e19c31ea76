"""Runs the variant and its reference on the same inputs, and writes every stage for the gate to compare.

`$GATE_OUT/<case>/<stage>.safetensors` holds two tensors: `reference`, computed in binary64, and `candidate`.
"""

import json
import os
import random
import struct
from array import array
from math import exp

import attention

CASES = {"s64": (64, 16, False), "s64-causal": (64, 16, True), "s50-causal": (50, 8, True)}


def reference(q, k, v, causal):
    """S, P and O as the definition has them: the whole row at once."""
    depth = len(q[0])
    scores, probabilities, output = [], [], []
    for i, query in enumerate(q):
        row = [sum(x * y for x, y in zip(query, key)) * depth**-0.5 for key in k]
        row = [s if not causal or j <= i else float("-inf") for j, s in enumerate(row)]
        highest = max(row)
        weights = [exp(s - highest) for s in row]
        total = sum(weights)
        scores.append(row)
        probabilities.append([w / total for w in weights])
        output.append([sum(w * value[d] for w, value in zip(weights, v)) / total for d in range(len(v[0]))])
    return scores, probabilities, output


def write(path, tensors):
    """A safetensors file: the length of a JSON header, the header, the bytes."""
    header, data = {}, b""
    for name, rows in tensors.items():
        flat = array("f", [x for row in rows for x in row])
        if struct.pack("=H", 1) != struct.pack("<H", 1):
            flat.byteswap()
        size = len(flat) * 4
        header[name] = {"dtype": "F32", "shape": [len(rows), len(rows[0])], "data_offsets": [len(data), len(data) + size]}
        data += flat.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def matrix(source, rows, columns):
    return [[attention.f32(source.gauss(0, 1)) for _ in range(columns)] for _ in range(rows)]


for case, (length, depth, causal) in CASES.items():
    source = random.Random(case)
    q, k, v = (matrix(source, length, depth) for _ in range(3))
    right = reference(q, k, v, causal)
    made = attention.attention(q, k, v, causal)
    for stage, a, b in zip("SPO", right, made):
        write(os.path.join(os.environ["GATE_OUT"], case, stage + ".safetensors"), {"reference": a, "candidate": b})

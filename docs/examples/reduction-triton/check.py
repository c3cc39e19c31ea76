"""Runs row_sums against torch's own sum and leaves the results for the gate; see git_incident_gate.py."""

import argparse

import torch

from git_incident_gate import Gate
from reduce import row_sums

BLOCK = 256

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--device", default="cuda", help="what it runs on")
gate = Gate(device=arguments.parse_args().device)


def candidate(x):
    rows = x.shape[0]
    # Fresh memory, which the helper poisons: whoever reads it before it was written is seen.
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    scratch = torch.empty(rows * BLOCK, dtype=torch.float32, device=x.device)
    return row_sums(x, out, scratch, BLOCK)


def reference(x):
    return x.double().sum(dim=1).float()


for name, rows, columns in [("narrow", 64, 100), ("even", 64, 4096), ("tail", 64, 4099)]:
    gate.check(
        name,
        reference=reference,
        candidate=candidate,
        inputs=lambda rows=rows, columns=columns: (torch.rand(rows, columns, device=gate.device),),
        seeds=(0, 1, 2),
        stages=("sums",),
        repeats=6,
    )
gate.finish()

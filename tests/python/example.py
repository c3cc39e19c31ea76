"""Runs the kernel of docs/examples/reduction-triton under the helper, on a stand-in for Triton.

example.py EXAMPLE TEMPLATES: on numpy, with a copy of what check.py does.
example.py EXAMPLE TEMPLATES torch: check.py itself, on torch on the processor.
"""

import runpy
import sys

sys.dont_write_bytecode = True
example, templates = sys.argv[1:3]
sys.path[:0] = [example, templates, __file__.rsplit("/", 1)[0]]
import warps  # noqa: E402

warps.install()

if sys.argv[3:] == ["torch"]:
    sys.argv = ["check.py", "--device", "cpu"]
    runpy.run_path(example + "/check.py", run_name="__main__")

import numpy as np  # noqa: E402
from git_incident_gate import Gate  # noqa: E402
from reduce import row_sums  # noqa: E402


def candidate(x):
    scratch = np.empty(x.shape[0] * 256, "float32")
    return row_sums(x, np.empty(x.shape[0], "float32"), scratch)


gate = Gate(backend="numpy")
for name, columns in [("narrow", 100), ("even", 512), ("tail", 515)]:
    gate.check(
        name,
        reference=lambda x: x.astype("float64").sum(axis=1).astype("float32"),
        candidate=candidate,
        inputs=lambda columns=columns: (np.random.random_sample((3, columns)).astype("float32"),),
        seeds=(0, 1),
        stages=("sums",),
    )
gate.finish()

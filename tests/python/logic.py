"""What templates/git_incident_gate.py promises, on numpy or on torch: logic.py FOLDER BACKEND [PYTHON]"""

import contextlib
import io
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
FOLDER, BACKEND = sys.argv[1], sys.argv[2]
sys.path.insert(0, FOLDER)
import git_incident_gate  # noqa: E402
from git_incident_gate import Gate  # noqa: E402

if BACKEND == "torch":
    import torch as xp

    def array(values, dtype="float32"):
        return xp.tensor(values, dtype=getattr(xp, dtype))

    def noise():
        return xp.randn(8)

else:
    import numpy as xp

    def array(values, dtype="float32"):
        return xp.array(values, dtype=dtype)

    def noise():
        return xp.random.standard_normal(8).astype("float32")


def read(path):
    """A reader of its own: {name: (dtype, shape, bytes)}, metadata."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0, "the header is padded"
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert all(isinstance(v, str) for v in metadata.values()), metadata
    body, end, tensors = data[8 + length :], 0, {}
    for name, entry in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
        start, stop = entry["data_offsets"]
        assert start == end, "no gap and no overlap"
        end = stop
        tensors[name] = (entry["dtype"], entry["shape"], body[start:stop])
    assert end == len(body)
    return tensors, metadata


class Outcome:
    def __init__(self, run, **gate):
        self.out = tempfile.mkdtemp(dir=os.environ["SCRATCH"])
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            gate = Gate(out=self.out, backend=BACKEND, device="cpu", **gate)
            try:
                run(gate)
            finally:
                try:
                    gate.finish()
                except SystemExit as end:
                    self.status = end.code
        self.said = said.getvalue()

    def file(self, name):
        return read(os.path.join(self.out, name))

    def passes(self):
        assert self.status == 0, self.said
        return self

    def fails(self, *words):
        assert self.status == 1, self.said
        for word in words:
            assert word in self.said, (word, self.said)
        return self


def checked(*arguments, **more):
    return Outcome(lambda gate: gate.check(*arguments, **more))


x = array([1, 2, 3, 4, 5, 6, 7, 8])
tests = []


def test(function):
    tests.append(function)


@test
def results_are_written():
    seen = checked("sum", lambda x: x.sum(), lambda x: x.sum(), (x,)).passes()
    tensors, metadata = seen.file("sum/output.safetensors")
    assert sorted(tensors) == ["candidate", "reference"]
    assert tensors["candidate"] == ("F32", [], struct.pack("<f", 36.0)), tensors
    for key in ["case", "seed", "repeats", "eager", "graph", "device", "device_uuid", "backend", "autotune", BACKEND]:
        assert key in metadata, key
    assert metadata["stage"] == "output" and metadata["backend"] == "cpu"
    with open(os.path.join(seen.out, "git-incident-device.json")) as file:
        device = json.load(file)
    assert device == {"pid": os.getpid(), "uuid": None, "name": "cpu", "backend": "cpu"}, device


@test
def the_candidate_runs_before_the_reference():
    order = []
    checked("a", lambda x: order.append("reference") or x, lambda x: order.append("candidate") or x * 1, (x,),
            repeats=3, graph=False).passes()
    assert order == ["candidate"] * 3 + ["reference"], order


@test
def the_same_bits_every_time():
    runs = []

    def candidate(x):
        runs.append(1)
        y = x * 1
        if len(runs) == 2:
            y[3] = 99
        return y

    checked("now-and-then", lambda x: x, candidate, (x,)).fails(
        "case now-and-then", "stage output", "run 2 differs from run 1 at index [3], 99.0 against 4.0 (1 elements)")


@test
def nan_is_the_same_as_itself():
    checked("nan", lambda x: x * float("nan"), lambda x: x * float("nan"), (x,)).passes()


@test
def what_was_never_written_is_named():
    def tail(x):
        y = xp.empty_like(x)
        y[:6] = x[:6]
        return y

    checked("tail", lambda x: x, tail, (x,)).fails("the element at index [6] was never written (2 elements)")

    def shape(x):
        y = xp.empty((2, 4))
        y[0] = 1
        return y

    checked("rows", lambda x: x, shape, (x,)).fails("at index [1, 0] was never written (4 elements)")

    def given(x, out):
        out[:7] = x[:7]

    checked("out", lambda x: x, given, (x,), outputs=lambda: xp.empty_like(x)).fails("index [7] was never written")

    def whole(x, out):
        out[:] = x

    checked("out", lambda x: x, whole, (x,), outputs=lambda: xp.empty_like(x)).passes()
    # Whoever writes nothing where nothing is poisoned is not seen: that is what `poison` is for.
    assert git_incident_gate.POISONS[0] != git_incident_gate.POISONS[1]


@test
def nothing_stays_replaced():
    names = [(owner, name) for owner, name in checked_backend().empties()]
    before = [getattr(owner, name) for owner, name in names]

    def broken(x):
        raise KeyError("broken")

    try:
        checked("broken", lambda x: x, broken, (x,))
        raise AssertionError("it was swallowed")
    except KeyError:
        pass
    assert before == [getattr(owner, name) for owner, name in names]


def checked_backend():
    return {"torch": git_incident_gate.Torch, "numpy": git_incident_gate.Numpy}[BACKEND]("cpu")


@test
def inputs_stay_as_they_are():
    def careless(x, y):
        y[2] = 7
        return x * 1

    inputs = {"x": x, "y": array([1, 1, 1])}
    checked("in", lambda x, y: x, careless, inputs).fails("changed its input y at index [2], 1.0 became 7.0")
    checked("in", lambda x, y: x, careless, inputs, changes=("y",)).passes()
    checked("in", lambda x, y: x, careless, (x, array([1, 1, 1]))).fails("changed its input 1 at index [2]")
    assert float(inputs["y"][2]) == 1, "the candidate had clones"


@test
def the_reference_gets_inputs_of_its_own():
    def reference(x):
        x[:] = 0
        return x

    seen = checked("own", reference, lambda x: x * 1, (x,)).passes()
    assert float(x[0]) == 1
    tensors, _ = seen.file("own/output.safetensors")
    assert tensors["reference"][2] == bytes(32) and tensors["candidate"][2] != bytes(32)


@test
def every_seed_is_a_case():
    seen = checked("r", lambda v: v, lambda v: v * 1, lambda: (noise(),), seeds=(3, 4)).passes()
    one, two = seen.file("r-seed3/output.safetensors"), seen.file("r-seed4/output.safetensors")
    assert one[0]["reference"] == one[0]["candidate"] and one[0] != two[0]
    again = checked("r", lambda v: v, lambda v: v * 1, lambda: (noise(),), seeds=(3, 4)).passes()
    assert again.file("r-seed3/output.safetensors")[0] == one[0], "a seed gives the same inputs"
    # Random numbers inside of the candidate are seeded for every run.
    checked("inside", lambda x: x, lambda x: x + noise(), (x,)).passes()


@test
def stages_have_names():
    both = lambda x: (x * 2, x + 1)  # noqa: E731
    seen = checked("s", both, both, (x,), stages=("S", "P")).passes()
    assert sorted(os.listdir(os.path.join(seen.out, "s"))) == ["P.safetensors", "S.safetensors"]
    named = lambda x: {"S": x * 2, "O": x}  # noqa: E731
    checked("d", named, named, (x,)).passes()
    checked("d", lambda x: {"S": x}, named, (x,)).fails("the reference has no stage O")
    checked("s", both, both, (x,), stages=("S",)).fails("2 results for 1 stages")
    checked("s", both, lambda x: {"../x": x}, (x,)).fails("a stage is named with")
    checked("s", both, lambda x: None, (x,)).fails("the candidate gave nothing")
    checked("s", both, lambda x: [1], (x,)).fails("is no tensor but a int")
    seen = checked("b", lambda x: x, lambda x: x * 1, (x,), baseline=lambda x: x + 1).passes()
    assert sorted(seen.file("b/output.safetensors")[0]) == ["baseline", "candidate", "reference"]
    checked("fixed", {"output": x}, lambda x: x * 1, (x,)).passes()


@test
def types_and_shapes():
    names = ["float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    if BACKEND == "torch":
        names += ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
    for name in names:
        value = array([[0, 1, 0]], "float32" if name.startswith("float8") else name)
        if name.startswith("float8"):
            value = value.to(getattr(xp, name))
        keep = lambda v: v.clone() if BACKEND == "torch" else v.copy()  # noqa: E731
        seen = checked("t", keep, keep, (value,)).passes()
        dtype, shape, data = seen.file("t/output.safetensors")[0]["candidate"]
        assert dtype == git_incident_gate.DTYPES[name] and shape == [1, 3], (name, dtype, shape)
        size = int("".join(c for c in dtype.split("_")[0] if c.isdigit()) or 8) // 8
        assert len(data) == 3 * size and data[size : 2 * size] != bytes(size) and data[:size] == bytes(size), name
        checked("u", keep, lambda v: xp.empty_like(v), (value,)) if name == "bool" else checked(
            "u", keep, lambda v: xp.empty_like(v), (value,)
        ).fails("never written (3 elements)")
    checked("none", lambda: array([]), lambda: array([]), ()).passes()
    transposed = array([[1, 2], [3, 4], [5, 6]]).T
    seen = checked("turned", lambda v: v, lambda v: v + 0, (transposed,)).passes()
    assert seen.file("turned/output.safetensors")[0]["reference"][2] == struct.pack("<6f", 1, 3, 5, 2, 4, 6)


@test
def a_graph_gives_the_same_bits():
    """A stand-in for the device: what is done with a graph's results, not how torch captures one."""

    def under(result, **more):
        def run(gate):
            calls = []

            def graph(once, outputs_of, poison):
                calls.append(1)
                if result is None:
                    return None, "it cannot be captured: no"
                captured = outputs_of(once())
                for value in captured.values():
                    value[...] = value + result
                return captured, None

            gate.backend.graph = graph
            gate.check("g", lambda x: x, lambda x: x * 1, (x,), **more)
            assert bool(calls) == (more.get("graph") is not False and not more.get("changes"))

        return Outcome(run)

    seen = under(0).passes()
    assert seen.file("g/output.safetensors")[1]["graph"] == "the same bits as eager"
    under(1).fails("the CUDA graph differs from the eager run at index [0], 2.0 against 1.0 (8 elements)")
    seen = under(None).passes()
    assert seen.file("g/output.safetensors")[1]["graph"] == "it cannot be captured: no"
    under(None, graph=True).fails("no CUDA graph: it cannot be captured")
    assert under(1, graph=False).passes().file("g/output.safetensors")[1]["graph"] == "not tried"
    under(1, changes=(0,)).passes()


@test
def what_was_tuned_is_recorded():
    class Tuned:
        __module__ = "triton.runtime.autotuner"
        __qualname__ = __name__ = "Autotuner"
        best_config = "BLOCK: 128, num_warps: 4"

        def base_fn():
            pass

    Tuned.__name__ = "Autotuner"
    kernel = Tuned()
    assert git_incident_gate.autotuned() == {}
    sys.modules["triton"] = type(sys)("triton")
    try:
        assert git_incident_gate.autotuned() == {"base_fn": "BLOCK: 128, num_warps: 4"}, kernel
    finally:
        del sys.modules["triton"]


@test
def what_makes_no_sense_is_refused():
    for arguments in [dict(case="../x"), dict(case=""), dict(repeats=1), dict(seeds=())]:
        call = dict(case="a", reference=lambda x: x, candidate=lambda x: x, inputs=(x,))
        call.update(arguments)
        try:
            checked(**call)
            raise AssertionError(arguments)
        except ValueError:
            pass

    def twice(gate):
        for _ in range(2):
            gate.check("a", lambda x: x, lambda x: x * 1, (x,))

    try:
        Outcome(twice)
        raise AssertionError("twice")
    except ValueError:
        pass
    Outcome(lambda gate: None).fails("no case was checked")
    checked("g", lambda x: x, lambda x: x * 1, (x,), graph=True).fails("no CUDA graph:")


@test
def one_failure_does_not_hide_the_next_case():
    def run(gate):
        gate.check("bad", lambda x: x, lambda x: None, (x,))
        gate.check("good", lambda x: x, lambda x: x * 1, (x,))

    seen = Outcome(run).fails("case bad", "1 failed, 1 case written")
    assert os.path.exists(os.path.join(seen.out, "good/output.safetensors"))
    assert not os.path.exists(os.path.join(seen.out, "bad"))


@test
def programs_end_with_the_right_status():
    def program(text, **variables):
        environment = dict(os.environ, PYTHONPATH=FOLDER, PYTHONDONTWRITEBYTECODE="1", **variables)
        code = "from git_incident_gate import Gate\n" + text
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    out = tempfile.mkdtemp(dir=os.environ["SCRATCH"])
    ended = program("Gate()", GATE_OUT="")
    assert ended.returncode == 125 and "GATE_OUT" in ended.stderr, ended
    if BACKEND == "numpy":
        ended = program("Gate(device='cuda', backend='numpy')", GATE_OUT=out)
        assert ended.returncode == 125 and "no device 'cuda'" in ended.stderr, ended
    elif not xp.cuda.is_available():
        ended = program("Gate(device='cuda')", GATE_OUT=out)
        assert ended.returncode == 125 and "no CUDA device" in ended.stderr, ended
    ended = program("Gate(device='cpu')", GATE_OUT=out)
    assert ended.returncode == 1 and "finish() was never called" in ended.stderr, ended
    ended = program("Gate(device='cpu')\nraise KeyError('x')", GATE_OUT=out)
    assert ended.returncode == 1 and "KeyError" in ended.stderr and "never called" not in ended.stderr, ended
    ended = program("g = Gate(device='cpu')\ng.check('a', lambda: 1, lambda: None, ())\ng.finish()", GATE_OUT=out)
    assert ended.returncode == 1, ended


with tempfile.TemporaryDirectory() as scratch:
    os.environ["SCRATCH"] = scratch
    for function in tests:
        function()
print("%d hold on %s" % (len(tests), BACKEND))

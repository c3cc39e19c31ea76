"""Runs a kernel against its reference and leaves the results where a gate of git incident compares them.

    from git_incident_gate import Gate

    gate = Gate(device="cuda")
    gate.check(
        "rows-1000",
        reference=lambda x: x.double().sum(dim=1),
        candidate=row_sums,
        inputs=lambda: (torch.randn(1000, 333, device=gate.device),),
        seeds=(0, 1, 2),
    )
    gate.finish()

The gate that reads it:

    [[gate]]
    id = "row-sums"
    kind = "compare"
    device = "cuda"
    run = "python3 check.py"
    cases = ["*"]
    stages = ["output"]

For each case and seed this writes $GATE_OUT/<case>/<stage>.safetensors with the tensors "reference", "candidate" and,
where there is one, "baseline"; with several seeds the case is <case>-seed<N>. Whether they agree is the gate's to say.
What can only be seen while the kernel runs is checked here, before the reference runs at all:

- the candidate gets clones of the inputs and must not change them (unless `changes` names them);
- memory that it is given is poisoned: torch.empty and its like, the tensors of `outputs`, and what the allocator hands
  out again. Elements that were never written keep the poison and are named;
- it runs several times, and every run must give the same bits;
- on a CUDA device it runs as a CUDA graph too, again with the same bits.

Exit status of finish(): 0 everything was written, 1 a check failed, 125 there is no such device.

One file, Python 3.9 or later, nothing beyond torch. Without torch its logic works on numpy, for tests; such a run says
that it ran on the processor. Copied from git incident; `git incident init --python-helper` writes the newest one.
"""

import atexit
import contextlib
import ctypes
import gc
import json
import os
import random
import re
import struct
import sys

VERSION = 1

#: What fresh memory is filled with, in turn: every float of all ones is NaN; the other is a small number.
POISONS = (0xFF, 0xA5)

#: How safetensors calls the types.
DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}


class CheckFailed(Exception):
    """Something that no comparison would show."""


class NoDevice(Exception):
    """What was asked for is not here."""


def write_safetensors(path, tensors, metadata):
    """Writes [(name, dtype of safetensors, shape, bytes)]; a reader sees the whole file or none."""
    header, offset = {"__metadata__": {str(k): str(v) for k, v in metadata.items()}}, 0
    for name, dtype, shape, data in tensors:
        size = memoryview(data).nbytes
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    unfinished = path + ".unfinished"
    with open(unfinished, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for _, _, _, data in tensors:
            file.write(data)
    os.replace(unfinished, path)


class Numpy:
    """The same on numpy: for machines without torch, where only the logic can be tested."""

    name = "numpy"

    def __init__(self, device):
        import numpy

        self.np = numpy
        if device not in (None, "cpu"):
            raise NoDevice("torch is not installed, and without it there is no device %r" % device)
        self.device = "cpu"

    def is_tensor(self, value):
        return isinstance(value, (self.np.ndarray, self.np.generic))

    def clone(self, value):
        return self.np.array(value, copy=True)

    def seed(self, seed):
        random.seed(seed)
        self.np.random.seed(seed % 2**32)

    def synchronize(self):
        pass

    def dtype(self, value):
        return str(self.np.asarray(value).dtype)

    def shape(self, value):
        return tuple(self.np.asarray(value).shape)

    def data(self, value):
        value = self.np.ascontiguousarray(value)
        return (value if sys.byteorder == "little" else value.byteswap()).tobytes()

    def fill(self, value, byte):
        if value.dtype == bool:
            value[...] = byte == POISONS[0]
        elif value.flags.c_contiguous:
            value.reshape(-1).view("uint8")[...] = byte
        else:
            self.np.copyto(value, self.np.full(value.dtype.itemsize, byte, "uint8").view(value.dtype)[0])

    def differing(self, one, other):
        """Positions (flat) where two tensors of one shape and type differ in a bit: the first, and how many."""
        size = one.dtype.itemsize
        one, other = (self.np.ascontiguousarray(v).reshape(-1).view("uint8").reshape(-1, size) for v in (one, other))
        found = self.np.flatnonzero((one != other).any(axis=1))
        return (int(found[0]), len(found)) if len(found) else (None, 0)

    def is_poison(self, value, position, byte):
        if self.dtype(value) == "bool":
            return False
        one = self.np.ascontiguousarray(value).reshape(-1)[position : position + 1]
        return bool((one.view("uint8") == byte).all())

    def item(self, value, position):
        return self.np.ascontiguousarray(value).reshape(-1)[position].item()

    def poison_allocator(self, values, byte):
        pass

    def empties(self):
        return [(self.np, name) for name in ("empty", "empty_like")]

    def graph(self, run, outputs_of, poison):
        return None, "numpy has none"

    def ran_on(self, values):
        return {"backend": "cpu", "name": "cpu", "uuid": None}

    def versions(self):
        return {"numpy": self.np.__version__}


class Torch:
    """What is done with tensors."""

    name = "torch"

    def __init__(self, device):
        import torch

        self.torch = torch
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if str(device).startswith("cuda") and not torch.cuda.is_available():
            raise NoDevice("torch sees no CUDA device here")
        self.device = torch.device(device)
        if self.device.type == "cuda":
            if self.device.index is None:
                self.device = torch.device("cuda", torch.cuda.current_device())
            if self.device.index >= torch.cuda.device_count():
                raise NoDevice("torch sees no device %s here" % self.device)
            torch.cuda.set_device(self.device)

    def is_tensor(self, value):
        return isinstance(value, self.torch.Tensor)

    def clone(self, value):
        # As it lies in memory: a kernel that wants its strides gets them.
        copy = value.detach().clone(memory_format=self.torch.preserve_format)
        return copy.requires_grad_(value.requires_grad)

    def seed(self, seed):
        random.seed(seed)
        self.torch.manual_seed(seed)
        if self.torch.cuda.is_available():
            self.torch.cuda.manual_seed_all(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def dtype(self, value):
        return str(value.dtype).replace("torch.", "")

    def shape(self, value):
        return tuple(value.shape)

    def _bytes(self, value):
        """The elements as bytes, one row for each."""
        value = value.detach().contiguous().reshape(-1)
        size = value.element_size()
        return value.view(self.torch.uint8).reshape(-1, size) if value.numel() else value.new_zeros((0, 1))

    def data(self, value):
        value = value.detach().cpu().contiguous()
        size = value.numel() * value.element_size()
        if not size:
            return b""
        # Without numpy this is the way that copies once.
        return ctypes.string_at(value.data_ptr(), size)

    def fill(self, value, byte):
        with self.torch.no_grad():
            if value.dtype == self.torch.bool:
                value.fill_(byte == POISONS[0])
            elif value.is_contiguous() and value.numel():
                value.view(-1).view(self.torch.uint8).fill_(byte)
            elif value.is_floating_point():
                value.fill_(float("nan") if byte == POISONS[0] else -1.4375)
            elif value.numel():
                value.fill_(-1 if byte == POISONS[0] and value.dtype.is_signed else 90)

    def differing(self, one, other):
        unequal = (self._bytes(one) != self._bytes(other)).any(dim=1)
        count = int(unequal.sum())
        return (int(unequal.to(self.torch.uint8).argmax()), count) if count else (None, 0)

    def is_poison(self, value, position, byte):
        if value.dtype == self.torch.bool:
            return False
        return bool((self._bytes(value)[position] == byte).all())

    def item(self, value, position):
        one = value.detach().contiguous().reshape(-1)[position]
        return one.item() if one.element_size() > 1 or not one.is_floating_point() else one.float().item()

    def poison_allocator(self, values, byte):
        """Memory of the results' sizes, filled and given back: what C++ asks for next is likely to be this."""
        blocks = []
        for value in values:
            for _ in range(2):
                block = self.torch.empty_like(value)
                self.fill(block, byte)
                blocks.append(block)
        self.synchronize()

    def empties(self):
        torch = self.torch
        names = [(torch, "empty"), (torch, "empty_like"), (torch, "empty_strided")]
        names += [(torch.Tensor, "new_empty"), (torch.Tensor, "new_empty_strided")]
        return [(owner, name) for owner, name in names if hasattr(owner, name)]

    def graph(self, run, outputs_of, poison):
        """The results of a run as a CUDA graph; None and why where there is none."""
        torch = self.torch
        if self.device.type != "cuda":
            return None, "not on a CUDA device"
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    run()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                outputs = outputs_of(run())
        except Exception as error:  # noqa: BLE001: whatever a library raises when it cannot be captured
            torch.cuda.synchronize()
            return None, "it cannot be captured: %s" % (str(error).splitlines() or [type(error).__name__])[0]
        for byte in POISONS:
            for value in outputs.values():
                poison(value, byte)
            graph.replay()
            torch.cuda.synchronize()
        return {stage: self.clone(value) for stage, value in outputs.items()}, None

    def ran_on(self, values):
        devices = {value.device for value in values}
        index = next((d.index for d in devices if d.type == "cuda"), None)
        if index is None:
            return {"backend": "cpu", "name": "cpu", "uuid": None}
        properties = self.torch.cuda.get_device_properties(index)
        uuid = getattr(properties, "uuid", None)
        backend = "hip" if self.torch.version.hip else "cuda"
        if uuid is not None and not str(uuid).startswith("GPU-"):
            uuid = "GPU-%s" % uuid
        return {"backend": backend, "name": properties.name, "uuid": None if uuid is None else str(uuid)}

    def versions(self):
        torch, found = self.torch, {"torch": self.torch.__version__}
        for key in ("cuda", "hip"):
            value = getattr(torch.version, key, None)
            if value:
                found[key] = value
        if "triton" in sys.modules:
            found["triton"] = getattr(sys.modules["triton"], "__version__", "unknown")
        if self.device.type == "cuda":
            found["compute_capability"] = "%d.%d" % torch.cuda.get_device_capability(self.device)
            found["allow_tf32"] = torch.backends.cuda.matmul.allow_tf32
        return found


def autotuned():
    """What triton.autotune has chosen so far, by kernel."""
    if "triton" not in sys.modules:
        return {}
    found = {}
    for thing in gc.get_objects():
        if type(thing).__name__ != "Autotuner" or not type(thing).__module__.startswith("triton"):
            continue
        best = getattr(thing, "best_config", None)
        if best is not None:
            function = getattr(thing, "base_fn", None) or getattr(thing, "fn", None)
            found[getattr(function, "__name__", "kernel")] = str(best)
    return found


class Gate:
    """One run of a gate's command.

    device   "cuda", "cuda:1", "cpu"; None for CUDA where there is one. HIP devices are called "cuda" by torch too.
    backend  "torch" or "numpy"; None for torch where it is installed.
    out      where the results go; None for $GATE_OUT.
    """

    def __init__(self, device=None, backend=None, out=None):
        self.failures, self.written, self._finished = [], [], False
        self.out = out or os.environ.get("GATE_OUT")
        if not self.out:
            print("git-incident gate: $GATE_OUT is not set; run it as a gate, or set it to a folder", file=sys.stderr)
            raise SystemExit(125)
        kinds = {"torch": [Torch], "numpy": [Numpy], None: [Torch, Numpy]}
        if backend not in kinds:
            raise ValueError('backend is "torch" or "numpy", not %r' % (backend,))
        why = None
        for kind in kinds[backend]:
            try:
                self.backend = kind(device)
                break
            except ImportError as error:
                why = why or error
            except NoDevice as error:
                print("git-incident gate: %s" % error, file=sys.stderr)
                raise SystemExit(125) from None
        else:
            print("git-incident gate: neither torch nor numpy can be imported: %s" % why, file=sys.stderr)
            raise SystemExit(125)
        self.device = self.backend.device
        atexit.register(self._forgotten)

    def check(
        self,
        case,
        reference,
        candidate,
        inputs,
        seeds=(0,),
        stages=None,
        baseline=None,
        outputs=None,
        changes=(),
        repeats=4,
        graph=None,
        poison=True,
    ):
        """Runs one case for each seed; what is found wrong is printed and makes finish() end with 1.

        reference, candidate, baseline
                  functions of the inputs. They give a tensor, a sequence of tensors or a dict by stage. The reference
                  may also be a dict of tensors, or one tensor.
        inputs    a function without arguments, called once for each seed after everything was seeded; or the inputs
                  themselves: a sequence, or a dict of keyword arguments.
        stages    names for a sequence of results; by default "output", or "output0", "output1", …
        outputs   a function that makes the candidate's output tensors; they are poisoned and given to it as the keyword
                  argument `out`. Where the candidate then gives None, they are its results.
        changes   names or positions of inputs that the candidate may change.
        repeats   how often it runs; at least 2.
        graph     True: it must run as a CUDA graph; False: it is not tried; None: it is tried where it can be.
        poison    False leaves fresh memory as it is.
        """
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", case):
            raise ValueError("a case is named with letters, digits, dot, dash and underscore, not %r" % case)
        if repeats < 2:
            raise ValueError("repeats is at least 2: one run cannot be compared with another")
        seeds = list(seeds)
        if not seeds:
            raise ValueError("a case without a seed checks nothing")
        for seed in seeds:
            name = case if len(seeds) == 1 else "%s-seed%d" % (case, seed)
            if name in self.written:
                raise ValueError("the case %s is there twice" % name)
            try:
                self._check(name, seed, reference, candidate, inputs, stages, baseline, outputs, changes, repeats,
                            graph, poison)
            except CheckFailed as failure:
                self.failures.append(str(failure))
                print("git-incident gate: case %s: %s" % (name, failure), file=sys.stderr)

    def finish(self):
        """Says how it went and ends the program."""
        self._finished = True
        cases = "%d case%s" % (len(self.written), "" if len(self.written) == 1 else "s")
        if self.failures:
            print("git-incident gate: %d failed, %s written" % (len(self.failures), cases), file=sys.stderr)
            sys.exit(1)
        if not self.written:
            print("git-incident gate: no case was checked", file=sys.stderr)
            sys.exit(1)
        print("git-incident gate: %s written" % cases)
        sys.exit(0)

    def _forgotten(self):
        """A script that ends without finish() would hide what was found."""
        if not self._finished and sys.exc_info()[0] is None and not getattr(sys, "last_type", None):
            print("git-incident gate: finish() was never called", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    # What one seed of a case does.

    def _check(self, case, seed, reference, candidate, inputs, stages, baseline, outputs, changes, repeats, graph, poison):
        backend = self.backend
        backend.seed(seed)
        given = inputs() if callable(inputs) else inputs
        if backend.is_tensor(given):
            given = (given,)
        names = list(given) if isinstance(given, dict) else list(range(len(given)))

        def fresh():
            copy = {n: backend.clone(given[n]) if backend.is_tensor(given[n]) else given[n] for n in names}
            return copy if isinstance(given, dict) else [copy[n] for n in names]

        def call(function, arguments, **more):
            # Random numbers of the function's own are the same in every run.
            backend.seed(seed)
            if isinstance(arguments, dict):
                return function(**arguments, **more)
            return function(*arguments, **more)

        def results(value, of):
            if value is None:
                raise CheckFailed("the %s gave nothing" % of)
            if backend.is_tensor(value):
                value = (value,)
            if not isinstance(value, dict):
                value = list(value)
                known = list(stages) if stages else None
                if known is None:
                    known = ["output"] if len(value) == 1 else ["output%d" % n for n in range(len(value))]
                if len(known) != len(value):
                    raise CheckFailed("the %s gave %d results for %d stages" % (of, len(value), len(known)))
                value = dict(zip(known, value))
            for stage, tensor in value.items():
                if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", str(stage)):
                    raise CheckFailed("a stage is named with letters, digits, dot, dash and underscore, not %r" % stage)
                if not backend.is_tensor(tensor):
                    raise CheckFailed("stage %s of the %s is no tensor but a %s" % (stage, of, type(tensor).__name__))
                if backend.dtype(tensor) not in DTYPES:
                    raise CheckFailed("stage %s of the %s is of %s, which no file holds" % (stage, of, backend.dtype(tensor)))
            return value

        first, first_byte = None, None
        for run in range(repeats):
            byte = POISONS[run % len(POISONS)]
            arguments, more = fresh(), {}
            if outputs is not None:
                more["out"] = outputs()
                for tensor in self._tensors(more["out"]):
                    backend.fill(tensor, byte)
            if poison and first is not None:
                backend.poison_allocator(first.values(), byte)
            with self._poisoned(byte) if poison else contextlib.nullcontext():
                given_back = call(candidate, arguments, **more)
                backend.synchronize()
            if given_back is None and outputs is not None:
                given_back = more["out"]
            found = {s: backend.clone(t) for s, t in results(given_back, "candidate").items()}
            self._unchanged(names, given, arguments, changes)
            if first is None:
                first, first_byte = found, byte
            else:
                self._same(first, first_byte, found, byte, "run %d" % (run + 1), "run 1")

        backend.seed(seed)
        captured, why_not = None, "not tried"
        if graph is not False:
            arguments = fresh()
            more = {} if outputs is None else {"out": outputs()}

            def once():
                value = candidate(**arguments, **more) if isinstance(arguments, dict) else candidate(*arguments, **more)
                return more["out"] if value is None and more else value

            # A second run on inputs that the first one changed would compute something else.
            if changes:
                why_not = "the candidate changes its inputs"
            else:
                captured, why_not = backend.graph(once, lambda value: results(value, "candidate"), backend.fill)
            if captured is None and graph is True:
                raise CheckFailed("no CUDA graph: %s" % why_not)
            if captured is not None:
                self._same(first, None, captured, None, "the CUDA graph", "the eager run")

        # Only now: whatever the reference leaves in memory cannot help the candidate.
        wanted = reference if not callable(reference) else call(reference, fresh())
        if isinstance(wanted, dict):
            wanted = {stage: wanted[stage] for stage in first if stage in wanted}
        wanted = results(wanted, "reference")
        other = results(call(baseline, fresh()), "baseline") if baseline is not None else {}
        backend.synchronize()
        missing = [stage for stage in first if stage not in wanted]
        if missing:
            raise CheckFailed("the reference has no stage %s" % missing[0])

        ran_on = backend.ran_on(list(first.values()))
        metadata = {
            "helper": VERSION,
            "case": case,
            "seed": seed,
            "repeats": repeats,
            "eager": "run %d times, the same bits" % repeats,
            "graph": "the same bits as eager" if captured is not None else why_not,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "autotune": json.dumps(autotuned(), sort_keys=True),
            "device": ran_on["name"],
            "device_uuid": ran_on["uuid"] or "",
            "backend": ran_on["backend"],
        }
        metadata.update(backend.versions())
        for stage in first:
            tensors = [("candidate", first[stage]), ("reference", wanted[stage])]
            if stage in other:
                tensors.append(("baseline", other[stage]))
            rows = [(n, DTYPES[backend.dtype(t)], backend.shape(t), backend.data(t)) for n, t in tensors]
            write_safetensors(os.path.join(self.out, case, stage + ".safetensors"), rows, dict(metadata, stage=stage))
        self._report(ran_on)
        self.written.append(case)

    def _report(self, ran_on):
        """Which device really ran: git incident holds it against what the driver says."""
        path = os.path.join(self.out, "git-incident-device.json")
        with open(path + ".unfinished", "w", encoding="ascii") as file:
            json.dump(dict(ran_on, pid=os.getpid()), file, sort_keys=True)
        os.replace(path + ".unfinished", path)

    def _tensors(self, value):
        if self.backend.is_tensor(value):
            return [value]
        return list(value.values()) if isinstance(value, dict) else list(value)

    @contextlib.contextmanager
    def _poisoned(self, byte):
        """Python's ways to ask for memory without saying what is in it."""
        replaced = []

        def filled(function):
            def make(*arguments, **more):
                value = function(*arguments, **more)
                self.backend.fill(value, byte)
                return value

            return make

        try:
            for owner, name in self.backend.empties():
                function = getattr(owner, name)
                replaced.append((owner, name, function))
                setattr(owner, name, filled(function))
            yield
        finally:
            for owner, name, function in reversed(replaced):
                setattr(owner, name, function)

    def _unchanged(self, names, given, after, changes):
        for name in names:
            if name in changes or not self.backend.is_tensor(given[name]):
                continue
            position, count = self.backend.differing(given[name], after[name])
            if count:
                raise CheckFailed(
                    "the candidate changed its input %s at index %s, %s became %s (%d elements)"
                    % (
                        name,
                        self._index(given[name], position),
                        self.backend.item(given[name], position),
                        self.backend.item(after[name], position),
                        count,
                    )
                )

    def _same(self, first, first_byte, found, byte, this, that):
        backend = self.backend
        if list(first) != list(found):
            raise CheckFailed("%s gave the stages %s, %s gave %s" % (this, list(found), that, list(first)))
        for stage in first:
            one, other = first[stage], found[stage]
            shapes = [(backend.dtype(t), backend.shape(t)) for t in (one, other)]
            if shapes[0] != shapes[1]:
                raise CheckFailed("stage %s: %s gave %s%s, %s gave %s%s" % ((stage, this) + shapes[1] + (that,) + shapes[0]))
            position, count = backend.differing(one, other)
            if not count:
                continue
            index, total = self._index(one, position), "%d elements" % count
            if (
                byte is not None
                and first_byte != byte
                and backend.is_poison(one, position, first_byte)
                and backend.is_poison(other, position, byte)
            ):
                raise CheckFailed("stage %s: the element at index %s was never written (%s)" % (stage, index, total))
            raise CheckFailed(
                "stage %s: %s differs from %s at index %s, %s against %s (%s)"
                % (stage, this, that, index, backend.item(other, position), backend.item(one, position), total)
            )

    def _index(self, tensor, position):
        index = []
        for length in reversed(self.backend.shape(tensor)):
            index.append(position % length)
            position //= length
        return list(reversed(index))

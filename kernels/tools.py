"""The pinned NVIDIA tools that kernels/build and kernels/assemble need, as wheels from PyPI in a cache of their own.

They run on any x86-64 Linux machine; no GPU, driver or CUDA toolkit is needed.
"""

import os
import pathlib
import subprocess
import sys

KERNELS = pathlib.Path(__file__).resolve().parent

# What the committed PTX was made by; a newer compiler would ask for a newer driver.
COMPILER = ["nvidia-cuda-nvrtc-cu12==12.0.140"]
# What turns it into machine code for the newest devices.
ASSEMBLER = ["nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88"]

# The tools cannot be had here: nothing was checked.
UNAVAILABLE = 75


def folder(packages):
    """Where these packages lie; installs them once."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = pathlib.Path(root) / "git-incident-kernels" / packages[0].replace("==", "-")
    if (place / "complete").exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f"{place.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps",
           "--root-user-action=ignore"]
    done = subprocess.run([*pip, "--target", str(fresh), *packages], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"{', '.join(packages)}: cannot be installed", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    (fresh / "complete").touch()
    try:
        fresh.rename(place)
    except OSError:
        # Somebody else was faster, and theirs is the same.
        subprocess.run(["rm", "-rf", str(fresh)], check=False)
    return place


def sources():
    """The kernels, in the order of their names."""
    return sorted(KERNELS.glob("*.cu"))

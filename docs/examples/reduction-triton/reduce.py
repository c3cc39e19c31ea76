"""Sums the rows of a matrix in a fixed order: a tree over scratch memory, so that every run adds alike."""

import triton
import triton.language as tl


@triton.jit
def reduce_rows(x, scratch, sums, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    part = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        part += tl.load(x + row * n + start + lane, mask=start + lane < n, other=0.0)
    own = scratch + row * BLOCK
    tl.store(own + lane, part)
    half = BLOCK // 2
    while half > 0:
        upper = tl.load(own + lane + half, mask=lane < half, other=0.0)
        part += upper
        tl.store(own + lane, part, mask=lane < half)
        half = half // 2
    tl.store(sums + row + lane, part, mask=lane < 1)


def row_sums(x, out, scratch, BLOCK=256):
    """Writes the sums of the rows of x to out; scratch has BLOCK elements for each row."""
    rows, n = x.shape
    reduce_rows[(rows,)](x, scratch, out, n, BLOCK=BLOCK)
    return out

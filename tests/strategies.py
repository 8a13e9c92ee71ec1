"""Hypothesis strategies by shape letters, strides and dtypes."""

import os
from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from oracles import BFLOAT16


def examples(count):
    """Settings of a test that wants other than the profile's number of examples; a thorough run has ten times that."""
    return settings(max_examples=count * (10 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1))


BLOCKS = (1, 2, 3, 4, 5, 7)
DATA_FORMATS = ("NHWC", "NCHW", "NCHW_VECT_C")
INTEGERS = tuple(map(np.dtype, ("u1", "i1", "u2", "i2", "u4", "i4")))
FLOATS = tuple(map(np.dtype, ("f2", "f4", "f8"))) + ((BFLOAT16,) if BFLOAT16 is not None else ())
COMPLEX = tuple(map(np.dtype, ("c8", "c16")))
WEIGHTED = INTEGERS + FLOATS
# Every way an element can be laid out in a fixed number of bytes: words of 1, 2, 4, 8 and runs of 3, 5, 12, 16, 24.
FIXED_SIZE = (
    WEIGHTED
    + COMPLEX
    + tuple(
        map(
            np.dtype,
            (
                "?",
                "i8",
                "u8",
                ">i2",
                ">f4",
                ">u8",
                ">c8",
                "longdouble",
                "clongdouble",
                "M8[s]",
                "m8[ns]",
                "S5",
                "U3",
                "V3",
                "V24",
            ),
        )
    )
    + (
        np.dtype([("a", "u1"), ("b", "f4")]),
        np.dtype([("a", "u1"), ("b", "f8")], align=True),
        np.dtype([("rgb", "u1", 3), ("z", ">f4")]),
    )
)


def dtype_name(dtype):
    return str(np.dtype(dtype)).replace(" ", "")


def fill(shape, dtype, seed):
    """An array of arbitrary bytes that are valid for the dtype; moves must carry every one of them."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "U":
        return rng.integers(0, 999, shape).astype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    x = np.zeros(shape, dtype)
    # Assigned, so that bytes between a structure's fields, which NumPy does not copy, are zero everywhere.
    x[...] = np.frombuffer(rng.bytes(max(1, count) * dtype.itemsize), dtype)[:count].reshape(shape)
    return x


def values(shape, dtype, seed):
    """Numbers of ordinary size, or the whole range of an integer dtype."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = rng.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True)
        return numbers.astype(dtype, copy=False)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


class Layout:
    """A way to store an array: axis order in memory, a step per axis, alignment, writability."""

    def __init__(self, order_seed=0, steps=(), unaligned=False, readonly=False):
        self.order_seed, self.steps, self.unaligned, self.readonly = order_seed, tuple(steps), unaligned, readonly

    def __repr__(self):
        return f"Layout({self.order_seed}, {self.steps}, unaligned={self.unaligned}, readonly={self.readonly})"

    def empty(self, shape, dtype):
        """A zeroed writable view of that shape, its base full of other bytes between the elements."""
        ndim = len(shape)
        order = np.random.default_rng(self.order_seed).permutation(ndim) if self.order_seed else np.arange(ndim)
        steps = [self.steps[axis % len(self.steps)] if self.steps else 1 for axis in range(ndim)]
        spans = [length * abs(step) for length, step in zip(shape, steps, strict=True)]
        stored = np.dtype([("pad", "u1"), ("value", dtype)]) if self.unaligned else np.dtype(dtype)
        base = np.zeros([spans[axis] for axis in order], stored)
        if self.unaligned:
            base["pad"] = 0xA5
            base = base["value"]
        view = base.transpose(np.argsort(order))
        return view[tuple(slice(None, None, step) for step in steps)]

    def __call__(self, x):
        view = self.empty(x.shape, x.dtype)
        view[...] = x
        if self.readonly:
            view.flags.writeable = False
        return view


PLAIN = Layout()
# One of each kind, for tests that go through them all.
LAYOUTS = {
    "C": PLAIN,
    "negative": Layout(0, (-1, -2)),
    "gaps": Layout(0, (3, 1, 2)),
    "permuted": Layout(1, (1,)),
    "permuted_gaps": Layout(5, (2, -1, 1)),
    "unaligned": Layout(0, (), unaligned=True),
    "unaligned_permuted": Layout(3, (1, -2), unaligned=True),
    "readonly": Layout(0, (), readonly=True),
}


def layouts(readonly=True):
    return st.builds(
        Layout,
        st.integers(0, 30),
        st.lists(st.sampled_from((1, 1, -1, 2, -2, 3)), max_size=4),
        st.booleans(),
        st.booleans() if readonly else st.just(False),
    )


seeds = st.integers(0, 2**32 - 1)


@st.composite
def depth_cases(draw, min_length=0):
    """(data_format, mode, block, shape of the depth side), any leading axes, zero lengths included."""
    data_format = draw(st.sampled_from(DATA_FORMATS))
    mode = "DCR" if data_format == "NCHW_VECT_C" else draw(st.sampled_from(("DCR", "CRD")))
    block = draw(st.sampled_from(BLOCKS))
    lead = draw(st.lists(st.integers(min_length, 3), max_size=3))
    h, w, channels = (
        draw(st.integers(min_length, 5)),
        draw(st.integers(min_length, 5)),
        draw(st.integers(min_length, 3)),
    )
    depth = channels * block**2
    shape = {"NHWC": (h, w, depth), "NCHW": (depth, h, w), "NCHW_VECT_C": (depth, h, w, 4)}[data_format]
    return data_format, mode, block, (*lead, *shape)


# As a caller may write them; pi and the square roots mean their shortest decimals.
SCALES = (
    0.5,
    2,
    3,
    1.2,
    Fraction(6, 5),
    Fraction(2, 3),
    np.float32(0.6),
    np.float32(1.7),
    np.float64(0.3),
    2**0.5,
    0.5**0.5,
    3.141592653589793,
    0.9999,
    1.25,
    7,
)
scales = st.one_of(
    st.sampled_from(SCALES),
    st.fractions(Fraction(1, 5), 5, max_denominator=40),
    st.floats(0.2, 5.0),
    st.floats(0.25, 5.0, width=32).map(np.float32),
)
offsets = st.one_of(
    st.sampled_from((0, 0.5, -0.5, 1, Fraction(1, 3), 0.1)),
    st.fractions(-3, 3, max_denominator=12),
    st.floats(-3, 3).map(lambda value: round(value, 6)),
)


@st.composite
def resample_cases(draw, max_ndim=4, max_length=6):
    """(shape, axes, size): any axes of any array, output lengths free of the input's."""
    ndim = draw(st.integers(1, max_ndim))
    shape = tuple(draw(st.integers(1, max_length)) for _ in range(ndim))
    axes = draw(st.lists(st.integers(0, ndim - 1), min_size=1, max_size=ndim, unique=True))
    size = tuple(draw(st.integers(1, 2 * max_length)) for _ in axes)
    return shape, tuple(axes), size

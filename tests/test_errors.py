"""Bad arguments: the right type, three parts, shapes with letters, the closest name; nothing changed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import imgops

A = np.zeros
NHWC = A((1, 4, 4, 8), "f4")
HW = A((4, 5), "f4")
AXIS_ERROR = np.exceptions.AxisError


def check(error, function, arguments, options, fragments=()):
    with pytest.raises(error) as caught:
        getattr(imgops, function)(*arguments, **options)
    text = str(caught.value)
    assert text.startswith(f"{function}: "), text
    assert "\n" not in text
    parts = text.split("; ")
    assert len(parts) >= 3, text
    assert all(part.strip() for part in parts), text
    for fragment in fragments:
        assert fragment in text, (fragment, text)
    return text


def case(name, error, function, *arguments, has=(), **options):
    return pytest.param(error, function, arguments, options, has, id=f"{function}-{name}")


def both(name, error, *arguments, has=(), functions=("depth_to_space", "space_to_depth"), **options):
    return [case(name, error, function, *arguments, has=has, **options) for function in functions]


BLOCK_FUNCTIONS = ("depth_to_space", "space_to_depth", "depth_to_space_grad", "space_to_depth_grad")
SHUFFLES = ("pixel_shuffle", "pixel_unshuffle")
OBJECTS = np.array([[[1, 2, 3, None]]], dtype=object)

BLOCKS = [
    case(
        "channels",
        ValueError,
        "depth_to_space",
        A((1, 4, 4, 10)),
        2,
        has=("block_size**2 = 4", "(N=1, H=4, W=4, C=10)"),
    ),
    case("channels", ValueError, "depth_to_space", A((2, 3, 10, 4, 5)), 3, has=("9", "C=10"), data_format="NCHW"),
    case("channels", ValueError, "depth_to_space", A((1, 6, 4, 4, 4)), 2, has=("C/4=6",), data_format="NCHW_VECT_C"),
    case("height", ValueError, "space_to_depth", A((1, 5, 4, 3)), 2, has=("H=5", "W=4")),
    case("width", ValueError, "space_to_depth", A((1, 4, 7, 3)), 2, has=("W=7",)),
    case("width", ValueError, "space_to_depth", A((3, 4, 7)), 2, has=("W=7",), data_format="NCHW"),
    case("height", ValueError, "depth_to_space_grad", A((1, 5, 4, 3)), 2, has=("H=5",)),
    case("channels", ValueError, "space_to_depth_grad", A((1, 4, 4, 10)), 2, has=("C=10",)),
    case("channels", ValueError, "pixel_shuffle", A((7, 4, 4)), 2, has=("C=7",)),
    case("height", ValueError, "pixel_unshuffle", A((4, 5, 4)), 2, has=("H=5",)),
    *both("vect-c-last-axis", ValueError, A((1, 4, 4, 4, 3)), 2, data_format="NCHW_VECT_C"),
    *both("vect-c-crd", ValueError, A((1, 4, 4, 4, 4)), 2, has=("CRD",), data_format="NCHW_VECT_C", mode="CRD"),
    *both("vect-c-rank", ValueError, A((4, 4, 4)), 2, data_format="NCHW_VECT_C"),
    *both("rank-2", ValueError, A((4, 4)), 2, functions=BLOCK_FUNCTIONS + SHUFFLES),
    *both("rank-1", ValueError, A(4), 2, functions=BLOCK_FUNCTIONS + SHUFFLES),
    *both("rank-0", ValueError, np.float32(4), 2, functions=BLOCK_FUNCTIONS + SHUFFLES),
    *[
        one
        for block in (0, -1, -(10**30))
        for one in both(
            f"block={block}", ValueError, NHWC, block, has=(str(block),), functions=BLOCK_FUNCTIONS + SHUFFLES
        )
    ],
    *[
        one
        for block in (2.5, 2.0, "2", None, True, (2, 2), np.float32(2), math.nan)
        for one in both(f"block={block!r}", TypeError, NHWC, block, functions=BLOCK_FUNCTIONS + SHUFFLES)
    ],
    *[
        one
        for block in (10**6, 2**32, 2**64, 10**30)
        for one in both(f"block={block}", ValueError, NHWC, block, functions=BLOCK_FUNCTIONS + SHUFFLES)
    ],
    *both(
        "format-typo",
        ValueError,
        NHWC,
        2,
        has=("NHCW", "did you mean", "NHWC", "NCHW", "NCHW_VECT_C"),
        data_format="NHCW",
    ),
    *both("format-lower", ValueError, NHWC, 2, has=("nchw", "'NCHW'"), data_format="nchw"),
    *both("format-none", (TypeError, ValueError), NHWC, 2, has=("NHWC",), data_format=None),
    *both(
        "mode-typo",
        ValueError,
        NHWC,
        2,
        has=("DRC", "did you mean", "DCR", "CRD"),
        mode="DRC",
        functions=BLOCK_FUNCTIONS,
    ),
    *both("mode-lower", ValueError, NHWC, 2, has=("crd", "CRD"), mode="crd"),
    *both("mode-number", (TypeError, ValueError), NHWC, 2, has=("DCR",), mode=3),
    *both("objects", TypeError, OBJECTS, 1, has=("object",), functions=("depth_to_space", "space_to_depth", *SHUFFLES)),
    *both("fields-of-objects", TypeError, A((1, 1, 4), [("a", "O"), ("b", "u1")]), 1),
    *both("ragged", (TypeError, ValueError), [[[1, 2], [3]]], 1),
    *both("no-array", TypeError, None, 2),
    *both("integer-gradient", TypeError, A((1, 4, 4, 4), "i4"), 2, has=("int32",), functions=BLOCK_FUNCTIONS[2:]),
    *both("bool-gradient", TypeError, A((1, 4, 4, 4), "?"), 2, has=("bool",), functions=BLOCK_FUNCTIONS[2:]),
    *both("accumulate-without-out", ValueError, NHWC, 2, has=("out",), functions=BLOCK_FUNCTIONS[2:], accumulate=True),
    *both(
        "num_threads=0",
        ValueError,
        NHWC,
        2,
        has=("num_threads", "0"),
        num_threads=0,
        functions=BLOCK_FUNCTIONS + SHUFFLES,
    ),
    *both("num_threads=-1", ValueError, NHWC, 2, has=("num_threads", "-1"), num_threads=-1),
    *both("num_threads=1.5", TypeError, NHWC, 2, has=("num_threads",), num_threads=1.5),
    *both("num_threads='2'", TypeError, NHWC, 2, has=("num_threads",), num_threads="2"),
    case("channels", ValueError, "depth_to_space_shape", (1, 4, 4, 10), 2, has=("C=10",)),
    case("height", ValueError, "space_to_depth_shape", (1, 5, 4, 3), 2, has=("H=5",)),
    case("rank", ValueError, "depth_to_space_shape", (4, 4), 2),
    case("block", ValueError, "space_to_depth_shape", (4, 4, 3), 0),
    case("negative", ValueError, "depth_to_space_shape", (-1, 4, 4), 2),
    case("no-integers", TypeError, "depth_to_space_shape", (1.5, 4, 4), 2),
]

RESAMPLERS = ("resample", "resample_grad")


def sized(name, error, size, *, has=(), x=HW, functions=("resample", "resample_grad"), **options):
    return [case(name, error, function, x, size, has=has, **options) for function in functions]


MAP = imgops.AxisMap(2)
RESAMPLING = [
    case("neither", (TypeError, ValueError), "resample", HW, has=("size", "scale")),
    *sized("rank-0", ValueError, 3, x=np.float32(3)),
    *sized("rank-1-two-sizes", ValueError, (3, 3), x=A(4, "f4")),
    *sized("too-many-sizes", ValueError, (3, 3, 3), x=HW),
    *sized("too-few-sizes", ValueError, (3,), x=A((1, 4, 4, 3), "f4")),
    *sized("sizes-against-axes", ValueError, (3, 3), axes=(0,)),
    *sized("size-0", ValueError, (0, 3), has=("0",)),
    *sized("size-negative", ValueError, (3, -1), has=("-1",)),
    *sized("size-2.5", TypeError, (3, 2.5), has=("2.5",)),
    *sized("size-float", TypeError, (3, 2.0)),
    *sized("size-text", (TypeError, ValueError), "33"),
    *sized("size-2**63", ValueError, (2**63, 2)),
    *sized("size-2**62-squared", ValueError, (2**62, 2**62)),
    *sized("size-10**30", ValueError, (10**30, 1)),
    *sized("axes-outside", AXIS_ERROR, (3, 3), axes=(0, 2), has=("2",)),
    *sized("axes-far-negative", AXIS_ERROR, 3, axes=-3),
    *sized("axes-twice", ValueError, (3, 3), axes=(0, 0)),
    *sized("axes-twice-by-sign", ValueError, (3, 3), axes=(0, -2)),
    *sized("axes-1.5", TypeError, 3, axes=1.5),
    *sized("mode-typo", ValueError, (3, 3), mode="nearst", has=("nearst", "did you mean", "nearest", "linear")),
    *sized("mode-upper", ValueError, (3, 3), mode="Linear", has=("'linear'",)),
    *sized("mode-none", (TypeError, ValueError), (3, 3), mode=None),
    *sized(
        "convention-typo",
        ValueError,
        (3, 3),
        convention="half_pixl",
        has=("did you mean", "half_pixel", "align_corners"),
    ),
    *sized("convention-without-roi", ValueError, (3, 3), convention="tf_crop_and_resize", has=("roi",)),
    *sized("convention-without-nearest", ValueError, (3, 3), mode="nearest", convention="torch_align_corners"),
    *sized("convention-without-linear", ValueError, (3, 3), convention="torch_nearest_exact", has=("nearest",)),
    *sized("rounding-in-torch", ValueError, (3, 3), mode="nearest", convention="torch", rounding="floor"),
    *sized("rounding-in-cubic", ValueError, (3, 3), mode="cubic", rounding="floor", has=("nearest",)),
    *sized("convention-number", TypeError, (3, 3), convention=3),
    *sized("convention-none", TypeError, (3, 3), convention=None),
    *sized("too-many-conventions", ValueError, (3, 3), convention=["half_pixel"] * 3),
    *sized(
        "convention-typo-of-one-axis", ValueError, (3, 3), convention=["half_pixel", "asymetric"], has=("asymmetric",)
    ),
    *sized(
        "rounding-typo", ValueError, (3, 3), mode="nearest", rounding="flor", has=("did you mean", "floor", "half_down")
    ),
    *sized("rounding-in-linear", ValueError, (3, 3), rounding="floor", has=("nearest",)),
    *sized(
        "rounding-beside-axis-map",
        ValueError,
        (3, 3),
        mode="nearest",
        rounding="floor",
        convention=MAP,
        has=("AxisMap",),
    ),
    *sized("scale-beside-axis-map", ValueError, (3, 3), scale=2, convention=MAP, has=("AxisMap",)),
    *sized("antialias-in-nearest", ValueError, (3, 3), mode="nearest", antialias=True, has=("antialias",)),
    *sized("format-typo", ValueError, (3, 3), x=A((1, 4, 4, 3)), data_format="NHWD", has=("NHWD", "NHWC", "NCHW")),
    *sized("vect-c-last-axis", ValueError, (3, 3), x=A((1, 4, 4, 4, 3)), data_format="NCHW_VECT_C"),
    *sized("input-length-0", ValueError, (3, 3), x=A((0, 4)), functions=("resample",)),
    *sized("num_threads=0", ValueError, (3, 3), num_threads=0, has=("num_threads",)),
    *sized("num_threads=2.0", TypeError, (3, 3), num_threads=2.0, has=("num_threads",)),
    *sized("objects", TypeError, (1, 1), x=np.array([[1, None]], object), has=("object",)),
    *sized("objects-nearest", TypeError, (1, 1), x=np.array([[1, None]], object), mode="nearest", has=("object",)),
    *sized("ragged", (TypeError, ValueError), (1, 1), x=[[1, 2], [3]]),
    *sized("no-array", TypeError, 3, x=None),
    *[
        one
        for scale in (0, 0.0, -1, -0.5, Fraction(-1, 2), math.nan, math.inf, -math.inf, np.float32("nan"))
        for one in (
            case(f"scale={scale}", ValueError, "resample", HW, scale=scale, has=("scale",)),
            case(f"scales=(2, {scale})", ValueError, "resample", HW, (3, 3), scale=(2, scale), has=("scale",)),
            case(f"scale={scale}", ValueError, "resample_grad", HW, (3, 3), scale=scale, has=("scale",)),
            case(f"scale={scale}", ValueError, "resample_shape", (4, 5), scale=scale, has=("scale",)),
        )
    ],
    *[case(f"scale={scale!r}", TypeError, "resample", HW, scale=scale, has=("scale",)) for scale in ("2", 2j, {})],
    case("scale-too-small", ValueError, "resample", HW, scale=0.2, has=("length 4", "1/5")),
    case("scale-too-small", ValueError, "resample", HW, scale=1e-300),
    case("scale-too-large", ValueError, "resample", HW, scale=1e300),
    case("scale-too-large", ValueError, "resample", HW, scale=2**62),
    case("too-many-scales", ValueError, "resample", HW, scale=(2, 2, 2)),
    case("scales-against-axes", ValueError, "resample", HW, scale=(2, 2), axes=0),
    case("scales-against-sizes", ValueError, "resample", A((1, 4, 4, 3)), (3, 3), scale=(2, 2, 2)),
    case("scalar-scale-of-rank-0", ValueError, "resample", np.float32(3), scale=2),
    *[
        case(f"linear-{dtype}", TypeError, "resample", A((4, 5), dtype), (3, 3), has=("dtype",))
        for dtype in ("?", "i8", "u8", "M8[s]", "m8[s]", "S3", "U3", "V3", "longdouble")
    ],
    case("linear-structure", TypeError, "resample", A((4, 5), [("a", "u1"), ("b", "f4")]), (3, 3)),
    *[
        case(
            f"{dtype}-names-dtype=",
            TypeError,
            "resample",
            A((4, 5), dtype),
            (3, 3),
            has=("dtype=", np.dtype(dtype).name),
        )
        for dtype in ("i8", "u8", "?")
    ],
    case("list-of-ints", TypeError, "resample", [[1, 2], [3, 4]], (3, 3), has=("dtype=",)),
    case("dtype-unweighted", TypeError, "resample", HW, (3, 3), dtype="i8", has=("int64",)),
    case("dtype-object", TypeError, "resample", HW, (3, 3), mode="nearest", dtype=object),
    case("dtype-unknown", TypeError, "resample", HW, (3, 3), dtype="flaot32"),
    case("dtype-of-complex", TypeError, "resample", A((4, 5), "c8"), (3, 3), dtype="f4"),
    case("integer-gradient", TypeError, "resample_grad", A((4, 5), "u1"), (3, 3), has=("uint8",)),
    case(
        "integer-gradient-nearest", TypeError, "resample_grad", A((4, 5), "i8"), (3, 3), mode="nearest", has=("int64",)
    ),
    case("list-of-ints", TypeError, "resample_grad", [[4, 5, 6]], (2, 2), mode="nearest"),
    case("accumulate-without-out", ValueError, "resample_grad", HW, (3, 3), accumulate=True, has=("out",)),
    case("length-0", ValueError, "resample_grad", A((0, 4)), (3, 3)),
    case("neither", (TypeError, ValueError), "resample_shape", (4, 5)),
    case("size-0", ValueError, "resample_shape", (4, 5), (0, 3)),
    case("axes", AXIS_ERROR, "resample_shape", (4, 5), 3, axes=2),
    case("negative-shape", ValueError, "resample_shape", (4, -5), (3, 3)),
    case("text-shape", TypeError, "resample_shape", "45", (3, 3)),
    case("neither", (TypeError, ValueError), "ResamplePlan", (4, 5)),
    case("size-0", ValueError, "ResamplePlan", (4, 5), (0, 3)),
    case("length-0", ValueError, "ResamplePlan", (4, 0), (3, 3)),
    case("mode", ValueError, "ResamplePlan", (4, 5), (3, 3), mode="biliner", has=("did you mean", "linear")),
    case("scale", ValueError, "ResamplePlan", (4, 5), scale=-2),
    case(
        "convention-typo", ValueError, "get_convention", "asymetric", has=("did you mean", "asymmetric", "half_pixel")
    ),
    case("convention-number", (TypeError, ValueError), "get_convention", 3),
]


@pytest.mark.parametrize(("error", "function", "arguments", "options", "has"), BLOCKS)
def test_depth_and_space(error, function, arguments, options, has):
    check(error, function, arguments, options, has)


@pytest.mark.parametrize(("error", "function", "arguments", "options", "has"), RESAMPLING)
def test_resampling(error, function, arguments, options, has):
    check(error, function, arguments, options, has)


WITH_OUT = [
    pytest.param(one.values, id=one.id)
    for one in BLOCKS + RESAMPLING
    if one.values[1] in BLOCK_FUNCTIONS + SHUFFLES + RESAMPLERS and "accumulate" not in one.values[3]
]


@pytest.mark.parametrize("one", WITH_OUT)
def test_out_is_left_as_it_was(one):
    _, function, arguments, options, _ = one
    for out in (np.full((3, 3), 7, "f4"), np.full((1, 8, 8, 2), 7, "f4"), np.full((1, 2, 2, 32), 7, "f4")):
        with pytest.raises((ValueError, TypeError, AXIS_ERROR)):
            getattr(imgops, function)(*arguments, out=out, **options)
        assert (out == 7).all()


def test_the_text_of_the_design():
    text = check(ValueError, "depth_to_space", (A((1, 4, 4, 10)), 2), {})
    assert text == (
        "depth_to_space: channels must be divisible by block_size**2 = 4; "
        "x has shape (N=1, H=4, W=4, C=10); pass data_format='NCHW' if the channels come first"
    )


CALLS = {
    "depth_to_space": ((NHWC, 2), {}, (1, 8, 8, 2)),
    "space_to_depth": ((NHWC, 2), {}, (1, 2, 2, 32)),
    "depth_to_space_grad": ((NHWC, 2), {}, (1, 2, 2, 32)),
    "space_to_depth_grad": ((NHWC, 2), {}, (1, 8, 8, 2)),
    "pixel_shuffle": ((NHWC, 2), {}, (1, 1, 8, 16)),
    "pixel_unshuffle": ((NHWC, 2), {}, (1, 16, 2, 4)),
    "resample": ((NHWC, (6, 7)), {}, (1, 6, 7, 8)),
    "resample_grad": ((NHWC, (6, 7)), {}, (1, 6, 7, 8)),
}


@pytest.fixture(params=CALLS)
def call(request):
    arguments, options, shape = CALLS[request.param]
    if request.param == "pixel_shuffle":
        arguments = (A((1, 4, 4, 8), "f4"), 2)
    return request.param, arguments, options, shape


def test_the_calls_below_are_right_but_for_out(call):
    function, arguments, options, shape = call
    out = np.full(shape, 7, "f4")
    assert getattr(imgops, function)(*arguments, out=out, **options) is out
    assert (out == 0).all()


def test_out_of_another_shape(call):
    function, arguments, options, shape = call
    for wrong in (shape[::-1], (*shape, 1), shape[1:], (2, *shape[1:]), (0, *shape[1:])):
        out = np.full(wrong, 7, "f4")
        check(ValueError, function, arguments, {**options, "out": out}, ("out",))
        assert (out == 7).all()


def test_out_of_another_dtype(call):
    function, arguments, options, shape = call
    for wrong in ("f2", "i4", ">f4", "c8", "u1"):
        out = np.full(shape, 7, wrong)
        check(TypeError, function, arguments, {**options, "out": out}, ("out", "float32"))
        assert (out == 7).all()


def test_out_that_is_no_array(call):
    function, arguments, options, shape = call
    for wrong in (np.zeros(shape, "f4").tolist(), "out", 3, (np.zeros(shape, "f4"),)):
        check(TypeError, function, arguments, {**options, "out": wrong}, ("out",))


def test_out_that_is_read_only(call):
    function, arguments, options, shape = call
    out = np.full(shape, 7, "f4")
    out.flags.writeable = False
    check(ValueError, function, arguments, {**options, "out": out}, ("out", "read-only"))
    assert (out == 7).all()


def overlaps(shape, strides, itemsize=4):
    """Whether two elements share a byte, by looking at every one of them."""
    starts = sorted(sum(map(int.__mul__, index, strides)) for index in np.ndindex(shape))
    return any(b - a < itemsize for a, b in itertools.pairwise(starts))


def test_out_that_overlaps_itself(call):
    """Refused if it does; strides that only look like it, interleaved or of an axis of one, are taken."""
    function, arguments, options, shape = call
    expected = getattr(imgops, function)(*arguments, **options)
    seen = set()
    for strides in itertools.product((4,), (0, 2, 8, 256, 512), (4, 32, 8), (4, 64, 2, 8)):
        memory = np.full(4096, 7, "f4")
        out = np.lib.stride_tricks.as_strided(memory, shape, strides)
        seen.add(overlaps(shape, strides))
        if overlaps(shape, strides):
            check(ValueError, function, arguments, {**options, "out": out}, ("out", "overlap"))
            assert (memory == 7).all()
        elif all(stride % 4 == 0 for stride in strides):
            getattr(imgops, function)(*arguments, **options, out=out)
            np.testing.assert_array_equal(out, expected)
            assert (memory == 7).sum() == memory.size - out.size
    assert seen == {True, False}


def test_a_gradients_out_may_be_wider_but_not_narrower():
    grad_output = np.ones((4, 4, 4), "f8")
    for function, arguments, shape in (
        ("resample_grad", (grad_output, (3, 3)), (3, 3, 4)),
        ("depth_to_space_grad", (grad_output, 2), (2, 2, 16)),
        ("space_to_depth_grad", (grad_output, 2), (8, 8, 1)),
    ):
        for wrong in ("f4", "f2", "c16", "i8"):
            out = np.full(shape, 7, wrong)
            check(TypeError, function, arguments, {"out": out, "accumulate": True}, ("out",))
            assert (out == 7).all()


def test_dtype_and_out_that_disagree():
    out = np.full((3, 3), 7, "f4")
    check((TypeError, ValueError), "resample", (HW, (3, 3)), {"dtype": "f8", "out": out}, ("out", "float64"))
    assert (out == 7).all()


def test_strings_of_any_length_are_no_fixed_size():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("this NumPy has no StringDType")
    x = np.array([[["a", "bb", "ccc", "d" * 99]]], dtype=np.dtypes.StringDType())
    check(TypeError, "depth_to_space", (x, 2), {})
    check(TypeError, "resample", (x, (3, 3)), {"mode": "nearest"})


def test_memory_that_does_not_exist():
    """Refused before anything as large as the result, or its tables, is made."""
    for function, arguments, options in (
        ("resample", (A((1, 1), "u1"), (2**40, 2**20)), {"mode": "nearest"}),
        ("resample", (A((1, 1), "f4"), (2**58, 1)), {}),
        ("resample", (A((1, 1), "f4"),), {"scale": (1, 2**58)}),
        ("resample_grad", (A((1, 1), "f4"), (1, 2**58)), {}),
    ):
        with pytest.raises((MemoryError, ValueError)):
            getattr(imgops, function)(*arguments, **options)


def test_shapes_past_any_index_are_value_errors():
    for function, arguments in (
        ("resample_shape", ((2**40, 2**20), (2**50, 2**20))),
        ("resample_shape", ((2, 2), (2**63, 1))),
        ("depth_to_space_shape", ((2**62, 2**62, 4), 2)),
        ("space_to_depth_shape", ((2**62, 2**62, 4), 2)),
    ):
        check(ValueError, function, arguments, {}, ("2**63",))


def test_pythons_own_calling_errors_stay_its_own():
    for call in (
        lambda: imgops.resample(x=HW, size=(3, 3)),
        lambda: imgops.depth_to_space(x=NHWC, block_size=2),
        lambda: imgops.depth_to_space(NHWC),
        lambda: imgops.depth_to_space(NHWC, 2, "NHWC"),
        lambda: imgops.resample(HW, (3, 3), 2),
        lambda: imgops.resample(HW, (3, 3), interpolation="linear"),
        lambda: imgops.resample_grad(HW),
    ):
        with pytest.raises(TypeError, match=r"argument"):
            call()


def test_inputs_survive_their_errors():
    x = np.arange(20, dtype="f4").reshape(4, 5)
    kept = x.copy()
    for options in ({"size": (0, 3)}, {"scale": -1}, {"size": (3, 3), "mode": "none"}, {"size": (3, 3), "out": x}):
        with pytest.raises(ValueError, match=";"):
            imgops.resample(x, **options)
    np.testing.assert_array_equal(x, kept)


# Regions of a plan


def test_bad_regions():
    plan = imgops.ResamplePlan((5, 7, 3), (10, 14))
    full = (slice(0, 10), slice(0, 14), slice(0, 3))
    for method in (plan.input_region, plan.window):
        for region in (
            (slice(3, 3), *full[1:]),
            (slice(5, 2), *full[1:]),
            (slice(0, 10, 2), *full[1:]),
            (slice(10, 12), *full[1:]),
            full[:2],
            (*full, slice(0, 1)),
        ):
            with pytest.raises(ValueError, match=r"; .+; "):
                method(region)
        for region in ("abc", (slice(0, 1), slice(0, 1), "c"), (slice(0, 1.5), *full[1:])):
            with pytest.raises(TypeError, match=r"; .+; "):
                method(region)


def test_plan_calls_check_what_resample_checks():
    plan = imgops.ResamplePlan((4, 5), (3, 3))
    out = np.full((3, 3), 7, "f4")
    for error, call in (
        (TypeError, lambda: plan(A((4, 5), "i8"))),
        (TypeError, lambda: plan(HW.astype("f8"), out=out)),
        (TypeError, lambda: plan.grad(A((3, 3), "u1"))),
        (ValueError, lambda: plan.grad(A((3, 3), "f4"), accumulate=True)),
        (ValueError, lambda: plan.grad(A((4, 5), "f4"))),
        (ValueError, lambda: plan(HW.T, out=out)),
    ):
        with pytest.raises(error, match=r"; .+; "):
            call()
        assert (out == 7).all()

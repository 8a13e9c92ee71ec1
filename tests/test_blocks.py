"""DepthToSpace, SpaceToDepth, the pixel shuffles, their gradients and shapes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import BFLOAT16, assert_same_bits, depth_to_space, space_to_depth
from strategies import (
    BLOCKS,
    COMPLEX,
    DATA_FORMATS,
    FIXED_SIZE,
    FLOATS,
    LAYOUTS,
    depth_cases,
    dtype_name,
    fill,
    layouts,
    seeds,
    values,
)

import imgops

ORDERS = [(data_format, "DCR") for data_format in DATA_FORMATS] + [("NHWC", "CRD"), ("NCHW", "CRD")]


def depth_shape(data_format, h, w, channels, lead=()):
    return lead + {"NHWC": (h, w, channels), "NCHW": (channels, h, w), "NCHW_VECT_C": (channels, h, w, 4)}[data_format]


def element(data_format, mode, block, position):
    """Index on the depth side of one element of the space side, from the printed formulas."""
    if data_format == "NHWC":
        y, x, c = position
    elif data_format == "NCHW":
        c, y, x = position
    else:
        c, y, x, v = position
    (h, by), (w, bx) = divmod(y, block), divmod(x, block)

    def channel(count):
        return (by * block + bx) * count + c if mode == "DCR" else (c * block + by) * block + bx

    return {
        "NHWC": lambda count: (h, w, channel(count)),
        "NCHW": lambda count: (channel(count), h, w),
        "NCHW_VECT_C": lambda count: (channel(count), h, w, v),
    }[data_format]


@pytest.mark.parametrize("block", [2, 3])
@pytest.mark.parametrize(("data_format", "mode"), ORDERS)
def test_every_element_comes_from_where_the_formula_says(data_format, mode, block):
    channels = 5
    shape = depth_shape(data_format, 2, 3, channels * block**2)
    x = np.arange(np.prod(shape)).reshape(shape)
    out = imgops.depth_to_space(x, block, data_format=data_format, mode=mode)
    assert out.shape == depth_shape(data_format, 2 * block, 3 * block, channels)
    for position in itertools.product(*map(range, out.shape)):
        assert out[position] == x[element(data_format, mode, block, position)(channels)]


@pytest.mark.parametrize("dtype", FIXED_SIZE, ids=dtype_name)
@given(case=depth_cases(), seed=seeds, layout=layouts(), out_layout=st.none() | layouts(readonly=False))
def test_moves_carry_every_dtype_byte_for_byte(dtype, case, seed, layout, out_layout):
    data_format, mode, block, shape = case
    options = {"data_format": data_format, "mode": mode}
    depth = layout(fill(shape, dtype, seed))
    kept = depth.copy()
    space = depth_to_space(kept, block, data_format, mode)

    out = out_layout and out_layout.empty(space.shape, dtype)
    result = imgops.depth_to_space(depth, block, out=out, **options)
    assert_same_bits(result, space)
    assert_same_bits(depth, kept)
    if out is not None:
        assert result is out

    out = out_layout and out_layout.empty(shape, dtype)
    result = imgops.space_to_depth(layout(space), block, out=out, **options)
    assert_same_bits(result, kept)


# One dtype per word size is the cross of every option; the test above is the cross of every dtype.
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16", "V3"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("data_format", "mode"), ORDERS)
@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 1, 2)], ids=lambda lead: f"lead{len(lead)}")
def test_every_format_order_block_and_rank(data_format, mode, block, lead, dtype):
    depth = fill(depth_shape(data_format, 3, 5, 3 * block**2, lead), dtype, block)
    space = depth_to_space(depth, block, data_format, mode)
    assert_same_bits(imgops.depth_to_space(depth, block, data_format=data_format, mode=mode), space)
    assert_same_bits(imgops.space_to_depth(space, block, data_format=data_format, mode=mode), depth)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 16])
@pytest.mark.parametrize("width", [1, 2, 7, 15, 16, 17, 31, 33, 65])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_widths_about_the_vector_length(dtype, width, channels):
    for data_format, mode in ORDERS:
        for block in (2, 3, 4):
            depth = fill(depth_shape(data_format, 2, width, channels * block**2), dtype, width)
            space = depth_to_space(depth, block, data_format, mode)
            assert_same_bits(imgops.depth_to_space(depth, block, data_format=data_format, mode=mode), space)
            assert_same_bits(imgops.space_to_depth(space, block, data_format=data_format, mode=mode), depth)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("data_format", "mode"), ORDERS)
def test_layouts_of_input_and_out(layout, data_format, mode):
    depth = fill(depth_shape(data_format, 4, 5, 27, (2,)), "f4", 0)
    space = depth_to_space(depth, 3, data_format, mode)
    options = {"data_format": data_format, "mode": mode}
    for out_layout in LAYOUTS.values():
        if not out_layout.readonly:
            out = out_layout.empty(space.shape, space.dtype)
            assert_same_bits(imgops.depth_to_space(layout(depth), 3, out=out, **options), space)
            out = out_layout.empty(depth.shape, depth.dtype)
            assert_same_bits(imgops.space_to_depth(layout(space), 3, out=out, **options), depth)


def test_bytes_between_the_elements_of_out_are_left_alone():
    base = np.full((4, 8, 6), 0xA5, np.uint8)
    out = base[:, ::2, ::-2]
    x = np.zeros((2, 2, 12), np.uint8)
    imgops.depth_to_space(x, 2, out=out)
    assert not out.any()
    assert (base[:, 1::2] == 0xA5).all()
    assert (base[:, :, 0::2] == 0xA5).all()


def test_broadcast_inputs_with_zero_strides():
    for shape in ((2, 3, 18), (1, 3, 18), (2, 1, 18), (2, 3, 1), (1, 1, 1)):
        x = np.broadcast_to(fill(shape, "f4", 1), (2, 3, 18))
        assert_same_bits(imgops.depth_to_space(x, 3), depth_to_space(x, 3))
    for shape in ((6, 9, 2), (1, 9, 2), (6, 1, 2), (6, 9, 1), (1, 1, 1)):
        x = np.broadcast_to(fill(shape, "f4", 1), (6, 9, 2))
        assert_same_bits(imgops.space_to_depth(x, 3), space_to_depth(x, 3))


@pytest.mark.parametrize(("data_format", "mode"), ORDERS)
def test_zero_length_axes_give_empty_results(data_format, mode):
    for h, w, channels, lead in ((0, 3, 8, ()), (2, 0, 8, (2,)), (2, 3, 0, ()), (2, 3, 8, (0,)), (2, 3, 8, (3, 0))):
        x = np.zeros(depth_shape(data_format, h, w, channels, lead), np.float32)
        out = imgops.depth_to_space(x, 2, data_format=data_format, mode=mode)
        assert out.shape == depth_shape(data_format, 2 * h, 2 * w, channels // 4, lead)
        assert imgops.space_to_depth(out, 2, data_format=data_format, mode=mode).shape == x.shape


def test_block_1_is_a_copy():
    x = fill((3, 4, 5), "f4", 0)
    for function in (imgops.depth_to_space, imgops.space_to_depth, imgops.pixel_shuffle, imgops.pixel_unshuffle):
        out = function(x, 1)
        assert_same_bits(out, x)
        assert not np.shares_memory(out, x)


def test_results_are_never_views():
    x = fill((1, 1, 4), "u1", 0)
    for out in (imgops.depth_to_space(x, 2), imgops.space_to_depth(x, 1), imgops.pixel_shuffle(x.reshape(4, 1, 1), 2)):
        assert not np.shares_memory(out, x)
        assert out.flags.c_contiguous
        assert out.flags.writeable


@given(case=depth_cases(min_length=1), seed=seeds, offset=st.integers(0, 40), flip=st.booleans())
def test_out_may_overlap_the_input(case, seed, offset, flip):
    data_format, mode, block, shape = case
    count = int(np.prod(shape))
    options = {"data_format": data_format, "mode": mode}

    def halves(function, source_shape, target_shape):
        memory = fill((count + offset,), "u2", seed)
        source = memory[:count].reshape(source_shape)
        target = memory[offset:].reshape(target_shape)
        if flip:
            target = target[::-1]
        expected = function(source.copy(), block, **options)
        assert_same_bits(function(source, block, out=target, **options), expected)

    space_shape = depth_to_space(np.empty(shape, "u2"), block, data_format, mode).shape
    halves(imgops.depth_to_space, shape, space_shape)
    halves(imgops.space_to_depth, space_shape, shape)


@given(
    lead=st.lists(st.integers(0, 3), max_size=3),
    channels=st.integers(0, 3),
    h=st.integers(0, 4),
    w=st.integers(0, 4),
    factor=st.sampled_from(BLOCKS),
    seed=seeds,
    layout=layouts(),
)
def test_pixel_shuffle_is_crd_on_channels_first(lead, channels, h, w, factor, seed, layout):
    x = layout(fill((*lead, channels * factor**2, h, w), "f4", seed))
    shuffled = imgops.pixel_shuffle(x, factor)
    assert_same_bits(shuffled, depth_to_space(x.copy(), factor, "NCHW", "CRD"))
    assert_same_bits(imgops.pixel_unshuffle(layout(shuffled), factor), x.copy())
    out = np.empty_like(shuffled)
    assert imgops.pixel_shuffle(x, factor, out=out) is out
    assert_same_bits(out, shuffled)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_name)
@given(case=depth_cases(), seed=seeds, layout=layouts())
def test_each_is_the_gradient_of_the_other(dtype, case, seed, layout):
    data_format, mode, block, shape = case
    options = {"data_format": data_format, "mode": mode}
    grad_input = values(shape, dtype, seed)
    grad_output = depth_to_space(grad_input, block, data_format, mode)
    assert_same_bits(imgops.depth_to_space_grad(layout(grad_output), block, **options), grad_input)
    assert_same_bits(imgops.space_to_depth_grad(layout(grad_input), block, **options), grad_output)

    out = values(shape, dtype, seed + 1)
    expected = out + grad_input
    assert imgops.depth_to_space_grad(grad_output, block, out=out, accumulate=True, **options) is out
    assert_same_bits(out, expected)
    out = layout.empty(grad_output.shape, dtype) if not layout.readonly else np.zeros(grad_output.shape, dtype)
    out[...] = values(grad_output.shape, dtype, seed + 2)
    expected = out + grad_output
    imgops.space_to_depth_grad(grad_input, block, out=out, accumulate=True, **options)
    assert_same_bits(out, expected.astype(dtype))


NARROW_WIDE = [("f2", "f4"), ("f2", "f8"), ("f4", "f8")] + ([(BFLOAT16, "f4")] if BFLOAT16 is not None else [])


@pytest.mark.parametrize(("narrow", "wide"), NARROW_WIDE, ids=str)
def test_gradients_gather_in_a_wider_float(narrow, wide):
    grad_output = values((2, 4, 6, 3), narrow, 0)
    expected = space_to_depth(grad_output.astype(wide), 2)
    out = np.ones((2, 2, 3, 12), wide)
    imgops.depth_to_space_grad(grad_output, 2, out=out)
    assert_same_bits(out, expected)
    imgops.depth_to_space_grad(grad_output, 2, out=out, accumulate=True)
    assert_same_bits(out, expected + expected)
    out = np.ones((2, 8, 12, 3), wide)
    depth = values((2, 4, 6, 12), narrow, 1)
    imgops.space_to_depth_grad(depth, 2, out=out, accumulate=True)
    assert_same_bits(out, depth_to_space(depth.astype(wide), 2) + np.ones_like(out))


def test_accumulating_into_the_gradient_itself_reads_it_first():
    memory = values((64,), "f4", 3)
    grad_output, out = memory.reshape(4, 4, 4), memory.reshape(2, 2, 16)
    expected = out + space_to_depth(grad_output.copy(), 2)
    imgops.depth_to_space_grad(grad_output, 2, out=out, accumulate=True)
    assert_same_bits(out, expected)


@given(case=depth_cases())
def test_shape_helpers_agree_with_the_arrays(case):
    data_format, mode, block, shape = case
    space = depth_to_space(np.empty(shape, "u1"), block, data_format, mode).shape
    assert imgops.depth_to_space_shape(shape, block, data_format=data_format) == space
    assert imgops.space_to_depth_shape(space, block, data_format=data_format) == shape


def test_array_likes_are_accepted():
    class Wrapped:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return np.array(self.array, dtype=dtype, copy=True)

    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    expected = depth_to_space(x, 2)
    for like in (x.tolist(), Wrapped(x), OnlyDLPack(x), memoryview(x)):
        np.testing.assert_array_equal(imgops.depth_to_space(like, 2), expected)


def test_integer_like_block_sizes():
    x = np.arange(8).reshape(1, 2, 4)
    for block in (2, np.int64(2), np.uint8(2), np.array(2)):
        assert_same_bits(imgops.depth_to_space(x, block), depth_to_space(x, 2))

"""Lines of the kernels that only some calls take: each gives the bits of the definition and of the plain line."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import imgops
from imgops import reference
from imgops.taps import AxisMap, axis_taps

BYTES = (np.uint8, np.int8)
SMALL_INTEGERS = (np.uint8, np.int8, np.uint16, np.int16)
# Scales whose weights are whole multiples of a small power of two.
EXACT_SCALES = (Fraction(2), Fraction(4), Fraction(1, 2), Fraction(1, 4), Fraction(8))


def every(dtype):
    limits = np.iinfo(dtype)
    return np.arange(limits.min, limits.max + 1).astype(dtype)


def noise(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "ui":
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def spaced(array):
    """The same elements with room between them: no line sees them side by side."""
    return np.repeat(array[..., None], 2, -1)[..., 0]


def rounded(sums, dtype):
    return np.clip(np.rint(sums), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("scale", [2, 4, 8, Fraction(1, 2)])
def test_every_pair_of_bytes_is_blended_exactly(dtype, scale):
    values = every(dtype)
    pairs = np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = axis_taps(2, int(2 * scale), AxisMap(scale)).dense()
    expected = rounded(pairs.astype(np.float64) @ weights.T, dtype)
    # Along the last axis, and along the first with the pairs side by side.
    np.testing.assert_array_equal(imgops.resample(pairs, scale=scale, axes=1), expected)
    np.testing.assert_array_equal(imgops.resample(np.ascontiguousarray(pairs.T), scale=scale, axes=0), expected.T)


@pytest.mark.parametrize("dtype", BYTES)
def test_every_sum_of_four_bytes_is_halved_exactly(dtype):
    sums = np.arange(4 * np.iinfo(dtype).min, 4 * np.iinfo(dtype).max + 1)
    # Any four bytes of each sum, in a row of squares; the last row and columns are there to make lines long enough.
    parts = np.stack([(sums + k) // 4 for k in range(4)]).astype(dtype)
    x = np.empty((8, 2 * len(sums)), dtype)
    x[0::2, 0::2], x[0::2, 1::2], x[1::2, 0::2], x[1::2, 1::2] = (parts[k] for k in (2, 0, 3, 1))
    expected = np.broadcast_to(rounded(sums / 4, dtype), (4, len(sums)))
    np.testing.assert_array_equal(imgops.resample(x, (4, len(sums))), expected)
    for channels in (2, 3, 4):
        y = imgops.resample(np.repeat(x[..., None], channels, -1), (4, len(sums)))
        np.testing.assert_array_equal(y, np.repeat(expected[..., None], channels, -1))


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_halved_rows_of_every_length(dtype, channels):
    """Pairs of bytes in one register and several, with rests that do not fill one; nothing beside a row is written."""
    for width in (*range(1, 36), 63, 64, 65, 100):
        x = noise((6, 2 * width, channels), dtype, width)
        x[:2, :width] = np.iinfo(dtype).max
        x[2:4, width:] = np.iinfo(dtype).min
        wide = x.astype(np.float64)
        cols = (wide[:, 0::2] + wide[:, 1::2]) / 2
        both = (cols[0::2] + cols[1::2]) / 2
        upside_down = x[::-1].copy()[::-1]
        for image, sums in itertools.product((x, upside_down, spaced(x)), (cols, both)):
            room = np.full((len(sums), width + 2, channels), 77, dtype)
            imgops.resample(image, sums.shape[:2], out=room[:, 1:-1])
            np.testing.assert_array_equal(room[:, 1:-1], rounded(sums, dtype))
            assert (room[:, [0, -1]] == 77).all()


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_antialiased_halving_inside_a_picture(dtype, channels):
    """Four taps, two inputs further on for every output, of regions without the edges."""
    weights = np.array([1, 3, 3, 1]) / 8
    for width in (*range(5, 40), 66, 100):
        x = noise((12, 2 * width, channels), dtype, width)
        x[:4, :width] = np.iinfo(dtype).max
        x[4:8, width:] = np.iinfo(dtype).min
        plan = imgops.ResamplePlan(x.shape, (6, width), antialias=True)
        region = (slice(1, 5), slice(1, width - 1), slice(0, channels))
        inside = x[plan.input_region(region)].astype(np.float64)
        rows = sum(weights[k] * inside[k : k + 7 : 2] for k in range(4))
        sums = sum(weights[k] * rows[:, k : k + 2 * width - 5 : 2] for k in range(4))
        room = np.full((4, width, channels), 77, dtype)
        plan.window(region)(x[plan.input_region(region)], out=room[:, 1:-1])
        np.testing.assert_array_equal(room[:, 1:-1], rounded(sums, dtype))
        assert (room[:, [0, -1]] == 77).all()
        np.testing.assert_array_equal(plan(x)[1:5, 1:-1], room[:, 1:-1])


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("antialias", [False, True])
def test_exact_sums_inside_and_other_ones_at_the_edges_make_one_picture(dtype, antialias):
    """Large pictures are halved in parts where the edges alone have other weights; a part is the bits of the whole."""
    x = noise((600, 520, 2), dtype)
    for image, axes, size in ((x, (0, 1), (300, 260)), (x.transpose(2, 0, 1), (1, 2), (300, 260)), (x, 0, 300)):
        y = imgops.resample(image, size, axes=axes, antialias=antialias)
        sums = imgops.resample(image, size, axes=axes, antialias=antialias, dtype=np.float32)
        np.testing.assert_array_equal(y, rounded(sums, dtype))


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("rows", EXACT_SCALES)
@pytest.mark.parametrize("cols", EXACT_SCALES)
def test_integer_sums_give_the_bits_of_float_sums(dtype, rows, cols):
    x = noise((16, 48, 3), dtype)
    x[:8, :24] = every(dtype)[[0, -1]][np.random.default_rng(1).integers(0, 2, (8, 24, 3))]
    options = {"scale": (rows, cols), "antialias": rows < 1}
    for image in (x, x[..., 0], np.ascontiguousarray(x[:, ::-1])):
        y = imgops.resample(image, **options)
        np.testing.assert_array_equal(y, rounded(imgops.resample(image, dtype=np.float32, **options), dtype))
        np.testing.assert_array_equal(y, imgops.resample(spaced(image), out=spaced(np.empty_like(y)), **options))
    if not options["antialias"]:
        # Ties are exact in both; the weights of antialiased edges are sevenths, which are not.
        np.testing.assert_array_equal(imgops.resample(x, **options), reference.resample(x, **options))


@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(37, 71), (10, 26), (40, 104), (20, 52), (31, 20)])
def test_rows_blended_in_or_rounded_on_the_way_out_are_the_same(dtype, antialias, size):
    x = noise((20, 52, 3), dtype)
    x[:, :20] = np.iinfo(dtype).max
    x[:, 20:30] = np.iinfo(dtype).min
    for image in (x, x[..., 0], np.asfortranarray(x)):
        y = imgops.resample(image, size, antialias=antialias)
        sums = imgops.resample(image, size, antialias=antialias, dtype=np.float32)
        np.testing.assert_array_equal(y, rounded(sums, dtype))
        into = spaced(np.empty_like(y))
        np.testing.assert_array_equal(imgops.resample(spaced(image), size, antialias=antialias, out=into), y)
        # Only rows, only columns.
        for axis in (0, 1):
            y = imgops.resample(image, size[axis], axes=axis, antialias=antialias)
            sums = imgops.resample(image, size[axis], axes=axis, antialias=antialias, dtype=np.float32)
            np.testing.assert_array_equal(y, rounded(sums, dtype))


@pytest.mark.parametrize("mode", ["cubic", "lanczos3"])
@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
def test_filters_that_overshoot_saturate(mode, dtype):
    x = np.where(np.arange(40) // 5 % 2, np.iinfo(dtype).max, 0).astype(dtype)
    x = np.broadcast_to(x, (12, 40)).copy()
    x[::3] = np.iinfo(dtype).min
    for size in ((24, 80), (17, 61), (9, 30)):
        y = imgops.resample(x, size, mode=mode)
        np.testing.assert_array_equal(y, rounded(imgops.resample(x, size, mode=mode, dtype=np.float32), dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_many_rows_at_once_give_the_bits_of_each_row(dtype, channels):
    """Blocks are planned for many rows only; every length about the registers', enlarged and reduced."""
    for width in (*range(5, 40), 63, 64, 65, 100):
        x = noise((16, width, channels), dtype, width)
        for scale in (Fraction(3, 2), Fraction(5, 4), Fraction(7, 8), Fraction(1, 2), 2, Fraction(1, 3)):
            length = max(1, int(width * scale))
            for antialias in (False, True):
                y = imgops.resample(x, length, axes=1, antialias=antialias)
                for row in (0, 7, 15):
                    single = imgops.resample(x[row : row + 1], length, axes=1, antialias=antialias)
                    assert y[row].tobytes() == single.tobytes(), (width, scale, antialias)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_blocks_read_no_tap_of_weight_zero(dtype, channels):
    x = noise((16, 90, channels), dtype)
    x[:, 0] = np.inf
    x[:, -1] = np.nan
    for size in (90 * 3 // 2, 120, 77, 45):
        y = imgops.resample(x, size, axes=1)
        expected = reference.resample(x, size, axes=1)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(y), np.isinf(expected))
        assert np.isfinite(y[:, 3:-3]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lengths", [(97, 48), (96, 48), (95, 37), (97, 90), (97, 96), (96, 24), (33, 31), (17, 5)])
def test_gradients_with_zero_weights_all_over_are_the_definition(mode, dtype, channels, lengths):
    # Inputs that no output read, and taps that the neighbours do not have: zeros in the middle of a table.
    length, read = lengths
    g = noise((17, read, channels), dtype, seed=read)
    g[1, read // 2], g[2, 0], g[3, -1], g[4], g[5, 1] = np.nan, np.inf, -np.inf, -0.0, -0.0
    actual = imgops.resample_grad(g, (length,), mode=mode, axes=1)
    # One row at a time goes by the plain line.
    rows = [imgops.resample_grad(row, (length,), mode=mode, axes=0) for row in g]
    np.testing.assert_array_equal(actual, np.stack(rows))
    np.testing.assert_array_equal(np.signbit(actual[4:6]), np.signbit(rows[4:6]))
    expected = reference.resample_grad(g, (length,), mode=mode, axes=1)
    tolerance = 32 * np.finfo(dtype).eps
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_blocks_write_nothing_beside_their_row(channels):
    x = noise((16, 50, channels), np.float32)
    for width in (60, 75, 64, 49, 33):
        room = np.full((16, width + 2, channels), 7, np.float32)
        imgops.resample(x, width, axes=1, out=room[:, 1:-1])
        assert (room[:, [0, -1]] == 7).all()
        np.testing.assert_array_equal(room[:, 1:-1], imgops.resample(x, width, axes=1))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 8, 17])
def test_rows_side_by_side_give_the_bits_of_each_row(dtype, channels):
    """As many rows as lanes at a time, with rests of rows and of pixels; long taps, zeros, NaN and infinity."""
    for height, width in ((16, 90), (19, 131), (35, 200), (8, 640), (50, 41)):
        x = noise((height, width, channels), dtype, width)
        if np.dtype(dtype).kind == "f":
            x[0, 3], x[1, -1], x[2], x[3, 7] = np.nan, np.inf, -0.0, -np.inf
        for length in (width * 2 // 5, width // 3, width // 4, width // 9, 2, 1):
            for mode in ("linear", "cubic"):
                plan = imgops.ResamplePlan(x.shape, length, axes=1, mode=mode, antialias=True)
                room = np.full((height, length + 2, channels), 7, dtype)
                plan(x, out=room[:, 1:-1])
                assert (room[:, [0, -1]] == 7).all()
                for row in range(height):
                    single = imgops.resample(x[row], length, axes=0, mode=mode, antialias=True)
                    np.testing.assert_array_equal(room[row, 1:-1], single, str((width, length, mode, row)))
                    if row == 2:
                        np.testing.assert_array_equal(np.signbit(room[row, 1:-1]), np.signbit(single))
                if np.dtype(dtype).kind == "f":
                    y = plan(x)
                    np.testing.assert_array_equal(y, room[:, 1:-1])


@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_zeros_in_tables_are_multiplied_where_all_are_integers(dtype, channels):
    """Outputs of two taps and of three, so that zeros stand among the weights: the bits of sums without them."""
    x = noise((20, 90, channels), dtype)
    x[:10, :40] = np.iinfo(dtype).max
    x[5:, 60:] = np.iinfo(dtype).min
    for size, axes in (((18, 83), (0, 1)), ((17, 71), (0, 1)), ((20, 59), (0, 1)), (50, 1), (87, 1)):
        for mode in ("linear", "cubic"):
            y = imgops.resample(x, size, axes=axes, mode=mode, antialias=True)
            sums = imgops.resample(x, size, axes=axes, mode=mode, antialias=True, dtype=np.float32)
            np.testing.assert_array_equal(y, rounded(sums, dtype))


@pytest.mark.parametrize("dtype", [*SMALL_INTEGERS, np.float32, np.float64])
@pytest.mark.parametrize("size", [(30, 21), (8, 30), (47, 9), (5, 5), (17, 60), (2, 1)])
def test_columns_of_many_rows_are_summed_from_the_first_to_the_last(dtype, size):
    """Many rows in registers, with rests of registers, then rows side by side: the bits of one axis after the other."""
    accumulator = np.float64 if dtype == np.float64 else np.float32
    for shape in ((120, 90), (120, 70, 3), (131, 67, 4), (70, 61, 5)):
        x = noise(shape, dtype)
        for mode in ("linear", "cubic"):
            options = {"mode": mode, "antialias": True}
            y = imgops.resample(x, size, axes=(0, 1), dtype=accumulator, **options)
            rows = imgops.resample(x, size[0], axes=0, dtype=accumulator, **options)
            # One element a row: no register is filled.
            for col in (0, shape[1] // 2, shape[1] - 1):
                single = imgops.resample(x[:, col : col + 1], size[0], axes=0, dtype=accumulator, **options)
                np.testing.assert_array_equal(rows[:, col : col + 1], single)
            for row in range(size[0]):
                single = imgops.resample(rows[row], size[1], axes=0, **options)
                assert y[row].tobytes() == single.tobytes()
            if np.dtype(dtype).kind in "iu":
                np.testing.assert_array_equal(imgops.resample(x, size, axes=(0, 1), **options), rounded(y, dtype))


ITEMS = ("u1", "u2", "V3", "u4", "V5", "V6", "u8", "V12", "c16", "V20")


@pytest.mark.parametrize("item", ITEMS)
def test_nearest_of_many_rows_is_indexing(item):
    """Rows from windows and from single picks, forwards and backwards, and items of every size."""
    for height, width in ((30, 70), (130, 17), (3, 40), (200, 5), (70, 33), (20, 143)):
        size = np.dtype(item).itemsize
        x = noise((height, width, size), np.uint8, width).view(item)[..., 0]
        # Elements that stand at no multiple of their size from each other.
        packed = np.zeros(x.shape, [("before", "u1"), ("value", item)])
        packed["value"] = x
        for image in (x, x[:, ::-1], x[::-1, ::2], packed["value"]):
            for columns in (width, 2 * width, 3 * width, width // 2, width * 2 // 3, width * 5 // 4, width // 4 or 1):
                picks = axis_taps(image.shape[1], columns, AxisMap(Fraction(columns, image.shape[1])), "nearest").starts
                y = imgops.resample(image, columns, axes=1, mode="nearest")
                assert y.tobytes() == image[:, picks].tobytes(), (image.shape, columns)


@pytest.mark.parametrize("item", ["u1", "u2", "u4", "u8", "c16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 32])
def test_moves_of_many_blocks_are_transposes(item, channels):
    """Patterns by windows, with rests that do not fill one, at every offset in memory."""
    for block, width in itertools.product((2, 3, 4, 5), (1, 7, 16, 33)):
        count = channels * block**2
        # Few rows do not pay for windows, unless they are long.
        height = 9 + 2048 // (width * count)
        room = noise(height * (width + 1) * count * np.dtype(item).itemsize + 1, np.uint8, width)
        x = room[1:].view(item).reshape(height, width + 1, count)[:, 1:]
        for image in (x, np.ascontiguousarray(x)):
            y = imgops.depth_to_space(image, block, mode="CRD")
            six = image.reshape(height, width, channels, block, block).transpose(0, 3, 1, 4, 2)
            assert y.tobytes() == six.tobytes(), (block, width)
            assert imgops.space_to_depth(y, block, mode="CRD").tobytes() == image.tobytes(), (block, width)
            six = image.reshape(height, width, block, block, channels).transpose(0, 2, 1, 3, 4)
            assert imgops.depth_to_space(image, block).tobytes() == six.tobytes(), (block, width)


@pytest.mark.parametrize("item", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("channels", [16, 23, 32, 37])
@pytest.mark.parametrize("block", [2, 3, 4, 5])
def test_moves_write_nothing_beside_their_rows(item, channels, block):
    """Tiles that are wider than a block or its channels end with the row, and read nothing beyond the last one."""
    for width in (1, 2, 9):
        x = noise((8, width, channels * block**2), item, width)
        six = x.reshape(8, width, channels, block, block).transpose(0, 3, 1, 4, 2)
        space = six.reshape(8 * block, width * block, channels)
        for move, image, expected in (
            (imgops.depth_to_space, x, space),
            (imgops.space_to_depth, np.ascontiguousarray(space), x),
        ):
            room = np.full((len(expected), expected.shape[1] + 2, expected.shape[2]), 7, item)
            move(image, block, mode="CRD", out=room[:, 1:-1])
            assert (room[:, [0, -1]] == 7).all(), width
            np.testing.assert_array_equal(room[:, 1:-1], expected)
            # Axes in other orders, and rows that do not follow one another.
            np.testing.assert_array_equal(move(np.asfortranarray(image), block, mode="CRD"), expected)
            np.testing.assert_array_equal(move(spaced(image), block, mode="CRD"), expected)
            wide = np.full((len(image), image.shape[1] + 1, image.shape[2]), 7, item)
            wide[:, :-1] = image
            np.testing.assert_array_equal(move(wide[:, :-1], block, mode="CRD"), expected)


@pytest.mark.parametrize("item", ["u1", "u2", "u4", "u8", "c16"])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [2, 3, 4])
def test_pieces_of_rows_write_nothing_beside_them(item, mode, block):
    """Rows in pieces, the last of them shorter or of one item, and registers wider than what is wanted of them."""
    for channels in (1, 2, 3, 5):
        step = channels * block**2 * np.dtype(item).itemsize
        piece = max(1, 8192 // step)
        for width in (2 * piece + 1, 3 * piece - 1, 2 * piece, 2 * piece - 1):
            x = noise((9, width, channels * block**2), item, width)
            if mode == "CRD":
                six = x.reshape(9, width, channels, block, block).transpose(0, 3, 1, 4, 2)
            else:
                six = x.reshape(9, width, block, block, channels).transpose(0, 2, 1, 3, 4)
            space = six.reshape(9 * block, width * block, channels)
            for move, image, expected in (
                (imgops.depth_to_space, x, space),
                (imgops.space_to_depth, np.ascontiguousarray(space), x),
            ):
                room = np.frombuffer(bytearray(b"\7" * (expected.nbytes // width * (width + 2 * block))), item)
                room = room.reshape(len(expected), -1, expected.shape[2])
                beside = (room.shape[1] - expected.shape[1]) // 2
                move(image, block, mode=mode, out=room[:, beside:-beside])
                assert room[:, beside:-beside].tobytes() == expected.tobytes(), (channels, width)
                assert set(room[:, :beside].tobytes() + room[:, -beside:].tobytes()) == {7}, (channels, width)


def test_plans_of_pictures_are_kept():
    """A call on a large picture does not make its tables again; one on a longer axis keeps nothing."""
    from imgops import resampling

    x = np.zeros((1080, 1920), np.uint8)
    before = resampling._long_plan.cache_info().hits
    for _ in range(3):
        imgops.resample(x, (540, 960))
    assert resampling._long_plan.cache_info().hits >= before + 2
    assert resampling._long_plan.cache_info().maxsize * resampling._CACHED_LENGTHS < 2**19


class Changing:
    """A number that may be another one by the next call, as a tensor may."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def test_plans_of_numbers_that_change_are_not_kept():
    number = Changing(2)
    x = np.zeros((4, 4, 16))
    assert imgops.depth_to_space(x, number).shape == (8, 8, 4)
    assert imgops.space_to_depth_grad(x, number).shape == (8, 8, 4)
    assert imgops.resample(x, (number, 3)).shape == (2, 3, 16)
    number.number = 4
    assert imgops.depth_to_space(x, number).shape == (16, 16, 1)
    assert imgops.space_to_depth_grad(x, number).shape == (16, 16, 1)
    assert imgops.resample(x, (number, 3)).shape == (4, 3, 16)


@pytest.mark.parametrize(
    ("dtype", "channels", "mode"),
    [
        (np.uint8, 4, "linear"),
        (np.uint8, 1, "cubic"),
        (np.float16, 3, "linear"),
        (np.float32, 3, "cubic"),
        (np.float64, 1, "linear"),
    ],
)
def test_large_outputs_written_past_the_caches(dtype, channels, mode):
    # Rows that begin at any place of a cache line, in tiles; more than what is written past them from on.
    width = 4099
    height = 32_000_000 // (width * channels * np.dtype(dtype).itemsize) + 2
    x = noise((height // 3, width // 2, channels), dtype)
    room = np.empty(height * width * channels + 1, dtype)
    written = room[1:].reshape(height, width, channels)
    imgops.resample(x, (height, width), mode=mode, out=written)
    # Elements with room between them are written one by one.
    plain = np.empty((height, width, channels, 2), dtype)[..., 0]
    imgops.resample(x, (height, width), mode=mode, out=plain)
    np.testing.assert_array_equal(written, plain)


def test_large_gradients_written_past_the_caches():
    gradient = noise((3, 1999, 2003), np.float32)
    written = imgops.resample_grad(gradient, (2003, 1361), data_format="NCHW")
    fresh = written.copy()
    written[...] = np.nan
    imgops.resample_grad(gradient, (2003, 1361), data_format="NCHW", out=written)
    added = np.zeros_like(written)
    imgops.resample_grad(gradient, (2003, 1361), data_format="NCHW", out=added, accumulate=True)
    assert written.nbytes > 32_000_000
    np.testing.assert_array_equal(written, added)
    np.testing.assert_array_equal(written, fresh)


@pytest.mark.parametrize(
    ("dtype", "data_format", "mode", "block"),
    [
        (np.float64, "NCHW", "DCR", 3),
        (np.float32, "NCHW", "CRD", 2),
        (np.float64, "NHWC", "DCR", 4),
        (np.uint8, "NHWC", "CRD", 3),
        (np.float64, "NHWC", "CRD", 2),
    ],
)
def test_large_moves_written_past_the_caches(dtype, data_format, mode, block):
    columns = 211
    rows = 32_000_000 // (3 * block * block * columns * np.dtype(dtype).itemsize) + 2
    x = noise((rows, columns, 3 * block * block), dtype)
    if data_format == "NCHW":
        x = np.ascontiguousarray(x.transpose(2, 0, 1))
    # Rows that begin at any place of a cache line.
    written = np.empty(x.size + 1, dtype)[1:].reshape(
        imgops.depth_to_space_shape(x.shape, block, data_format=data_format)
    )
    imgops.depth_to_space(x, block, data_format=data_format, mode=mode, out=written)
    np.testing.assert_array_equal(written, reference.depth_to_space(x, block, data_format=data_format, mode=mode))
    back = np.empty(x.size + 1, dtype)[1:].reshape(x.shape)
    imgops.space_to_depth(written, block, data_format=data_format, mode=mode, out=back)
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(("dtype", "channels"), [(np.uint8, 3), (np.float32, 3), (np.float64, 1), (np.uint16, 4)])
def test_large_nearest_written_past_the_caches(dtype, channels):
    width = 4099
    height = 32_000_000 // (width * channels * np.dtype(dtype).itemsize) + 2
    x = noise((height // 2, width // 3, channels), dtype)
    written = np.empty(height * width * channels + 1, dtype)[1:].reshape(height, width, channels)
    imgops.resample(x, (height, width), mode="nearest", out=written)
    rows = imgops.resample(np.arange(x.shape[0]), height, mode="nearest")
    columns = imgops.resample(np.arange(x.shape[1]), width, mode="nearest")
    np.testing.assert_array_equal(written, x[rows[:, None], columns])

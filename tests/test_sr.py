"""Super-resolution of arrays: the network against one evaluated step by step, tiles, dtypes, alpha, flat areas."""

import concurrent.futures
import itertools
import os
import pickle
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from imgops import reference, sr, thread_limit
from imgops.sr import Upscaler, bodies, engine, graph, numpy_network, steps, tiles

GRADES = ("best", "fast")
SCALES = (2, 3, 4)
DTYPES = (np.uint8, np.uint16, np.float32)
LUMA = np.array([0.299, 0.587, 0.114])


def white(dtype):
    return 1 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max


def as_dtype(values, dtype):
    """Values of 0 to 1 as the codes of a dtype."""
    return values.astype(dtype) if np.dtype(dtype).kind == "f" else np.rint(values * white(dtype)).astype(dtype)


def picture(height, width, channels=3, dtype=np.uint8, seed=0):
    """Slopes, edges, lines and noise, (H, W, C), or (H, W) for channels=None."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [0.5 + 0.3 * np.sin(x / (3 + index)) * np.cos(y / 5) for index in range(channels or 1)]
    values = np.stack(planes, -1)
    values[(x + 2 * y) % 17 < 2] = 0.9
    values[height // 3 : height // 2, width // 4 : width // 2] = rng.random(channels or 1)
    values[height // 2 :] += rng.normal(0, 0.05, values[height // 2 :].shape)
    values = np.clip(values, 0, 1)
    return as_dtype(values if channels else values[..., 0], dtype)


def disc(height, width, dtype=np.uint8):
    """Alpha of a disc with a soft edge, and nothing around."""
    y, x = np.mgrid[0:height, 0:width]
    return as_dtype(np.clip(height / 3 - np.hypot(y - height / 2, x - width / 2), 0, 1), dtype)


def distance(a, b):
    return np.abs(a.astype(np.float64) - b.astype(np.float64)).max()


@pytest.fixture(params=["onnxruntime", "NumPy"])
def runtime(request, monkeypatch):
    """Each of what can run the networks."""
    bodies.embedded.cache_clear()
    if request.param == "NumPy":
        monkeypatch.setattr(engine, "onnxruntime", lambda: None)
        monkeypatch.setattr(engine, "_told", True)
    else:
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    yield request.param
    bodies.embedded.cache_clear()


# ---------------------------------------------------------------------------------------------------------------------
# The network, step by step


def convolved(x, weights, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, weights.shape[2:], (1, 2))
    return np.einsum("cyxij,kcij->kyx", windows, weights, optimize=True) + bias[:, None, None]


def evaluated(model, x):
    """The output (K, H, W) in float64 of an embedded model for an input (1, h, w)."""
    values = {name: np.asarray(value) for name, value in model.initializers.items()}
    values[model.inputs[0].name] = x
    for node in model.nodes:
        given = [values[name] for name in node.inputs]
        if node.op == "Cast":
            made = given[0].astype(np.float64)
        elif node.op == "Mul":
            made = given[0] * given[1]
        elif node.op == "Conv":
            made = convolved(given[0], *given[1:])
        elif node.op == "Relu":
            made = np.maximum(given[0], 0)
        elif node.op == "Add":
            made = given[0] + given[1]
        else:
            assert node.op == "Slice"
            starts, stops, axes = (array.tolist() for array in given[1:4])
            parts = [slice(None)] * 4
            for start, stop, axis in zip(starts, stops, axes, strict=True):
                parts[axis] = slice(start, stop)
            made = given[0][tuple(parts[1:])]
        values[node.outputs[0]] = made
    return values[model.outputs[0].name]


def expected(pixels, grade, scale):
    """The enlarged picture (H, W) or (H, W, 3) in float64, before it is rounded."""
    data = (Path(sr.__file__).parent / "models" / f"{grade}_x{scale}.onnx").read_bytes()
    model = graph.read_graph(data)
    halo, skip = int(model.metadata["imgops.halo"]), model.metadata["imgops.skip"]
    values = pixels.astype(np.float64) / white(pixels.dtype)
    luma = values @ LUMA if values.ndim == 3 else values
    rotations = int(model.metadata.get("imgops.rotations", 1))
    residual = np.zeros([scale * length for length in luma.shape])
    for turns in range(0, 4, 4 // rotations):
        depth = evaluated(model, np.pad(np.rot90(luma, turns), halo, mode="edge")[None])
        answer = reference.depth_to_space(depth[None], scale, data_format="NCHW")[0, 0]
        residual += np.rot90(answer, -turns) / rotations
    enlarged = reference.resample(values, scale=(scale, scale), axes=(0, 1), mode=skip)
    enlarged = enlarged + (residual[..., None] if values.ndim == 3 else residual)
    return np.clip(enlarged, 0, 1) * white(pixels.dtype)


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("channels", [None, 3])
def test_networks_step_by_step(grade, scale, channels):
    for dtype in DTYPES:
        pixels = picture(23, 31, channels, dtype)
        result = Upscaler(grade, scale)(pixels)
        assert result.dtype == dtype
        assert result.shape == (23 * scale, 31 * scale, *pixels.shape[2:])
        tolerance = {np.uint8: 0.501, np.uint16: 1, np.float32: 1e-5}[dtype]
        assert distance(result, expected(pixels, grade, scale)) <= tolerance


@pytest.mark.parametrize("scale", SCALES)
def test_the_network_does_more_than_its_skip(scale):
    pixels = picture(40, 40)
    plain = reference.resample(pixels, scale=(scale, scale), axes=(0, 1))
    assert distance(Upscaler("best", scale)(pixels), plain) > 10


@pytest.mark.parametrize("grade", GRADES)
def test_numpy_makes_the_same_picture(grade, monkeypatch):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    for scale in SCALES:
        pixels = picture(61, 67)
        bodies.embedded.cache_clear()
        with_runtime = Upscaler(grade, scale)(pixels)
        with monkeypatch.context() as patch:
            patch.setattr(engine, "onnxruntime", lambda: None)
            patch.setattr(engine, "_told", True)
            bodies.embedded.cache_clear()
            in_numpy = Upscaler(grade, scale)(pixels)
        bodies.embedded.cache_clear()
        assert distance(with_runtime, in_numpy) <= 1
        assert (with_runtime != in_numpy).mean() < 1e-3


def test_numpy_says_once_that_it_is_slower(monkeypatch):
    monkeypatch.setattr(engine, "onnxruntime", lambda: None)
    monkeypatch.setattr(engine, "_told", False)
    bodies.embedded.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"onnxruntime is not installed.*slower; pip install 'imgops\[sr\]'"):
        Upscaler("fast")(picture(5, 5))
    bodies.embedded.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Upscaler("fast")(picture(5, 5))
    bodies.embedded.cache_clear()


def test_blas_gets_its_threads_back():
    get, put = numpy_network._blas_functions()
    before = get()
    with numpy_network.one_blas_thread(), numpy_network.one_blas_thread():
        assert get() == 1
    assert get() == before
    put(before)


@pytest.mark.parametrize("shape", [(1, 3, 3), (3, 7, 5), (5, 40, 33), (2, 3, 300)])
@pytest.mark.parametrize("side", [(1, 1), (3, 3), (3, 1), (2, 3)])
def test_convolutions_in_blocks(shape, side, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape).astype(np.float32)
    weights = rng.normal(size=(4, shape[0], *side)).astype(np.float32)
    bias = rng.normal(size=4).astype(np.float32)
    matrix = np.ascontiguousarray(weights.transpose(0, 2, 3, 1).reshape(4, -1))
    for block in (1, 2000, 2**20):
        monkeypatch.setattr(numpy_network, "_BLOCK_BYTES", block)
        result = numpy_network._convolved(x, matrix, side, bias.reshape(-1, 1))
        np.testing.assert_allclose(result, convolved(x, weights, bias), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------------------------------------------------------
# Tiles


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("channels", [None, 1, 2, 3, 4])
def test_tiles_and_threads_make_one_picture(channels):
    for dtype, scale in zip(DTYPES, SCALES, strict=True):
        pixels = picture(47, 61, channels, dtype)
        if channels in (2, 4):
            pixels[..., -1] = disc(47, 61, dtype)
        whole = Upscaler("fast", scale, tile=1000, num_threads=1)(pixels)
        for tile, num_threads in ((None, 1), (None, 2), (8, 2), (13, 1), (60, 3)):
            tiled = Upscaler("fast", scale, tile=tile, num_threads=num_threads)(pixels)
            assert distance(whole, tiled) <= (1e-5 if dtype == np.float32 else 1)


@pytest.mark.skipif("IMGOPS_CORPUS" not in os.environ, reason="IMGOPS_CORPUS names no folder of photographs")
@pytest.mark.parametrize("grade", GRADES)
def test_tiles_of_photographs(grade):
    photographs = sorted((Path(os.environ["IMGOPS_CORPUS"]) / "kodak").glob("*.png"))[::8]
    if not photographs:
        pytest.skip("the corpus has no folder kodak")
    for path, scale in zip(photographs, SCALES, strict=False):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        usual = Upscaler(grade, scale)(pixels)
        for tile in (10**6, 64):
            assert distance(Upscaler(grade, scale, tile=tile)(pixels), usual) <= 1


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1), (1, 97), (97, 1), (2, 3), (7, 5), (13, 101)])
@pytest.mark.usefixtures("runtime")
def test_sizes(size):
    for channels, scale in itertools.product((None, 4), SCALES):
        pixels = picture(*size, channels)
        result = Upscaler("fast", scale, tile=8)(pixels)
        assert result.shape[:2] == (size[0] * scale, size[1] * scale)
        assert distance(result, Upscaler("fast", scale)(pixels)) <= 1


def test_the_grid_covers_every_pixel_once():
    def reach(_axis, start, stop):
        return start - 3, stop + 3

    for height, width, side, threads in itertools.product((1, 7, 50, 513), (1, 61, 900), (None, 8, 100), (1, 2, 5)):
        seen = np.zeros((height, width), int)
        cells = tiles.grid((0, height), (0, width), reach, side, threads)
        for tile in cells:
            seen[tile.rows.start : tile.rows.stop, tile.columns.start : tile.columns.stop] += 1
            assert max(tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start) <= (side or 256)
        assert (seen == 1).all()
    assert len(tiles.grid((0, 200), (0, 100), reach, None, 2)) % 2 == 0


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("halo", [0, 3, 8])
def test_fixed_windows_cover_every_pixel_once(halo, step):
    for length in (1, 5, 32, 33, 70, 200):
        seen = np.zeros(length, int)
        cells = tiles.fixed_grid((0, length), (0, 1), (length, 1), (32, 32), halo, step)
        for span in (tile.rows for tile in cells):
            seen[span.start : span.stop] += 1
            assert span.last - span.first == 32
            assert span.first % step == 0
            assert span.first <= max(0, span.start - halo)
            assert span.last >= min(length, span.stop + halo)
        assert (seen == 1).all()


def test_bands_make_the_whole():
    for channels, scale in ((3, 2), (4, 3), (None, 4)):
        pixels = picture(53, 40, channels)
        if channels == 4:
            pixels[..., 3] = disc(53, 40)
        upscaler = Upscaler("fast", scale)
        bands, whole = upscaler.bands(pixels.shape, pixels.dtype), upscaler(pixels)
        assert bands.shape == whole.shape
        assert bands.pixel_count == whole.size
        for step in (1, 7, 50, None):
            for start, stop in bands.rows(step):
                part = pixels[slice(*bands.input_rows(start, stop))]
                assert distance(bands.band(start, stop, part), whole[start:stop]) <= 1


def test_little_memory_makes_small_tiles(monkeypatch):
    from imgops import memory

    pixels = picture(200, 150)
    whole = Upscaler("fast")(pixels)
    bands = Upscaler("fast").bands(pixels.shape, pixels.dtype)
    usual = len(bands._grid((0, 200), (0, 150)))
    for available in (None, 10**6, 10**10):
        monkeypatch.setattr(memory, "available", lambda available=available: available)
        assert (len(bands._grid((0, 200), (0, 150))) > usual) is (available is not None and available < 10**10)
        assert distance(Upscaler("fast")(pixels), whole) <= 1


def test_calls_from_several_threads_are_not_mixed():
    upscaler = Upscaler("fast", tile=16)
    pictures = [picture(40 + index, 50, seed=index) for index in range(6)]
    single = [upscaler(pixels) for pixels in pictures]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for result, alone in zip(pool.map(upscaler, pictures * 3), single * 3, strict=True):
            np.testing.assert_array_equal(result, alone)


def test_thread_limit_holds(monkeypatch):
    used = []
    run = engine.Engine.run
    monkeypatch.setattr(engine.Engine, "run", lambda self, x, count=1: used.append(count) or run(self, x, count))
    pixels = picture(20, 20)
    with thread_limit(1):
        Upscaler("fast", tile=1000, num_threads=2)(pixels)
    Upscaler("fast", tile=1000, num_threads=2)(pixels)
    assert used[0] == 1
    assert used[1] in (1, 2)


def test_no_more_threads_than_cores(monkeypatch):
    used = []
    run = engine.Engine.run
    monkeypatch.setattr(engine.Engine, "run", lambda self, x, count=1: used.append(count) or run(self, x, count))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert Upscaler("fast", tile=1000, num_threads=10**6)(picture(20, 20)).shape == (40, 40, 3)
    assert used[0] in (1, 2)


def test_progress_counts_tiles():
    for num_threads in (1, 2):
        seen = []
        upscaler = Upscaler("fast", tile=10, num_threads=num_threads)
        upscaler(picture(20, 30), progress=lambda *counts, seen=seen: seen.append(counts))
        assert seen == [(done, 6) for done in range(1, 7)]


def test_an_error_in_a_tile_is_raised():
    def stop(*_):
        raise KeyboardInterrupt

    for num_threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            Upscaler("fast", tile=10, num_threads=num_threads)(picture(20, 30), progress=stop)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("grade", GRADES)
def test_flat_pictures_stay_flat(grade, scale):
    for size in ((1, 1), (1, 5), (3, 2), (20, 17)):
        for colour in ((0, 0, 0), (255, 255, 255), (255, 0, 0), (17, 200, 99), (128, 128, 128)):
            result = Upscaler(grade, scale)(np.full((*size, 3), colour, np.uint8))
            assert distance(result, np.broadcast_to(np.uint8(colour), result.shape)) <= 1
            values = np.broadcast_to(np.float32(colour) / 255, (*size, 3))
            assert distance(Upscaler(grade, scale)(values), values[0, 0]) <= 1 / 255


def test_grey_stays_grey():
    grey = picture(30, 40, None)
    for scale in SCALES:
        result = Upscaler("best", scale)(np.stack([grey] * 3, -1))
        np.testing.assert_array_equal(result[..., 0], result[..., 1])
        np.testing.assert_array_equal(result[..., 0], result[..., 2])
        assert distance(result[..., 0], Upscaler("best", scale)(grey)) <= 1
        np.testing.assert_array_equal(Upscaler("best", scale)(grey[..., None])[..., 0], Upscaler("best", scale)(grey))


def test_dtypes_make_the_same_picture():
    pixels = picture(30, 40)
    eight = Upscaler("best")(pixels)
    sixteen = Upscaler("best")(pixels.astype(np.uint16) * 257)
    values = Upscaler("best")((pixels / 255).astype(np.float32))
    assert distance(sixteen / 257, eight) < 0.51
    assert distance(values * 255, eight) < 0.51
    assert values.min() >= 0
    assert values.max() <= 1


def test_16_bits_are_used():
    pixels = np.linspace(0, 1000, 64 * 64).reshape(64, 64).astype(np.uint16)
    assert len(np.unique(Upscaler("fast")(pixels))) > 900


def test_values_out_of_range_are_clipped():
    values = picture(20, 20, dtype=np.float32)
    wild = values.copy()
    wild[values > 0.8] = 1e30
    wild[values < 0.3] = -np.inf
    wild[3, 3] = np.inf
    np.testing.assert_array_equal(Upscaler("fast")(wild), Upscaler("fast")(np.clip(wild, 0, 1)))


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("channels", [3, 4])
def test_nan_stays_where_it_is(channels):
    values = picture(40, 40, channels, np.float32)
    if channels == 4:
        values[..., 3] = 1
    values[20, 20, 1] = np.nan
    result = Upscaler("fast", 2, tile=16)(values)
    lost = np.isnan(result)
    assert lost[40:42, 40:42, 1].all()
    assert lost.sum() <= 16
    assert not lost[..., [0, 2]].any()


def test_layouts():
    pixels = picture(30, 40)
    plain = Upscaler("fast")(pixels)
    before = pixels.copy()
    pixels.flags.writeable = False
    for view in (pixels, np.asfortranarray(pixels), pixels.transpose(2, 0, 1).copy().transpose(1, 2, 0)):
        np.testing.assert_array_equal(Upscaler("fast")(view), plain)
    np.testing.assert_array_equal(Upscaler("fast")(pixels[::-1, ::-1]), Upscaler("fast")(pixels[::-1, ::-1].copy()))
    np.testing.assert_array_equal(pixels, before)
    wide = pixels.astype(">u2") * 257
    result = Upscaler("fast")(wide)
    assert result.dtype == np.uint16
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, Upscaler("fast")(wide.astype(np.uint16)))


# ---------------------------------------------------------------------------------------------------------------------
# Alpha


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_opaque_pictures_are_as_without_alpha(channels, dtype):
    pixels = picture(30, 40, channels, dtype)
    pixels[..., -1] = white(dtype)
    colours = pixels[..., :-1] if channels == 4 else pixels[..., 0]
    for scale in SCALES:
        result = Upscaler("fast", scale)(pixels)
        assert (result[..., -1] == white(dtype)).all()
        plain = Upscaler("fast", scale)(np.ascontiguousarray(colours))
        np.testing.assert_array_equal(result[..., :-1].squeeze(), plain)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", SCALES)
def test_hidden_colours_are_not_seen(dtype, scale):
    pixels = picture(40, 50, 4, dtype)
    pixels[..., 3] = disc(40, 50, dtype)
    hidden = pixels[..., 3] == 0
    results = []
    for colour in (0, white(dtype)):
        pixels[hidden, :3] = colour
        results.append(Upscaler("best", scale)(pixels))
    np.testing.assert_array_equal(*results)
    assert not results[0][results[0][..., 3] == 0].any()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("grade", GRADES)
def test_a_disc_of_one_colour_has_no_fringe(grade, scale):
    pixels = np.zeros((40, 50, 4), np.uint8)
    pixels[..., 3] = disc(40, 50)
    pixels[pixels[..., 3] > 0, :3] = (200, 30, 90)
    result = Upscaler(grade, scale)(pixels)
    visible = result[..., 3] > 0
    assert distance(result[visible][:, :3], np.uint8([200, 30, 90])) <= 1
    # What is transparent or opaque all around stays so, and nothing rings.
    padded = np.pad(pixels[..., 3], 1, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).reshape(40, 50, 9)
    low, high = (np.kron(limit(axis=-1), np.ones((scale, scale), np.uint8)) for limit in (around.min, around.max))
    assert (result[..., 3] >= low).all()
    assert (result[..., 3] <= high).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("grade", GRADES)
def test_a_shadow_beside_a_shape_has_no_bright_line(grade, scale):
    y, x = np.mgrid[0:40, 0:40]
    cover = np.clip(20.5 - x + (y - 20) / 5, 0, 1)
    opacity = cover + (1 - cover) * 0.45
    pixels = np.zeros((40, 40, 4), np.uint8)
    pixels[..., :3] = np.rint((cover / opacity)[..., None] * [40, 97, 168])
    pixels[..., 3] = np.rint(255 * opacity)
    result = Upscaler(grade, scale)(pixels) / 255
    on_white = result[..., :3] * result[..., 3:] + 1 - result[..., 3:]
    # The shadow on white is 0.55; blue is darker but in its third channel.
    assert on_white[4:-4, 4:-4].max() < 0.75


def test_even_opacity_changes_no_colour():
    pixels = picture(30, 40, 4)
    pixels[..., 3] = 255
    opaque = Upscaler("best")(pixels)
    pixels[..., 3] = 90
    result = Upscaler("best")(pixels)
    np.testing.assert_array_equal(result[..., :3], opaque[..., :3])
    assert distance(result[..., 3], np.uint8(90)) <= 1


def test_all_transparent_is_empty():
    for dtype in DTYPES:
        pixels = picture(9, 11, 4, dtype)
        pixels[..., 3] = 0
        assert not Upscaler("fast")(pixels).any()


def test_alpha_that_is_data():
    pixels = picture(30, 40, 4)
    pixels[..., 3] = disc(30, 40)
    result = Upscaler("fast")(pixels, premultiply=False)
    np.testing.assert_array_equal(result[..., :3], Upscaler("fast")(np.ascontiguousarray(pixels[..., :3])))
    np.testing.assert_array_equal(result[..., 3], Upscaler("fast")(pixels)[..., 3])


# ---------------------------------------------------------------------------------------------------------------------
# Upscaler


def test_models_and_attributes():
    assert sr.models() == GRADES
    upscaler = Upscaler()
    assert (upscaler.model, upscaler.scale, upscaler.tile, upscaler.num_threads) == ("best", 2, None, None)
    assert repr(Upscaler("fast", 3, tile=64, num_threads=1)) == "Upscaler('fast', 3, tile=64, num_threads=1)"
    assert Upscaler("fast", np.int64(4)).scale == 4
    assert Upscaler("fast", 3.0).scale == 3


def test_pickles():
    upscaler = pickle.loads(pickle.dumps(Upscaler("fast", 3, tile=64, num_threads=1)))
    assert repr(upscaler) == "Upscaler('fast', 3, tile=64, num_threads=1)"
    pixels = picture(9, 9)
    np.testing.assert_array_equal(upscaler(pixels), Upscaler("fast", 3)(pixels))


def test_a_model_of_the_package_as_a_file(tmp_path):
    data = (Path(sr.__file__).parent / "models" / "fast_x3.onnx").read_bytes()
    (tmp_path / "mine.onnx").write_bytes(data)
    for path in (tmp_path / "mine.onnx", str(tmp_path / "mine.onnx")):
        upscaler = Upscaler(path)
        assert upscaler.scale == 3
        pixels = picture(20, 30)
        np.testing.assert_array_equal(upscaler(pixels), Upscaler("fast", 3)(pixels))
    assert os.listdir(tmp_path) == ["mine.onnx"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": "bset"}, ValueError, r"model must be 'best' or 'fast' or the path.*got 'bset'; did you mean 'best'"),
        ({"model": ""}, ValueError, r"model must be"),
        ({"model": 3}, TypeError, r"model must be .* got 3 of type int"),
        ({"model": b"best"}, TypeError, r"model must be"),
        ({"model": "no.onnx"}, FileNotFoundError, r"no\.onnx.*no existing file"),
        ({"model": Path("best")}, FileNotFoundError, r"no existing file"),
        ({"scale": 5}, ValueError, r"scale must be 2 or 3 or 4 with model 'best'; got 5"),
        ({"scale": 2.5}, ValueError, r"scale must be 2 or 3 or 4"),
        ({"scale": "2"}, TypeError, r"scale must be"),
        ({"scale": True}, TypeError, r"scale must be"),
        ({"scale": float("nan")}, ValueError, r"scale must be finite"),
        ({"tile": 7}, ValueError, r"tile must be at least 8 pixels; got 7"),
        ({"tile": 64.0}, TypeError, r"tile must be an integer"),
        ({"num_threads": 0}, ValueError, r"num_threads must be at least 1"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        Upscaler(**arguments)


@pytest.mark.parametrize(
    ("pixels", "error", "message"),
    [
        (np.zeros((4, 4), np.float64), TypeError, r"pixels must have dtype uint8, uint16, float32; got float64"),
        (np.zeros((4, 4), np.int32), TypeError, r"got int32"),
        (np.zeros((4, 4), bool), TypeError, r"got bool"),
        (np.zeros(4, np.uint8), ValueError, r"pixels must be \(H, W\) or \(H, W, C\).*got shape \(4,\)"),
        (np.zeros((1, 3, 8, 8), np.uint8), ValueError, r"one picture at a time"),
        (np.zeros((3, 8, 8), np.uint8), ValueError, r"channels last"),
        (np.zeros((0, 8, 3), np.uint8), ValueError, r"must not be empty"),
        (np.zeros((8, 8, 0), np.uint8), ValueError, r"1 to 4 channels"),
        ("text", TypeError, r"pixels"),
    ],
)
def test_wrong_pixels(pixels, error, message):
    with pytest.raises(error, match=message):
        Upscaler("fast")(pixels)


def test_wrong_options():
    with pytest.raises(TypeError, match="premultiply must be"):
        Upscaler("fast")(np.zeros((4, 4), np.uint8), premultiply=1)


def test_a_result_too_large_for_memory():
    pixels = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31, 2**31), (0, 0))
    with pytest.raises((MemoryError, ValueError)):
        Upscaler("fast", 4)(pixels)


# ---------------------------------------------------------------------------------------------------------------------
# Scales made of others


@pytest.mark.parametrize("scales", [(2, 3, 4), (4,), (2,), (3,)])
def test_the_least_product_that_is_enough(scales):
    products = {1: ()}
    for count in range(1, 7):
        for factors in itertools.combinations_with_replacement(scales, count):
            products.setdefault(int(np.prod(factors)), factors)
    for scale in (1, 1.01, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17):
        exact = Fraction(str(scale))
        best = min(product for product in products if product >= exact)
        assert steps._factors(exact, scales) == products[best]


def test_smaller_scales_come_first():
    assert [upscaler.scale for upscaler in steps.upscalers(Fraction(8), "fast")] == [2, 4]
    assert [upscaler.scale for upscaler in steps.upscalers(Fraction(3, 2), "fast")] == [2]
    assert steps.upscalers(Fraction(1), "fast") == []

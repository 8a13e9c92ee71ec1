"""The dask bridge: any chunks give the bits of the whole, lazily, in a small graph; wrong requests fail at once."""

import itertools
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.exceptions import AxisError
from oracles import BFLOAT16, assert_same_bits
from strategies import values

import imgops

da = pytest.importorskip("dask.array", reason="the bridge needs dask")
import dask  # noqa: E402

from imgops.bridges import dask as bridge  # noqa: E402

THREADS = {"scheduler": "threads", "num_workers": 2}
MODES = (
    {"mode": "nearest"},
    {"mode": "linear"},
    {"mode": "linear", "antialias": True},
    {"mode": "cubic"},
    {"mode": "cubic", "antialias": True},
    {"mode": "lanczos3", "antialias": True},
)
SCALES = (7, 1 / 7, 3.7, 1 / 3.7, 2, 0.5, 1.2, 0.9, 1, Fraction(5, 3))
LAYOUTS = {  # data_format (None: two axes), the axes that are resampled
    "2-D": ((29, 23), {}),
    "3-D": ((11, 13, 17), {"axes": (0, 1, 2)}),
    "NHWC": ((2, 23, 19, 3), {"data_format": "NHWC"}),
    "NCHW": ((2, 3, 19, 23), {"data_format": "NCHW"}),
}


def computed(array):
    return array.compute(**THREADS)


def random_chunks(rng, shape):
    """Random cuts of every axis, into one chunk to many."""
    chunks = []
    for length in shape:
        count = int(rng.integers(0, min(length, int(rng.choice([2, 4, 9])))))
        edges = sorted({0, length, *(int(edge) for edge in rng.integers(1, length + 1, count))})
        chunks.append(tuple(b - a for a, b in itertools.pairwise(edges)))
    return tuple(chunks)


def random_conventions(rng, mode, count):
    """One for all axes or one for each: names, a roi, an AxisMap."""
    names = [name for name in imgops.conventions() if mode in imgops.get_convention(name).modes]
    names.remove("tf_crop_and_resize")
    if rng.random() < 0.6:
        return str(rng.choice(names))
    row = imgops.get_convention("tf_crop_and_resize").with_roi(0.1, 0.8)
    return [[str(rng.choice(names)), row][int(rng.random() < 0.3)] for _ in range(count)]


def random_request(rng, shape, options):
    """Keyword arguments of a resample of an array of this shape: by scale, by size, by both or by AxisMaps."""
    kind = dict(MODES[rng.integers(len(MODES))])
    axes = options.get("axes", {"NHWC": (1, 2), "NCHW": (2, 3)}.get(options.get("data_format"), (0, 1)))
    scales = [SCALES[i] for i in rng.integers(len(SCALES), size=len(axes))]
    size = [max(1, int(shape[axis] * scale)) for axis, scale in zip(axes, scales, strict=True)]
    how = rng.choice(["scale", "size", "both", "maps"], p=[0.4, 0.3, 0.2, 0.1])
    if how == "maps":
        maps = [imgops.AxisMap(scale, int(rng.integers(-2, 3)), 0.25) for scale in scales]
        return {**options, **kind, "size": size, "convention": maps}
    request = {**options, **kind, "convention": random_conventions(rng, kind["mode"], len(axes))}
    if how != "scale":
        request["size"] = size if how == "size" else [max(1, n + int(rng.integers(-3, 4))) for n in size]
    if how != "size":
        request["scale"] = [max(scale, Fraction(1, shape[axis])) for axis, scale in zip(axes, scales, strict=True)]
    return request


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", range(4))
def test_random_chunks_give_the_bits_of_the_whole(layout, part):
    shape, options = LAYOUTS[layout]
    rng = np.random.default_rng([part, *layout.encode()])
    results, expected, seen = [], [], set()
    for seed in range(16):
        request = random_request(rng, shape, options)
        x = values(shape, rng.choice(["f4", "u1", "f8", "f2", "i4"]), seed)
        chunks = random_chunks(rng, shape)
        whole = imgops.resample(x, **request)
        wanted = random_chunks(rng, whole.shape) if rng.random() < 0.5 else None
        lazy = bridge.resample(da.from_array(x, chunks=chunks), **request, chunks=wanted)
        assert wanted in (None, lazy.chunks)
        results.append(lazy)
        expected.append(whole)
        seen.add(request["mode"])
    for result, whole in zip(dask.compute(*results, **THREADS), expected, strict=True):
        assert_same_bits(result, whole)
    assert len(seen) > 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_chunks_of_gradients(layout):
    shape, options = LAYOUTS[layout]
    rng = np.random.default_rng([7, *layout.encode()])
    results, expected = [], []
    for seed in range(16):
        request = random_request(rng, shape, options)
        size = request.pop("size", None)
        forward = {"size": size, **request}
        grad_output = values(imgops.resample(np.zeros(shape, "f4"), **forward).shape, rng.choice(["f4", "f2"]), seed)
        axes = options.get("axes", {"NHWC": (1, 2), "NCHW": (2, 3)}.get(options.get("data_format"), (0, 1)))
        input_size = [shape[axis] for axis in axes]
        lazy = da.from_array(grad_output, chunks=random_chunks(rng, grad_output.shape))
        results.append(bridge.resample_grad(lazy, input_size, **request))
        expected.append(imgops.resample_grad(grad_output, input_size, **request))
        # Added to something, of the same dtype or a wider one.
        out = values(shape, rng.choice([str(grad_output.dtype), "f8"]), seed + 1)
        target = da.from_array(out, chunks=random_chunks(rng, shape))
        assert bridge.resample_grad(lazy, input_size, **request, out=target, accumulate=True) is target
        results.append(target)
        expected.append(imgops.resample_grad(grad_output, input_size, **request, out=out.copy(), accumulate=True))
    for result, whole in zip(dask.compute(*results, **THREADS), expected, strict=True):
        assert_same_bits(result, whole)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW", "NCHW_VECT_C"])
def test_random_chunks_of_moves(data_format):
    rng = np.random.default_rng(list(data_format.encode()))
    results, expected = [], []
    for seed, (mode, block) in enumerate(itertools.product(("DCR", "CRD"), (1, 2, 3))):
        if data_format == "NCHW_VECT_C":
            mode, shape = "DCR", (2, 9 * 4, 5, 7, 4)
        else:
            shape = {"NHWC": (2, 5, 7, 72), "NCHW": (2, 72, 5, 7)}[data_format]
        options = {"data_format": data_format, "mode": mode}
        x = values(shape, rng.choice(["u1", "f4", "c8", "M8[s]"]) if seed else "f8", seed)
        for _ in range(4):
            space = imgops.depth_to_space(x, block, **options)
            wanted = random_chunks(rng, space.shape) if rng.random() < 0.5 else None
            lazy = da.from_array(x, chunks=random_chunks(rng, shape))
            results.append(bridge.depth_to_space(lazy, block, **options, chunks=wanted))
            expected.append(space)
            lazy = da.from_array(space, chunks=random_chunks(rng, space.shape))
            results.append(bridge.space_to_depth(lazy, block, **options))
            expected.append(x)
    for result, whole in zip(dask.compute(*results, **THREADS), expected, strict=True):
        assert_same_bits(result, whole)


@pytest.mark.parametrize("name", imgops.conventions())
@pytest.mark.parametrize("scale", [7, 1 / 7])
def test_every_convention(name, scale):
    convention = imgops.get_convention(name)
    if name == "tf_crop_and_resize":
        convention = convention.with_roi(0.2, 0.9)
    x = values((43, 37), "f4", 0)
    lazy = da.from_array(x, chunks=(11, 10))
    for mode in convention.modes:
        options = {"scale": scale, "mode": mode, "convention": convention}
        assert_same_bits(computed(bridge.resample(lazy, **options)), imgops.resample(x, **options))


@pytest.mark.parametrize("dtype", ["?", "i8", ">f4", "c8", "M8[s]", "S3", [("a", "u1"), ("b", "f4")]], ids=str)
def test_dtypes_of_nearest(dtype):
    x = np.zeros((9, 10), dtype)
    x.reshape(-1).view("u1")[:] = np.arange(x.nbytes) % 2
    lazy = da.from_array(x, chunks=4)
    for scale in (3, 0.3):
        assert_same_bits(
            computed(bridge.resample(lazy, scale=scale, mode="nearest")),
            imgops.resample(x, scale=scale, mode="nearest"),
        )


@pytest.mark.parametrize("dtype", [">f4", "c8", "c16", *([BFLOAT16] if BFLOAT16 is not None else [])], ids=str)
def test_dtypes_of_weighted_modes(dtype):
    x = values((19, 20), dtype, 0)
    lazy = da.from_array(x, chunks=7)
    for scale in (3, 0.3):
        assert_same_bits(computed(bridge.resample(lazy, scale=scale)), imgops.resample(x, scale=scale))
    wide = {"dtype": np.complex128 if np.iscomplexobj(x) else np.float64, "scale": 0.3}
    assert_same_bits(computed(bridge.resample(lazy, **wide)), imgops.resample(x, **wide))


def test_values_that_are_no_numbers_stay_where_they_are():
    x = values((40, 40), "f4", 0)
    x[[3, 19, 20, 39], [5, 20, 19, 0]] = [np.nan, np.inf, -np.inf, np.inf]
    x[5:9] = -0.0
    lazy = da.from_array(x, chunks=(10, 8))
    for scale, kind in itertools.product((0.3, 0.5, 1.7), MODES):
        with np.errstate(invalid="ignore"):
            expected = imgops.resample(x, scale=scale, **kind)
            result = computed(bridge.resample(lazy, scale=scale, **kind))
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        assert_same_bits(np.nan_to_num(result), np.nan_to_num(expected))


def test_extremes():
    x = values((31, 1), "f4", 0)
    for chunks, size in itertools.product((1, 31, (2, 1)), ((1, 1), (97, 1), (1, 5), (62, 2))):
        lazy = da.from_array(x, chunks=chunks)
        for kind in MODES:
            assert_same_bits(computed(bridge.resample(lazy, size, **kind)), imgops.resample(x, size, **kind))
    empty = bridge.resample(da.zeros((0, 5, 7, 3), chunks=2), (4, 6))
    assert computed(empty).shape == (0, 4, 6, 3)
    # Chunks of no length, in and out.
    lazy = da.from_array(x, chunks=((0, 20, 0, 11), (1,)))
    for scale in (2, 0.25):
        size = int(31 * scale)
        result = bridge.resample(lazy, scale=scale, axes=0, chunks=((0, size - 2, 0, 2), (1,)))
        assert_same_bits(computed(result), imgops.resample(x, scale=scale, axes=0))


def test_a_long_axis():
    x = values((400_001,), "f4", 0)
    lazy = da.from_array(x, chunks=70_000)
    for size in (300_007, 70_001):
        options = {"size": size, "antialias": True}
        assert_same_bits(computed(bridge.resample(lazy, **options)), imgops.resample(x, **options))


# ---------------------------------------------------------------------------------------------------------------------
# Chunks and graphs


def test_chunks_of_the_result():
    x = da.zeros((1000, 900, 3), chunks=(100, 300, 3), dtype="f4")
    assert bridge.resample(x, scale=2).chunksize == (200, 600, 3)
    assert bridge.resample(x, scale=0.5).chunksize == (50, 150, 3)
    assert bridge.resample(x, scale=0.5, chunks=(200, None, 1)).chunksize == (200, 150, 1)
    assert bridge.resample(x, scale=0.5, chunks={0: -1, -1: 2}).chunksize == (500, 150, 2)
    assert bridge.resample(x, scale=0.5, chunks="auto").numblocks == (1, 1, 1)
    assert bridge.resample(x[:, :300], scale=0.5).chunksize == (50, 150, 3)
    assert bridge.depth_to_space(x.rechunk((100, 300, 3))[..., :1].repeat(4, -1), 2).chunksize == (200, 600, 1)
    with dask.config.set({"array.chunk-size": "1MiB"}):
        large = bridge.resample(x, scale=7)
        assert max(np.prod(sizes) for sizes in itertools.product(*large.chunks)) * 4 <= 2**20
    out = da.zeros((500, 450, 3), chunks=(77, 450, 2), dtype="f4")
    assert bridge.resample(x, scale=0.5, out=out) is out
    assert out.chunks == da.zeros((500, 450, 3), chunks=(77, 450, 2)).chunks


@pytest.mark.parametrize("scale", [7, 3.7, 1.2, 1, 0.9, 0.5, 1 / 3.7, 1 / 7])
def test_graphs_are_linear_in_chunks_with_a_small_constant(scale):
    tasks, chunks = [], []
    for side in (4, 8, 16):
        x = da.zeros((100 * side, 100 * side), chunks=100, dtype="f4")
        lazy = bridge.resample(x, scale=scale, antialias=True)
        tasks.append(len(lazy.__dask_graph__()) - len(x.__dask_graph__()))
        chunks.append(max(x.npartitions, lazy.npartitions))
        for key, task in dict(lazy.__dask_graph__()).items():
            if key[0].startswith("imgops"):
                assert len(task[1] if isinstance(task[1], list) else [task[1]]) <= 9
    for count, number in zip(tasks, chunks, strict=True):
        assert count <= 2 * number


def test_a_chunk_larger_than_what_one_task_may_read_is_made_of_parts():
    x = da.zeros((1000, 1000), chunks=100, dtype="f4")
    for scale in (1, 3):
        lazy = bridge.resample(x, scale=scale, convention="asymmetric", chunks=-1)
        assert lazy.numblocks == (1, 1)
        parts = [task for key, task in dict(lazy.__dask_graph__()).items() if key[0].endswith("-parts")]
        assert len(parts) >= 100
        assert max(len(task[1]) for task in parts) <= 9


def test_only_the_chunks_that_are_read_are_computed():
    read = []

    def block(block_info=None):
        read.append(block_info[None]["chunk-location"])
        return np.zeros((10, 10), "f4")

    x = da.map_blocks(block, chunks=((10,) * 10, (10,) * 10), dtype="f4", meta=np.empty((0, 0), "f4"))
    for scale in (2, 0.4):
        read.clear()
        bridge.resample(x, scale=scale, antialias=True)[:4, :4].compute(scheduler="sync")
        # Its own chunk and the next one on each axis, each once.
        assert sorted(read) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_nothing_is_computed_before_it_is_asked_for():
    def block(_):
        raise ZeroDivisionError

    x = da.zeros((40, 40, 4), chunks=(10, 10, 4)).map_blocks(block, dtype="f8", meta=np.empty((0, 0, 0)))
    lazy = [bridge.resample(x, scale=2), bridge.resample_grad(x, (20, 20)), bridge.depth_to_space(x, 2)]
    for array in (*lazy, bridge.space_to_depth(x, 2)):
        with pytest.raises(ZeroDivisionError):
            array.compute(scheduler="sync")


def test_names_are_those_of_what_is_computed():
    x = da.zeros((40, 40), chunks=10)
    name = bridge.resample(x, scale=2).name
    assert bridge.resample(x, scale=2).name == name
    others = (
        {"scale": 3},
        {"scale": 2, "mode": "cubic"},
        {"scale": 2, "convention": "asymmetric"},
        {"scale": 2, "chunks": 7},
    )
    assert len({name, *(bridge.resample(x, **other).name for other in others)}) == 5
    moves = {bridge.space_to_depth(x[..., None], b, mode=m).name for b in (2, 4) for m in ("DCR", "CRD")}
    assert len(moves) == 4


@pytest.mark.usefixtures("keep_num_threads")
def test_tasks_have_one_thread_unless_told_otherwise(monkeypatch):
    asked = []
    resolve = imgops.threads.resolve
    monkeypatch.setattr(imgops.threads, "resolve", lambda function, n: asked.append(n) or resolve(function, n))
    x = da.zeros((40, 40, 4), chunks=(10, 10, 4), dtype="f4")
    for threads in (None, 3):
        options = {"num_threads": threads}
        for lazy in (
            bridge.resample(x, scale=2, **options),
            bridge.resample(x, scale=0.3, **options),
            bridge.resample_grad(x, (20, 20), **options),
            bridge.depth_to_space(x, 2, **options),
        ):
            asked.clear()
            lazy.compute(scheduler="sync")
            assert set(asked) == {threads or 1}


def test_in_memory_arrays_are_taken_too():
    x = values((20, 30), "f4", 0)
    assert_same_bits(computed(bridge.resample(x, scale=2)), imgops.resample(x, scale=2))


# ---------------------------------------------------------------------------------------------------------------------
# Wrong requests


def unknown(x):
    return x[x[:, 0] >= 0]


X = da.zeros((40, 30), chunks=10, dtype="f4")
REFUSED = {
    "NaN chunks": (lambda: bridge.resample(unknown(X), scale=2), ValueError, "known.*axis 0.*compute_chunk_sizes"),
    "NaN chunks of a gradient": (lambda: bridge.resample_grad(unknown(X), 9, axes=1), ValueError, "known"),
    "NaN chunks of a move": (lambda: bridge.depth_to_space(unknown(X)[..., None], 1), ValueError, "known sizes"),
    "chunks that do not add up": (lambda: bridge.resample(X, scale=2, chunks=((40, 39), 60)), ValueError, "80, 60"),
    "chunks of no length": (lambda: bridge.resample(X, scale=2, chunks=0), ValueError, "chunks must fit"),
    "chunks of less": (lambda: bridge.resample(X, scale=2, chunks=((81, -1), 60)), ValueError, "negative"),
    "unknown chunks": (lambda: bridge.resample(X, scale=2, chunks=((np.nan,), 60)), ValueError, "chunks must have"),
    "chunks of other axes": (lambda: bridge.resample(X, scale=2, chunks=(1, 2, 3)), ValueError, "one entry per axis"),
    "chunks of no axis": (lambda: bridge.resample(X, scale=2, chunks={2: 5}), AxisError, "between -2 and 1"),
    "chunks of no kind": (lambda: bridge.resample(X, scale=2, chunks="many"), ValueError, "chunks must fit"),
    "chunks of a move": (lambda: bridge.space_to_depth(X[..., None], 2, chunks=((9,), 15, 4)), ValueError, "must fit"),
    "weights of int64": (lambda: bridge.resample(X.astype("i8"), scale=2), TypeError, "weighted modes take"),
    "objects": (lambda: bridge.resample(X.astype(object), scale=2, mode="nearest"), TypeError, "fixed-size dtype"),
    "objects moved": (lambda: bridge.space_to_depth(X.astype(object)[..., None], 2), TypeError, "fixed-size dtype"),
    "gradient of integers": (lambda: bridge.resample_grad(X.astype("i4"), (4, 4)), TypeError, "grad_output must be"),
    "a dtype of no kind": (lambda: bridge.resample(X, scale=2, dtype="f2"), TypeError, "dtype must be float32"),
    "a conversion that is not": (
        lambda: bridge.resample(X.astype([("a", "f4"), ("b", "f4")]), scale=2, mode="nearest", dtype="f4"),
        TypeError, "converts to",
    ),
    "no size": (lambda: bridge.resample(X), ValueError, "size or scale is required"),
    "a mode": (lambda: bridge.resample(X, scale=2, mode="liner"), ValueError, "did you mean 'linear'"),
    "threads": (lambda: bridge.resample(X, scale=2, num_threads=0), ValueError, "num_threads must be at least 1"),
    "threads of a move": (lambda: bridge.space_to_depth(X[..., None], 2, num_threads=0), ValueError, "num_threads"),
    "odd blocks": (lambda: bridge.space_to_depth(X[..., None], 7), ValueError, "divisible by block_size = 7"),
    "out in memory": (lambda: bridge.resample(X, scale=2, out=np.zeros((80, 60), "f4")), TypeError, "dask.array.store"),
    "out of another shape": (lambda: bridge.resample(X, scale=2, out=X), ValueError, r"out must have shape \(80, 60\)"),
    "out of another dtype": (lambda: bridge.resample(X, scale=1, out=X.astype("f8")), TypeError, "out must have dtype"),
    "accumulate without out": (lambda: bridge.resample_grad(X, (9, 9), accumulate=True), ValueError, "needs out"),
    "a whole of no memory": (lambda: bridge.resample(X, (2**62, 2**20)), ValueError, "2\\*\\*63"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_requests_are_refused_when_the_graph_is_built(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_blocks_that_are_no_arrays_of_numpy_are_refused():
    class Elsewhere:
        ndim, shape, dtype = 2, (0, 0), np.dtype("f4")

        def __array_function__(self, *_):
            return NotImplemented

    x = da.zeros((4, 4), chunks=2, dtype="f4")
    x._meta = Elsewhere()
    with pytest.raises(TypeError, match=r"blocks of numpy\.ndarray; got .*Elsewhere"):
        bridge.resample(x, scale=2)


def test_blocks_that_are_not_as_declared_are_named():
    for scale in (2, 0.3):
        for block in (np.zeros((9, 10), "f4"), np.zeros((10, 10), "f8")):
            x = da.zeros((40, 40), chunks=10, dtype="f4").map_blocks(
                lambda _, block=block: block, meta=np.empty((0, 0), "f4")
            )
            with pytest.raises(ValueError, match="every block must be as its dask array declares"):
                bridge.resample(x, scale=scale).compute(scheduler="sync")


def test_a_failed_call_leaves_out_as_it_was():
    out = da.zeros((40, 30), chunks=10, dtype="f4")
    name = out.name
    for request in ({"scale": 2}, {"scale": 1, "chunks": (7, 7, 7)}, {"scale": 1, "num_threads": -1}):
        with pytest.raises(ValueError, match="must"):
            bridge.resample(X, **request, out=out)
        assert out.name == name


# ---------------------------------------------------------------------------------------------------------------------
# Elsewhere

CLUSTER = """
import numpy as np, dask.array as da, imgops
from dask.distributed import Client, LocalCluster
from imgops.bridges import dask as bridge

def main():
    rng = np.random.default_rng(0)
    x = rng.random((300, 200), dtype=np.float32)
    features = rng.random((2, 12, 30, 20), dtype=np.float32)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        lazy = da.from_array(x, chunks=(70, 60))
        roi = imgops.get_convention("tf_crop_and_resize").with_roi(0.1, 0.9)
        for request in (
            {"scale": 1 / 3.7, "antialias": True},
            {"scale": 2.5, "mode": "cubic", "convention": ["torch", imgops.AxisMap(2.5, 0.3, 0)], "size": None},
            {"size": (100, 100), "convention": roi},
        ):
            if request.get("size", 1) is None:
                request["convention"] = ["torch", "tf"]
            assert np.array_equal(bridge.resample(lazy, **request).compute(), imgops.resample(x, **request))
        grad = bridge.resample_grad(lazy, (61, 400))
        assert np.array_equal(grad.compute(), imgops.resample_grad(x, (61, 400)))
        moved = bridge.depth_to_space(da.from_array(features, chunks=(1, 5, 7, 20)), 2, data_format="NCHW")
        assert np.array_equal(moved.compute(), imgops.depth_to_space(features, 2, data_format="NCHW"))
        try:
            import ml_dtypes
        except ImportError:
            pass
        else:
            y = x.astype(ml_dtypes.bfloat16)
            lazy = bridge.resample(da.from_array(y, chunks=(70, 60)), scale=0.3)
            assert np.array_equal(lazy.compute().view("u2"), imgops.resample(y, scale=0.3).view("u2"))
    print("stopped")

if __name__ == "__main__":
    main()
"""


def test_a_cluster_of_two_processes(tmp_path):
    pytest.importorskip("distributed", reason="a cluster needs distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    result = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "stopped\n"


@pytest.mark.parametrize(
    ("script", "needs", "made"),
    [
        ("zarr_pyramid.py", "zarr", {"zarr_pyramid.png", "pyramid.zarr"}),
        ("folder_on_a_cluster.py", "distributed", {"enlarged"}),
    ],
)
def test_examples(tmp_path, script, needs, made):
    pytest.importorskip(needs, reason=f"the example needs {needs}")
    examples = Path(__file__).resolve().parent.parent / "examples"
    result = subprocess.run(
        [sys.executable, str(examples / script), str(tmp_path / "out")],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == made
    if script == "folder_on_a_cluster.py":
        names = {path.name for path in (examples / "images").glob("*.png")}
        assert {path.name for path in (tmp_path / "out" / "enlarged").iterdir()} == names
        assert f"{len(names)} pictures enlarged, 0 failed" in result.stdout


def readme_block(word):
    """The README's example of a bridge, which needs more than the README's other examples do."""
    text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    return next(code for code in re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if word in code)


def test_readme(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr", reason="the README's example reads and writes Zarr")
    monkeypatch.chdir(tmp_path)
    x = values((500, 400), "f4", 0)
    zarr.create_array("x.zarr", shape=x.shape, chunks=(90, 100), dtype="f4")[:] = x
    with dask.config.set(**THREADS):
        exec(compile(readme_block("bridges import dask"), "README.md", "exec"), {})
    assert_same_bits(zarr.open_array("small.zarr", mode="r")[:], imgops.resample(x, scale=1 / 3.7, antialias=True))

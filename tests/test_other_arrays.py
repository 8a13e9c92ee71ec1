"""Arrays that are not NumPy's own, many threads at once, and many calls: right answers, and no memory kept."""

import gc
import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from oracles import BFLOAT16, SANITIZED, assert_same_bits
from strategies import values

import imgops

X = values((5, 7, 8), "f4", 0)


class Foreign:
    """An array of no known library: DLPack, __array__ or the buffer that NumPy makes of neither."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device


class WithDlpack(Foreign):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class WithArray(Foreign):
    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype, copy=copy)


class WithBoth(WithDlpack, WithArray):
    pass


def calls(x):
    """Every public function of an array."""
    yield imgops.resample(x, scale=2)
    yield imgops.resample(x, (3, 4), mode="nearest")
    yield imgops.resample_grad(x, (9, 4))
    yield imgops.depth_to_space(x, 2)
    yield imgops.space_to_depth(x, 1)
    yield imgops.depth_to_space_grad(x, 1)
    yield imgops.space_to_depth_grad(x, 2)
    yield imgops.pixel_shuffle(x, 1)
    plan = imgops.ResamplePlan((5, 7, 8), (10, 3))
    yield plan(x)
    yield imgops.reference.resample(x, scale=2)


@pytest.mark.parametrize(
    "kind", [WithDlpack, WithArray, WithBoth, memoryview, np.ndarray.tolist], ids=lambda k: k.__name__
)
def test_anything_that_becomes_an_array(kind):
    if kind is np.ndarray.tolist:
        pairs = zip(calls(X.astype("f8").tolist()), calls(X.astype("f8")), strict=True)
    else:
        pairs = zip(calls(kind(X)), calls(X), strict=True)
    for result, expected in pairs:
        assert_same_bits(result, expected)


def test_dlpack_is_no_copy():
    x = np.zeros((4000, 1000), "f4")
    seen = []

    class Once(WithDlpack):
        def __dlpack__(self, **options):
            seen.append(self.array.ctypes.data)
            return self.array.__dlpack__(**options)

    y = imgops._checks.as_array("test", Once(x))
    assert y.ctypes.data == x.ctypes.data == seen[0]
    strided = x.T[::2, ::-1][:, ::-3]
    assert_same_bits(imgops.resample(WithDlpack(strided), (5, 5)), imgops.resample(strided, (5, 5)))


def test_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="tensors of torch")
    tensor = torch.from_numpy(X).transpose(0, 1)
    for result, expected in itertools.islice(zip(calls(tensor), calls(X.transpose(1, 0, 2)), strict=True), 7):
        assert_same_bits(result, expected)
    assert imgops._checks.as_array("test", tensor).ctypes.data == tensor.data_ptr()
    with pytest.raises(TypeError, match="requires grad"):
        imgops.resample(torch.zeros(3, requires_grad=True), 2)


@pytest.mark.skipif(BFLOAT16 is None, reason="bfloat16 needs ml_dtypes")
def test_bfloat16():
    x = X.astype(BFLOAT16)
    wide = x.astype("f4")
    for result, expected in zip(calls(x), calls(wide), strict=True):
        assert result.dtype == BFLOAT16
        assert_same_bits(result, expected.astype(BFLOAT16))


def test_memory_maps(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)
    for mode in ("r", "r+", "c"):
        mapped = np.load(path, mmap_mode=mode)
        for result, expected in zip(calls(mapped), calls(X), strict=True):
            assert_same_bits(result, expected)
            assert type(result) is np.ndarray
    out = np.lib.format.open_memmap(tmp_path / "y.npy", mode="w+", dtype="f4", shape=(10, 14, 8))
    assert imgops.resample(np.load(path, mmap_mode="r"), scale=2, out=out) is out
    out.flush()
    assert_same_bits(np.load(tmp_path / "y.npy"), imgops.resample(X, scale=2))
    assert_same_bits(np.load(path), X)
    readonly = np.load(path, mmap_mode="r")
    with pytest.raises(ValueError, match="out must be writeable"):
        imgops.resample(X, scale=1, out=readonly)


class OfCupy(Foreign):
    """As cupy has it: a conversion is refused."""

    __cuda_array_interface__ = {"shape": (5, 7, 8), "typestr": "<f4", "data": (0, False), "version": 3}  # noqa: RUF012

    def __array__(self, *_, **__):
        raise AssertionError("the array must not be asked for its values")


class OfJax(WithBoth):
    """As JAX has it: a conversion copies from the device unasked."""

    def __array__(self, *_, **__):
        raise AssertionError("the array must not be copied from its device")


ELSEWHERE = {
    "cupy": (OfCupy(X), "OfCupy on CUDA"),
    "JAX on CUDA": (OfJax(X, (2, 1)), "OfJax on CUDA 1"),
    "ROCm": (WithDlpack(X, (10, 0)), "WithDlpack on ROCm 0"),
    "Metal": (WithDlpack(X, (8, 0)), "on Metal 0"),
    "something new": (WithDlpack(X, (99, 3)), "on device type 99 3"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_arrays_on_other_devices_are_refused(name):
    x, message = ELSEWHERE[name]
    for function in (
        lambda: imgops.resample(x, scale=2),
        lambda: imgops.resample_grad(x, (9, 4)),
        lambda: imgops.depth_to_space(x, 2),
        lambda: imgops.space_to_depth(x, 1),
        lambda: imgops.ResamplePlan((5, 7, 8), (10, 3))(x),
    ):
        with pytest.raises(TypeError, match=rf"must be an array on the CPU; got .*{message}; copy it first"):
            function()


@pytest.mark.parametrize("kind", [1, 3, 11, 13])
def test_memory_that_the_cpu_reads_is_taken(kind):
    assert_same_bits(imgops.resample(WithBoth(X, (kind, 0)), scale=2), imgops.resample(X, scale=2))


def test_conversions_that_fail_are_told():
    class Broken(WithArray):
        def __array__(self, *_, **__):
            raise RuntimeError("no values today")

    with pytest.raises(TypeError, match=r"x must be an array or convertible to one; got Broken \(no values today\)"):
        imgops.resample(Broken(X), scale=2)


# ---------------------------------------------------------------------------------------------------------------------
# Many threads, many calls


def mixed_calls(rng):
    """Calls of every kind with arguments of many kinds: (function, positional, keyword)."""
    made = []
    for seed in range(40):
        shape = (*(int(n) for n in rng.integers(1, 24, 2)), int(rng.choice([1, 3, 4])))
        x = values(shape, rng.choice(["u1", "f4", "f8", "f2", "u2"]), seed)
        size = tuple(int(n) for n in rng.integers(1, 40, 2))
        for mode in ("nearest", "linear", "cubic"):
            convention = str(rng.choice(["half_pixel", "align_corners", "torch", "asymmetric"]))
            options = {"mode": mode, "convention": convention, "num_threads": int(rng.integers(1, 3))}
            made.append((imgops.resample, (x, size), options))
            grad = values((*size, shape[2]), "f4", seed)
            made.append((imgops.resample_grad, (grad, shape[:2]), options))
        depth = values((*shape[:2], shape[2] * 4), "f4", seed)
        made.append((imgops.depth_to_space, (depth, 2), {"mode": str(rng.choice(["DCR", "CRD"]))}))
        made.append((imgops.space_to_depth, (imgops.depth_to_space(depth, 2), 2), {}))
        made.append((imgops.resample, (x, (3, 5)), {"mode": "linear", "antialias": True}))
        plan = imgops.ResamplePlan(shape, (7, 9))
        made.append((plan, (x,), {}))
        made.append((plan.grad, (values((7, 9, shape[2]), "f4", 0),), {}))
    large = values((300, 400, 3), "f4", 0)
    made.append((imgops.resample, (large, (450, 600)), {}))
    made.append((imgops.resample_grad, (large, (100, 150)), {}))
    return made


def test_sixteen_threads_at_once():
    made = mixed_calls(np.random.default_rng(0))
    expected = [function(*arguments, **options) for function, arguments, options in made]
    start = threading.Barrier(16)

    def work(seed):
        order = np.random.default_rng(seed).permutation(len(made))
        start.wait()
        for number in order:
            function, arguments, options = made[number]
            assert_same_bits(function(*arguments, **options), expected[number])
        return len(order)

    for kept in (imgops.resampling._short_plan, imgops.resampling._long_plan):
        kept.cache_clear()
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(16))) == 16 * len(made)


@pytest.mark.skipif(SANITIZED, reason="the address sanitizer has memory of its own")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc/self/statm")
def test_many_calls_leave_memory_flat():
    # A longer run has more of them: python tests/many_calls.py 100000
    code = Path(__file__).with_name("many_calls.py")
    result = subprocess.run(
        [sys.executable, str(code), "6000"], capture_output=True, text=True, check=False, timeout=280
    )
    assert result.returncode == 0, result.stderr
    growth, objects = map(float, result.stdout.split())
    assert growth < 4, "MB kept"
    assert objects < 500, "objects kept"
    gc.collect()

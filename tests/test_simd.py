"""Instruction-set levels: each gives the same bits, a wrong or unsupported one is refused at import."""

import hashlib
import itertools
import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

LEVELS = ("baseline", "v3", "v4")


def without_nans(array):
    """NaN as one NaN: its sign and payload are the processor's and the compiler's affair."""
    return np.where(np.isnan(array), array.dtype.type(np.nan), array)


def digests():
    """Hash of many results by name: every kernel family, dtype and width class."""
    sys.path.insert(0, str(Path(__file__).parent))
    from strategies import COMPLEX, FLOATS, INTEGERS, dtype_name, values

    import imgops

    results = {}

    def add(name, array):
        results.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(array).tobytes())

    for dtype in INTEGERS + FLOATS + COMPLEX:
        word = dtype_name(dtype)
        for (h, w), channels in itertools.product(((5, 7), (9, 16), (3, 67)), (1, 2, 3, 4, 16)):
            x = values((h, w, channels), dtype, h * w + channels)
            nchw = np.ascontiguousarray(x.transpose(2, 0, 1))
            for size in ((h, 2 * w), (2 * h, 2 * w), (3 * h, w), (h // 2, w - 3)):
                add(f"linear {word}", imgops.resample(x, size))
                add(f"linear {word} NCHW", imgops.resample(nchw, size, data_format="NCHW"))
                add(f"antialias {word}", imgops.resample(x, size, antialias=True))
                add(f"nearest {word}", imgops.resample(x, size, mode="nearest"))
                add(f"cubic {word}", imgops.resample(x, size, mode="cubic"))
            add(f"lanczos3 {word}", imgops.resample(x, (h + 2, w // 2), mode="lanczos3", antialias=True))
            add(f"linear {word} scales", imgops.resample(x, scale=(1.7, Fraction(3, 7))))
            if np.dtype(dtype) not in INTEGERS:
                for size in ((2 * h, 2 * w), (h // 2, w // 3), (h + 2, w - 1)):
                    for mode in ("linear", "nearest"):
                        add(f"grad {mode} {word}", imgops.resample_grad(x, size, mode=mode))
                        out = np.resize(x, (*size, channels))
                        imgops.resample_grad(x, size, mode=mode, out=out, accumulate=True)
                        add(f"grad accumulate {mode} {word}", out)
            for block in (2, 3, 4):
                depth = np.resize(x, (h, w, channels * block**2))
                for mode in ("DCR", "CRD"):
                    space = imgops.depth_to_space(depth, block, mode=mode)
                    add(f"moves {word}", space)
                    add(f"moves {word}", imgops.space_to_depth(space, block, mode=mode))
                    deep = np.resize(x, (channels * block**2, h, w))
                    add(f"moves {word}", imgops.depth_to_space(deep, block, data_format="NCHW", mode=mode))
    # Every half and bfloat16, and floats about their ties, through the converters.
    bits = np.arange(2**16, dtype=np.uint16)
    halves = bits.view(np.float16)
    add("every float16", without_nans(imgops.resample(halves, 2**16 - 1, convention="asymmetric", scale=1)))
    add("every float16", without_nans(imgops.resample(halves.reshape(256, 256), (511, 257))))
    if FLOATS[-1].itemsize == 2:
        bfloats = bits.view(FLOATS[-1]).reshape(256, 256)
        add("every bfloat16", without_nans(imgops.resample(bfloats, (511, 257))))
    return {name: digest.hexdigest() for name, digest in sorted(results.items())}


def run(level, code=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "IMGOPS_SIMD": level}
    command = [sys.executable, "-c", code] if code else [sys.executable, __file__]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


if __name__ == "__main__":
    np.seterr(all="ignore")
    for name, digest in digests().items():
        print(digest, name)
    sys.exit()

import pytest  # noqa: E402

import imgops  # noqa: E402


def processor_has(level):
    """What Linux says of the processor, or None where it says nothing."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return level == "baseline"
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return None
    v3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
    return {"baseline": set(), "v3": v3, "v4": v3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}[
        level
    ] <= flags


@pytest.fixture(scope="module")
def baseline():
    done = run("baseline")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("level", LEVELS[1:])
def test_every_level_gives_the_bits_of_the_lowest(level, baseline):
    done = run(level)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1]
        assert reason.startswith("RuntimeError"), done.stderr
        assert not (processor_has(level) and "not supported" in reason), reason
        pytest.skip(reason)
    different = [
        line.split(" ", 1)[1] for line, other in zip(done.stdout.splitlines(), baseline, strict=True) if line != other
    ]
    assert not different


@pytest.mark.parametrize("level", LEVELS)
def test_the_level_asked_for_is_the_level_used(level):
    done = run(level, "import imgops; print(imgops.simd_level())")
    if done.returncode:
        assert "RuntimeError" in done.stderr
        assert level in done.stderr
        assert level != "baseline"
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.stdout.strip() == level


@pytest.mark.parametrize("level", ["v9", "avx2", "V3", "native"])
def test_an_unknown_level_is_refused_at_import(level):
    done = run(level, "import imgops")
    assert done.returncode
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError")
    assert level in last
    assert all(name in last for name in imgops.show_config("dicts")["simd_levels_built"])


def test_the_default_is_the_best_the_processor_has():
    if os.environ.get("IMGOPS_SIMD"):
        assert imgops.simd_level() == os.environ["IMGOPS_SIMD"]
        return
    works = [level for level in LEVELS if run(level, "import imgops").returncode == 0]
    assert imgops.simd_level() in works

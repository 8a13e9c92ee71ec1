"""imgops.interfaces.torch against loops over torch's documented formulas; torch itself is not needed."""

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest

from imgops.interfaces import torch

MODES_OF_RANK = {
    3: ["nearest", "nearest-exact", "linear", "area"],
    4: ["nearest", "nearest-exact", "bilinear", "bicubic", "lanczos", "area"],
    5: ["nearest", "nearest-exact", "trilinear", "area"],
}
CORNERED = ("linear", "bilinear", "trilinear", "bicubic")


def options_of(mode):
    return {"mode": mode, "antialias": True} if mode == "lanczos" else {"mode": mode}


def test_torch_is_not_imported():
    code = "import sys; import imgops.interfaces.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_signatures():
    parameters = ["size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias"]
    assert list(inspect.signature(torch.interpolate).parameters) == ["input", *parameters]
    assert list(inspect.signature(torch.interpolate_grad).parameters) == ["grad_output", "input_size", *parameters]
    defaults = [parameter.default for parameter in inspect.signature(torch.interpolate).parameters.values()][1:]
    assert defaults == [None, None, "nearest", None, None, False]
    assert list(inspect.signature(torch.pixel_shuffle).parameters) == ["input", "upscale_factor"]
    assert list(inspect.signature(torch.pixel_unshuffle).parameters) == ["input", "downscale_factor"]


@pytest.mark.parametrize("lead", [(), (2,), (0,), (2, 3)])
def test_pixel_shuffle(lead):
    c, h, w, r = 2, 3, 5, 3
    x = np.arange(math.prod(lead) * c * r * r * h * w, dtype=np.int16).reshape(*lead, c * r * r, h, w)
    y = torch.pixel_shuffle(x, r)
    assert y.shape == (*lead, c, h * r, w * r)
    for channel, i, j in np.ndindex(c, r, r):
        np.testing.assert_array_equal(y[..., channel, i::r, j::r], x[..., (channel * r + i) * r + j, :, :])
    np.testing.assert_array_equal(torch.pixel_unshuffle(y, r), x)


@pytest.mark.parametrize(
    ("function", "error", "shape", "factor", "words"),
    [
        (torch.pixel_shuffle, ValueError, (4, 4), 2, "at least 3 axes"),
        (torch.pixel_shuffle, ValueError, (4, 2, 2), 0, "upscale_factor must be at least 1"),
        (torch.pixel_shuffle, TypeError, (4, 2, 2), 2.0, "upscale_factor must be an integer"),
        (torch.pixel_shuffle, TypeError, (4, 2, 2), True, "upscale_factor must be an integer"),
        (torch.pixel_shuffle, ValueError, (1, 6, 2, 2), 2, r"upscale_factor\*\*2 = 4; input has shape \(N=1, C=6"),
        (torch.pixel_unshuffle, ValueError, (4, 4), 2, "at least 3 axes"),
        (torch.pixel_unshuffle, ValueError, (4, 2, 2), -1, "downscale_factor must be at least 1"),
        (torch.pixel_unshuffle, ValueError, (1, 4, 3), 2, r"downscale_factor = 2; input has shape \(C=1, H=4, W=3"),
    ],
)
def test_errors_of_pixel_shuffle(function, error, shape, factor, words):
    with pytest.raises(error, match=words):
        function(np.zeros(shape), factor)


def step(n, m, scale):
    """The float32 step of UpSample.h."""
    return np.float32(n) / np.float32(m) if scale is None else np.float32(1 / scale)


def nearest_index(o, n, m, scale, exact):
    position = (np.float32(o) + np.float32(0.5 if exact else 0)) * step(n, m, scale)
    return min(math.floor(position), n - 1)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("scale", [None, 0.55, 1.1, 1.7, 2.1, 3.0])
def test_nearest(mode, scale):
    for n in [2, 3, 5, 8, 13, 41]:
        sizes = [1, 2, 3, 7, 16, 41] if scale is None else [math.floor(n * scale)]
        for m in sizes:
            chosen = {"size": m} if scale is None else {"scale_factor": scale}
            expected = [nearest_index(o, n, m, scale, mode == "nearest-exact") for o in range(m)]
            result = torch.interpolate(np.arange(n, dtype=np.float64)[None, None], mode=mode, **chosen)
            assert result[0, 0].tolist() == expected, (n, m)
            g = np.arange(1.0, m + 1)
            sums = np.zeros(n)
            np.add.at(sums, expected, g)
            np.testing.assert_array_equal(
                torch.interpolate_grad(g[None, None], (1, 1, n), mode=mode, **chosen)[0, 0], sums
            )


@pytest.mark.parametrize("align_corners", [None, False, True])
@pytest.mark.parametrize("scale", [None, 0.55, 1.3, 2.6])
def test_linear(align_corners, scale):
    for n in [2, 3, 5, 8, 13]:
        for m in [1, 2, 3, 7, 16] if scale is None else [math.floor(n * scale)]:
            if align_corners:
                positions = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
            else:
                positions = (np.arange(m) + 0.5) * (n / m if scale is None else 1 / scale) - 0.5
            chosen = {"size": m} if scale is None else {"scale_factor": scale}
            ramp = np.arange(n, dtype=np.float64)[None, None]
            result = torch.interpolate(ramp, mode="linear", align_corners=align_corners, **chosen)[0, 0]
            if n != m:
                np.testing.assert_allclose(result, np.clip(positions, 0, n - 1), rtol=0, atol=1e-13)
            else:
                np.testing.assert_array_equal(result, ramp[0, 0])  # copied, whatever the scale


def test_the_scale_is_used_as_given_unless_recomputed():
    ramp = np.arange(10.0)[None, None]
    given = [0.409, 2.227, 4.045, 5.864, 7.682]
    np.testing.assert_allclose(torch.interpolate(ramp, scale_factor=0.55, mode="linear")[0, 0], given, atol=5e-4)
    recomputed = torch.interpolate(ramp, scale_factor=0.55, mode="linear", recompute_scale_factor=True)
    np.testing.assert_allclose(recomputed[0, 0], [0.5, 2.5, 4.5, 6.5, 8.5], atol=1e-14)


@pytest.mark.parametrize(
    ("n", "factor", "m"),
    # Floors of float64 products: 10 * 0.3 is 3, 10 * 0.29 is 2.9, 3 * 1.1 is 3.3000000000000003, 100 * 0.29 is
    # 28.999999999999996, 100 * float32(0.29) is 28.99999916553497.
    [
        (10, 0.3, 3),
        (10, 0.29, 2),
        (3, 1.1, 3),
        (100, 0.29, 28),
        (100, np.float32(0.29), 28),
        (100, np.float32(0.7), 69),
    ],
)
def test_sizes_are_floors_of_binary_products(n, factor, m):
    assert torch.interpolate(np.zeros((1, 1, n)), scale_factor=factor).shape == (1, 1, m)
    assert torch.interpolate_grad(np.zeros((1, 1, m)), (1, 1, n), scale_factor=factor).shape == (1, 1, n)


def area_loop(x, size):
    """The adaptive mean over the last axes, window by window."""
    result = np.zeros((*x.shape[:2], *size))
    for at in np.ndindex(*size):
        window = tuple(slice(o * n // m, -(-(o + 1) * n // m)) for o, n, m in zip(at, x.shape[2:], size, strict=True))
        result[(..., *at)] = x[(..., *window)].mean(axis=tuple(range(2, x.ndim)))
    return result


@pytest.mark.parametrize(
    ("shape", "size"), [((7,), (3,)), ((3,), (7,)), ((5, 8), (2, 3)), ((6, 4), (13, 4)), ((5, 3, 7), (2, 4, 3))]
)
def test_area(shape, size):
    random = np.random.default_rng(1)
    x, g = random.standard_normal((2, 3, *shape)), random.standard_normal((2, 3, *size))
    result = torch.interpolate(x, size, mode="area")
    np.testing.assert_allclose(result, area_loop(x, size), rtol=0, atol=1e-14)
    gradient = torch.interpolate_grad(g, x.shape, size, mode="area")
    assert np.vdot(result, g) == pytest.approx(np.vdot(x, gradient), rel=1e-13)
    narrow = torch.interpolate(x.astype(np.float16), size, mode="area")
    assert narrow.dtype == np.float16
    np.testing.assert_allclose(narrow, result, atol=4e-3)
    # The scale finds the size only.
    np.testing.assert_array_equal(
        torch.interpolate(x, mode="area", scale_factor=0.7),
        torch.interpolate(x, [math.floor(n * 0.7) for n in shape], mode="area"),
    )


def test_area_keeps_infinities_to_their_windows():
    x = np.array([1.0, np.inf, -np.inf, np.nan, 2, 4])[None, None]
    np.testing.assert_array_equal(torch.interpolate(x, 3, mode="area")[0, 0], [np.inf, np.nan, 3])


@pytest.mark.parametrize("ndim", [3, 4, 5])
def test_the_gradients_are_adjoint(ndim):
    random = np.random.default_rng(2)
    shape, size = (7, 5, 4)[: ndim - 2], (3, 11, 6)[: ndim - 2]
    factors = (0.6, 1.3, 2.05)[: ndim - 2]
    for mode in MODES_OF_RANK[ndim]:
        for align in (None, True) if mode in CORNERED else (None,):
            for antialias in (False, True) if mode in ("bilinear", "bicubic") else (mode == "lanczos",):
                for given in ({"size": size}, {"scale_factor": factors}):
                    call = {"mode": mode, "align_corners": align, "antialias": antialias, **given}
                    x = random.standard_normal((2, 3, *shape))
                    y = torch.interpolate(x, **call)
                    g = random.standard_normal(y.shape)
                    gradient = torch.interpolate_grad(g, x.shape, **call)
                    assert np.vdot(y, g) == pytest.approx(np.vdot(x, gradient), rel=1e-12), call


def test_antialiased_filters():
    # Half of the length: triangles of 1/8, 3/8, 3/8, 1/8, and at the edges what is left of them of 3/7, 3/7, 1/7.
    x = np.broadcast_to(np.array([0.0, 0, 8, 0, 0, 0]), (1, 1, 2, 6))
    result = torch.interpolate(x, (2, 3), mode="bilinear", antialias=True)
    np.testing.assert_allclose(result[0, 0, 0], [8 / 7, 3, 0], atol=1e-15)
    # Keys's filter with -1/2: weights -3/256, -9/256, 29/256, 111/256 and mirrored.
    x = np.broadcast_to(np.eye(16)[8], (1, 1, 2, 16))
    result = torch.interpolate(x, (2, 8), mode="bicubic", antialias=True)[0, 0, 0]
    np.testing.assert_allclose(result[2:7], np.array([-3, 29, 111, -9, 0]) / 256, atol=1e-15)
    # With corners aligned and four samples of seven, outputs are 2 apart, the first one at 1/2.
    x = np.broadcast_to(np.eye(7)[2], (1, 1, 4, 7))
    result = torch.interpolate(x, (4, 4), mode="bilinear", antialias=True, align_corners=True)[0, 0, 0]
    np.testing.assert_allclose(result, [1 / 7, 3 / 8, 0, 0], atol=1e-15)


def test_cubic_has_another_coefficient_without_antialias():
    # Weights -27, 225, 67 and -9 of 256 at a quarter of the way.
    x = np.broadcast_to(np.eye(8)[3], (1, 1, 1, 8))
    result = torch.interpolate(x, (1, 16), mode="bicubic")[0, 0, 0]
    np.testing.assert_allclose(result[3:11], np.array([-9, -27, 67, 225, 225, 67, -27, -9]) / 256, atol=1e-15)


def test_uint8_cuts_overshoots_off_between_its_passes():
    x = np.zeros((1, 1, 8, 8), np.uint8)
    x[..., 4:, :4] = 255
    wide = torch.interpolate(x, (8, 16), mode="bicubic")
    assert wide.dtype == np.uint8
    np.testing.assert_array_equal(
        torch.interpolate(x, (16, 16), mode="bicubic"), torch.interpolate(wide, (16, 16), mode="bicubic")
    )


@pytest.mark.parametrize("ndim", [3, 4, 5])
def test_types(ndim):
    every = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"]
    floats = ["float16", "float32", "float64"]
    for mode in MODES_OF_RANK[ndim]:
        options = options_of(mode)
        bytes_too = mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "lanczos")
        allowed = ["uint8", *floats] if bytes_too else floats
        if "antialias" in options:
            allowed.remove("float16")
        shape = (1, 2, *(4,) * (ndim - 2))
        for dtype in every:
            x = np.ones(shape, dtype)
            if dtype in allowed:
                assert torch.interpolate(x, 3, **options).dtype == x.dtype
            else:
                with pytest.raises(TypeError, match=r"input must have dtype .*convert it"):
                    torch.interpolate(x, 3, **options)
            if dtype in allowed and dtype in floats:
                assert torch.interpolate_grad(x, (1, 2, *(3,) * (ndim - 2)), 4, **options).dtype == x.dtype
            else:
                with pytest.raises(TypeError, match=r"grad_output must have dtype .*convert it"):
                    torch.interpolate_grad(x, (1, 2, *(3,) * (ndim - 2)), 4, **options)


def test_bfloat16_and_big_endian():
    bfloat16 = pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes").bfloat16
    x = np.arange(6.0).reshape(1, 1, 6)
    for mode in MODES_OF_RANK[3]:
        assert torch.interpolate(x.astype(bfloat16), 4, mode=mode).dtype == bfloat16
        assert torch.interpolate_grad(x.astype(bfloat16), (1, 1, 4), 6, mode=mode).dtype == bfloat16
        swapped = torch.interpolate(x.astype(">f8"), 4, mode=mode)
        np.testing.assert_array_equal(swapped, torch.interpolate(x, 4, mode=mode))


def test_arguments_are_left_as_they_are():
    x = np.arange(24.0).reshape(1, 1, 4, 6)[..., ::-1]
    x.flags.writeable = False
    for mode in MODES_OF_RANK[4]:
        result = torch.interpolate(x, (4, 6), **options_of(mode))
        assert not np.shares_memory(result, x)
        np.testing.assert_allclose(result, x, atol=1e-14)


ERRORS = [
    (ValueError, {}, "size or scale_factor is required"),
    (ValueError, {"size": 3, "scale_factor": 2}, "only one of size and scale_factor"),
    (ValueError, {"size": (3,)}, "size must be 2 integers"),
    (ValueError, {"size": (0, 3)}, "size must be at least 1"),
    (TypeError, {"size": (2.0, 2.0)}, "size must be an integer"),
    (TypeError, {"size": 2.0}, "size must be an integer"),
    (ValueError, {"scale_factor": (2.0,)}, "one number per spatial axis, 2"),
    (ValueError, {"scale_factor": 0.1}, "at least one sample on every axis"),
    (ValueError, {"scale_factor": -1.0}, "scale_factor must be positive"),
    (ValueError, {"scale_factor": math.inf}, "scale_factor must be finite"),
    (ValueError, {"scale_factor": math.nan}, "scale_factor must be finite"),
    (ValueError, {"scale_factor": 1e300}, r"2\*\*63"),
    (ValueError, {"scale_factor": 10**400}, r"2\*\*63"),
    (TypeError, {"scale_factor": "2"}, "scale_factor must be an int"),
    (ValueError, {"size": 3, "recompute_scale_factor": True}, "recompute_scale_factor=True needs scale_factor"),
    (TypeError, {"scale_factor": 2, "recompute_scale_factor": 1}, "recompute_scale_factor must be True or False"),
    (ValueError, {"size": 3, "align_corners": False}, "align_corners is defined for the modes 'linear'"),
    (ValueError, {"size": 3, "mode": "area", "align_corners": True}, "align_corners is defined for"),
    (TypeError, {"size": 3, "mode": "bilinear", "align_corners": 1}, "align_corners must be True or False"),
    (ValueError, {"size": 3, "antialias": True}, "antialias=True is defined for"),
    (ValueError, {"size": 3, "mode": "area", "antialias": True}, "antialias=True is defined for"),
    (TypeError, {"size": 3, "mode": "bilinear", "antialias": 1}, "antialias must be True or False"),
    (ValueError, {"size": 3, "mode": "lanczos"}, "antialias=True is required; got antialias=False with mode='lanczos'"),
    (ValueError, {"size": 3, "mode": "lanczos", "antialias": True, "align_corners": True}, "needs align_corners=False"),
    (ValueError, {"size": 3, "mode": "linear"}, r"mode='linear' needs \w+ of \(N, C, W\); got shape \(1, 1, 4, 4\)"),
    (ValueError, {"size": 3, "mode": "trilinear"}, r"needs \w+ of \(N, C, D, H, W\)"),
    (ValueError, {"size": 3, "mode": "cubic"}, "mode must be 'nearest', 'nearest-exact', 'linear'.*'bicubic'"),
    (TypeError, {"size": 3, "mode": None}, "mode must be"),
]


@pytest.mark.parametrize(("error", "options", "words"), ERRORS, ids=lambda value: str(value)[:60])
def test_errors(error, options, words):
    x = np.ones((1, 1, 4, 4), np.float32)
    with pytest.raises(error, match=f"torch.interpolate: .*{words}"):
        torch.interpolate(x, **options)
    with pytest.raises(error, match=f"torch.interpolate_grad: .*{words}"):
        torch.interpolate_grad(x, (1, 1, 4, 4), **options)


@pytest.mark.parametrize(
    ("shape", "mode", "allowed"),
    [
        ((0, 1, 4, 4), "nearest", True),
        ((0, 1, 4, 4), "area", True),
        ((1, 0, 4, 4), "nearest", False),
        ((1, 0, 4, 4), "bilinear", False),
        ((1, 0, 4, 4), "area", True),
        ((1, 1, 0, 4), "nearest", False),
        ((1, 1, 4, 0), "area", False),
        ((4, 4), "nearest", False),
        ((1, 1, 1, 1, 1, 1), "nearest", False),
    ],
)
def test_shapes(shape, mode, allowed):
    if allowed:
        assert torch.interpolate(np.zeros(shape), 3, mode=mode).shape == (*shape[:2], 3, 3)
        assert torch.interpolate_grad(np.zeros((*shape[:2], 3, 3)), shape, 3, mode=mode).shape == shape
    else:
        with pytest.raises(ValueError, match=r"must not be empty|needs input of"):
            torch.interpolate(np.zeros(shape), 3, mode=mode)


def test_errors_of_the_gradient():
    g = np.zeros((1, 2, 3, 3))
    with pytest.raises(ValueError, match=r"grad_output must have the forward's output shape \(1, 2, 3, 4\)"):
        torch.interpolate_grad(g, (1, 2, 5, 5), (3, 4))
    with pytest.raises(ValueError, match=r"needs input_size of .*; got shape \(5, 5\)"):
        torch.interpolate_grad(g, (5, 5), 3)
    with pytest.raises(ValueError, match="input_size must have no negative length"):
        torch.interpolate_grad(g, (1, 2, -5, 5), 3)
    with pytest.raises(TypeError, match="input_size must be an integer"):
        torch.interpolate_grad(g, (1, 2, 5.0, 5), 3)

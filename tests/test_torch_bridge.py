"""The torch bridge: the bits of the NumPy functions, right derivatives of every order, compiled, exported, trained."""

import itertools
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from oracles import assert_same_bits

import imgops

torch = pytest.importorskip("torch", reason="the bridge needs torch")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.nn import functional  # noqa: E402

from imgops.bridges import torch as bridge  # noqa: E402

OPS = torch.ops.imgops
NCHW = {"data_format": "NCHW"}
ROI = imgops.get_convention("tf_crop_and_resize").with_roi(0.1, 0.75)
# Every kind of argument that a resampling has.
REQUESTS = {
    "scale": {"scale": 2, **NCHW},
    "a scale per axis": {"scale": (Fraction(3, 2), 0.6), **NCHW},
    "size": {"size": (7, 4), **NCHW},
    "size and scale": {"size": (7, 4), "scale": 1.7, **NCHW},
    "axes": {"size": (3, 9), "axes": (1, 3)},
    "one axis": {"size": 9, "axes": -1, "mode": "cubic"},
    "NHWC": {"scale": 1.5},
    "every axis": {"size": (3, 2, 4, 9)},
    "nearest": {"size": (7, 4), "mode": "nearest", "rounding": "ceil", **NCHW},
    "antialias": {"scale": 0.4, "antialias": True, "mode": "lanczos3", **NCHW},
    "convention": {"size": (9, 5), "convention": "align_corners", **NCHW},
    "a convention per axis": {"size": (9, 5), "convention": ("torch", ROI), **NCHW},
    "AxisMap": {"size": (9, 5), "convention": imgops.AxisMap(Fraction(7, 5), 0.2, 0.1), **NCHW},
    "AxisMap alone": {"axes": (2, 3), "convention": (imgops.AxisMap(2), imgops.AxisMap(0.5))},
}
SHAPE = (2, 3, 5, 6)


def double(shape=SHAPE, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def as_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view(pytest.importorskip("ml_dtypes").bfloat16)
    return tensor.detach().numpy()


def gradient_request(request):
    """The same request of resample_grad, for an input of SHAPE."""
    axes = request.get("axes", (2, 3) if request.get("data_format") == "NCHW" else (1, 2))
    if len(np.atleast_1d(request.get("size", 0))) == 4:
        axes = (0, 1, 2, 3)
    rest = {name: value for name, value in request.items() if name not in ("size", "data_format", "axes")}
    return {"input_size": [SHAPE[axis] for axis in np.atleast_1d(axes)], "axes": axes, **rest}


@pytest.mark.parametrize("name", REQUESTS)
def test_bits_of_resample_and_its_gradient(name):
    request = REQUESTS[name]
    for dtype in (torch.float32, torch.float64):
        x = double().to(dtype)
        expected = imgops.resample(as_numpy(x), **request)
        assert_same_bits(as_numpy(bridge.resample(x, **request)), expected)
        g = torch.from_numpy(expected)
        grad = gradient_request(request)
        assert_same_bits(as_numpy(bridge.resample_grad(g, **grad)), imgops.resample_grad(expected, **grad))


@pytest.mark.parametrize("name", REQUESTS)
def test_gradcheck_of_resample(name):
    request = REQUESTS[name]
    x = double()
    assert gradcheck(lambda t: bridge.resample(t, **request), x)
    assert gradgradcheck(lambda t: bridge.resample(t, **request), x)
    g = bridge.resample(x, **request).detach().requires_grad_()
    grad = gradient_request(request)
    assert gradcheck(lambda t: bridge.resample_grad(t, **grad), g)
    assert gradgradcheck(lambda t: bridge.resample_grad(t, **grad), g)


MOVES = [
    (data_format, mode, block)
    for data_format, mode, block in itertools.product(("NHWC", "NCHW", "NCHW_VECT_C"), ("DCR", "CRD"), (1, 2, 3))
    if (data_format, mode) != ("NCHW_VECT_C", "CRD")
]


def depth_shape(data_format, block):
    channels = 2 * block**2
    return {"NHWC": (2, 3, 2, channels), "NCHW": (2, channels, 3, 2), "NCHW_VECT_C": (1, channels, 3, 2, 4)}[
        data_format
    ]


@pytest.mark.parametrize(("data_format", "mode", "block"), MOVES)
def test_moves(data_format, mode, block):
    options = {"data_format": data_format, "mode": mode}
    x = double(depth_shape(data_format, block))
    y = bridge.depth_to_space(x, block, **options)
    assert_same_bits(as_numpy(y), imgops.depth_to_space(as_numpy(x), block, **options))
    assert torch.equal(bridge.space_to_depth(y, block, **options), x)
    assert torch.equal(bridge.depth_to_space_grad(y, block, **options), x)
    assert torch.equal(bridge.space_to_depth_grad(x, block, **options), y)
    for function, tensor in (
        (bridge.depth_to_space, x),
        (bridge.space_to_depth, y.detach().requires_grad_()),
        (bridge.depth_to_space_grad, y.detach().requires_grad_()),
        (bridge.space_to_depth_grad, x),
    ):
        assert gradcheck(lambda t, function=function: function(t, block, **options), tensor)
        assert gradgradcheck(lambda t, function=function: function(t, block, **options), tensor)


def test_pixel_shuffle_is_torchs():
    x = double((2, 18, 3, 5))
    assert torch.equal(bridge.pixel_shuffle(x, 3), functional.pixel_shuffle(x, 3))
    assert torch.equal(bridge.pixel_unshuffle(bridge.pixel_shuffle(x, 3), 3), x)


@pytest.mark.parametrize("name", REQUESTS)
def test_opcheck_of_resample(name, monkeypatch):
    """opcheck on what the functions pass to their operators."""
    calls = []
    for attribute in ("_resample", "_resample_grad"):
        monkeypatch.setattr(bridge, attribute, lambda *arguments, a=attribute: calls.append((a, arguments)))
    x = double()
    bridge.resample(x, **REQUESTS[name])
    y = torch.from_numpy(imgops.resample(as_numpy(x), **REQUESTS[name])).requires_grad_()
    bridge.resample_grad(y, **gradient_request(REQUESTS[name]))
    monkeypatch.undo()
    for attribute, arguments in calls:
        torch.library.opcheck(getattr(bridge, attribute), arguments)
    assert [attribute for attribute, _ in calls] == ["_resample", "_resample_grad"]


@pytest.mark.parametrize(("data_format", "mode", "block"), [move for move in MOVES if move[2] == 2])
def test_opcheck_of_moves(data_format, mode, block):
    x = double(depth_shape(data_format, block))
    y = bridge.depth_to_space(x, block, data_format=data_format, mode=mode).detach().requires_grad_()
    torch.library.opcheck(OPS.depth_to_space.default, (x, block, data_format, mode, None))
    torch.library.opcheck(OPS.space_to_depth.default, (y, block, data_format, mode, 1))


ODD_LAYOUTS = {
    "transposed": lambda x: x.transpose(2, 3),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "with gaps": lambda x: x[:, :, ::2, 1:],
    "expanded": lambda x: x[:, :1].expand(-1, 4, -1, -1),
}


@pytest.mark.parametrize("layout", ODD_LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8", "uint16", "complex64"])
def test_tensors_are_read_and_written_in_place(layout, dtype, monkeypatch):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")
    x = ODD_LAYOUTS[layout]((torch.arange(2 * 4 * 6 * 5).reshape(2, 4, 6, 5) * 7 % 251).to(getattr(torch, dtype)))
    seen = []
    whole = imgops.resampling.resample
    monkeypatch.setattr(
        bridge.resampling,
        "resample",
        lambda a, *args, out, **rest: seen.append((a, out)) or whole(a, *args, out=out, **rest),
    )
    y = bridge.resample(x, (4, 9), **NCHW)
    array, out = seen[0]
    assert array.ctypes.data == x.data_ptr()
    assert out.ctypes.data == y.data_ptr()
    assert [stride // array.itemsize for stride in array.strides] == list(x.stride())
    monkeypatch.undo()
    assert_same_bits(as_numpy(y), imgops.resample(as_numpy(x), (4, 9), **NCHW))
    is_last = layout == "channels last"
    assert y.is_contiguous(memory_format=torch.channels_last if is_last else torch.contiguous_format)


def test_views_of_complex_tensors():
    x = torch.randn(3, 4, dtype=torch.complex64).conj()
    assert_same_bits(as_numpy(bridge.resample(x, scale=2)), imgops.resample(x.resolve_conj().numpy(), scale=2))
    assert gradcheck(
        lambda t: bridge.resample(t, scale=1.5), torch.randn(3, 4, dtype=torch.complex128, requires_grad=True)
    )


def test_dtype():
    x = torch.arange(6, dtype=torch.int64).reshape(2, 3)
    for dtype in (torch.float32, np.float64):
        y = bridge.resample(x, scale=2, dtype=dtype)
        name = str(dtype).rpartition(".")[2].rstrip("'>")
        assert_same_bits(as_numpy(y), imgops.resample(x.numpy(), scale=2, dtype=name))
    x = torch.randn(4, 4, dtype=torch.float16, requires_grad=True)
    y = bridge.resample(x, scale=2, dtype=torch.float32)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.dtype == torch.float16
    assert torch.equal(x.grad, torch.full((4, 4), 4.0, dtype=torch.float16))


def test_gradients_are_added_up():
    x = double((1, 4, 3, 5))
    (bridge.resample(x, scale=2, **NCHW).sum() + bridge.depth_to_space(x, 2, **NCHW).sum()).backward()
    assert torch.allclose(x.grad, torch.full_like(x, 5.0))


def test_vmap():
    x = double((4, 3, 5, 6)).detach()
    looped = torch.stack([bridge.resample(part, (3, 9), axes=(1, 2)) for part in x])
    assert torch.equal(torch.vmap(lambda t: bridge.resample(t, (3, 9), axes=(1, 2)))(x), looped)
    back = torch.vmap(lambda t: bridge.resample_grad(t, (5, 6), axes=(1, 2)), in_dims=2)(looped.movedim(0, 2))
    assert torch.equal(back, bridge.resample_grad(looped, (5, 6), axes=(2, 3)))
    y = torch.vmap(lambda t: bridge.depth_to_space(t, 2, **NCHW), in_dims=1)(torch.arange(96.0).reshape(4, 6, 2, 2))
    assert y.shape == (6, 1, 4, 4)


# ---------------------------------------------------------------------------------------------------------------------
# Compiled


def network(x, scale=2):
    features = bridge.space_to_depth(x, 2, mode="CRD", **NCHW) * 1.5
    y = bridge.depth_to_space(features, 2, mode="CRD", **NCHW)
    return bridge.resample(y, scale=scale, convention=imgops.AxisMap(scale) if scale == 3 else "torch", **NCHW).sin()


@pytest.fixture
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_has_no_graph_break(backend):
    def call(x):
        return network(x)

    compiled = torch.compile(call, backend=backend, fullgraph=True)
    for batch, side in ((2, 6), (3, 6), (5, 6), (2, 8)):
        x, y = double((batch, 3, side, side)), double((batch, 3, side, side))
        compiled(x).sum().backward()
        call(y).sum().backward()
        assert torch.equal(compiled(x), call(y))
        assert torch.equal(x.grad, y.grad)


@pytest.mark.usefixtures("fresh_compiler")
def test_a_compiled_call_heeds_its_arguments():
    # A number that changes from call to call is no constant to torch.compile, and breaks the graph.
    compiled = torch.compile(lambda x, **request: bridge.resample(x, **request, **NCHW), backend="eager")
    x = torch.randn(1, 2, 6, 6)
    for request in (
        {"scale": 2},
        {"scale": 3},
        {"scale": 1.5},
        {"scale": Fraction(1, 2)},
        {"scale": 2, "mode": "cubic"},
        {"size": (5, 4)},
        {"size": (5, 4), "convention": imgops.AxisMap(2)},
        {"size": (5, 4), "convention": imgops.AxisMap(3)},
        {"size": (5, 4), "convention": "asymmetric"},
    ):
        assert torch.equal(compiled(x, **request), bridge.resample(x, **request, **NCHW)), request


@pytest.mark.usefixtures("fresh_compiler")
def test_one_graph_serves_every_batch_size():
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(
        lambda x: bridge.resample(x, (4, 9), **NCHW), backend=counter, fullgraph=True, dynamic=True
    )
    for batch in (2, 3, 5, 7, 11):
        x = torch.randn(batch, 3, 6, 5)
        assert torch.equal(compiled(x), bridge.resample(x, (4, 9), **NCHW))
    assert counter.frame_count == 1


def test_exported_programs_are_read_elsewhere(tmp_path):
    class Up(torch.nn.Module):
        def forward(self, x):
            return bridge.resample(bridge.pixel_shuffle(x, 2), (7, 9), convention=("torch", ROI), **NCHW)

    x = torch.randn(1, 8, 3, 4)
    path = tmp_path / "up.pt2"
    torch.export.save(torch.export.export(Up(), (x,)), path)
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "y.npy", Up()(x).numpy())
    code = (
        "import numpy as np, torch, imgops.bridges.torch\n"
        "net = torch.export.load('up.pt2').module()\n"
        "assert np.array_equal(net(torch.from_numpy(np.load('x.npy'))).numpy(), np.load('y.npy'))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_shapes_without_data():
    x = torch.empty(2, 8, 5, 7, device="meta")
    assert bridge.resample(x, scale=1.5, **NCHW).shape == (2, 8, 7, 10)
    assert bridge.resample_grad(x, (3, 4), **NCHW).shape == (2, 8, 3, 4)
    assert bridge.depth_to_space(x, 2, **NCHW).shape == (2, 2, 10, 14)
    assert bridge.depth_to_space(x, 2, **NCHW).device.type == "meta"
    with torch._subclasses.FakeTensorMode():
        y = bridge.space_to_depth(torch.empty(2, 3, 4, 6), 2, **NCHW)
        assert y.shape == (2, 12, 2, 3)


# ---------------------------------------------------------------------------------------------------------------------
# Modules, training


def test_modules():
    x = torch.randn(2, 12, 3, 5)
    for mode in ("DCR", "CRD"):
        y = bridge.DepthToSpace(2, mode=mode)(x)
        assert_same_bits(y.numpy(), imgops.depth_to_space(x.numpy(), 2, mode=mode, **NCHW))
        assert torch.equal(bridge.SpaceToDepth(2, mode=mode)(y), x)
    assert torch.equal(bridge.DepthToSpace(2, mode="CRD")(x), torch.nn.PixelShuffle(2)(x))
    layer = bridge.Resample(scale=2, mode="cubic", antialias=False, num_threads=1)
    assert_same_bits(layer(x).numpy(), imgops.resample(x.numpy(), scale=2, mode="cubic", **NCHW))
    assert_same_bits(
        bridge.Resample((4, 4), data_format="NHWC")(x).numpy(), imgops.resample(x.numpy(), (4, 4), data_format="NHWC")
    )
    assert "scale=2" in repr(layer)
    assert "mode='CRD'" in repr(bridge.DepthToSpace(2, mode="CRD"))
    for wrong in (
        lambda: bridge.DepthToSpace(0),
        lambda: bridge.DepthToSpace(2, mode="RGB"),
        lambda: bridge.SpaceToDepth(2, data_format="HWCN"),
        lambda: bridge.Resample(scale=2, mode="quadratic"),
        lambda: bridge.Resample(),
    ):
        with pytest.raises(ValueError, match=r"must be|required"):
            wrong()


class Espcn(torch.nn.Module):
    """Two convolutions and a shuffle, beside the enlarged input."""

    def __init__(self, shuffle, enlarge):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 4, 3, padding=1)
        self.shuffle, self.enlarge = shuffle, enlarge

    def forward(self, x):
        return self.shuffle(self.second(torch.tanh(self.first(x)))) + self.enlarge(x)


def losses(shuffle, enlarge, shrink, steps=40):
    high = torch.sin(torch.arange(4 * 24 * 24, dtype=torch.float32).reshape(4, 1, 24, 24) ** 1.2)
    low = shrink(high)
    network = Espcn(shuffle, enlarge)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    curve = []
    for _ in range(steps):
        loss = functional.mse_loss(network(low), high)
        # A second term through the gradient of an operator.
        loss = loss + 0.1 * functional.mse_loss(shrink(network(low)), low)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def test_training_follows_torchs_own_operators():
    bilinear = {"mode": "bilinear", "align_corners": False}
    own = losses(
        torch.nn.PixelShuffle(2),
        lambda x: functional.interpolate(x, scale_factor=2, **bilinear),
        lambda x: functional.interpolate(x, scale_factor=0.5, **bilinear),
    )
    ours = losses(
        bridge.DepthToSpace(2, mode="CRD"),
        bridge.Resample(scale=2, convention="torch"),
        bridge.Resample(scale=0.5, convention="torch"),
    )
    assert own[-1] < 0.9 * own[0]
    np.testing.assert_allclose(ours, own, rtol=2e-4)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong requests

X = torch.zeros(1, 3, 4, 5)


class Elsewhere(torch.Tensor):
    @property
    def device(self):
        return torch.device("cuda", 0)


REFUSED = {
    "no tensor": (lambda: bridge.resample(np.zeros((4, 4)), 2), TypeError, "must be a torch.Tensor; got ndarray"),
    "another device": (
        lambda: bridge.resample(X.as_subclass(Elsewhere), scale=2),
        TypeError, r"on the CPU; got one on cuda:0; pass x\.cpu",
    ),
    "another device, moved": (
        lambda: bridge.space_to_depth(X.as_subclass(Elsewhere), 1), TypeError, "on the CPU; got one on cuda:0",
    ),
    "sparse": (lambda: bridge.resample(X.to_sparse(), scale=2), TypeError, "must be dense"),
    "float8": (lambda: bridge.resample(X.to(torch.float8_e4m3fn), scale=2), TypeError, "float8_e4m3fn"),
    "weights of int64": (lambda: bridge.resample(X.long(), scale=2), TypeError, "weighted modes take"),
    "gradient of integers": (lambda: bridge.resample_grad(X.int(), (2, 2)), TypeError, "grad_output must be float16"),
    "moved gradient of integers": (lambda: bridge.depth_to_space_grad(X.int(), 1), TypeError, "grad_output must be"),
    "a result's dtype": (lambda: bridge.resample(X, scale=2, dtype=torch.int32), TypeError, "dtype must be float32"),
    "no size": (lambda: bridge.resample(X), ValueError, "size or scale is required"),
    "channels": (lambda: bridge.depth_to_space(X, 2, **NCHW), ValueError, "channels must be divisible"),
    "sides": (lambda: bridge.space_to_depth(X, 3, **NCHW), ValueError, "height and width must be divisible"),
    "a mode": (lambda: bridge.resample(X, scale=2, mode="bilinaer"), ValueError, "mode must be"),
    "threads": (lambda: bridge.resample(X, scale=2, num_threads=0), ValueError, "num_threads must be at least 1"),
    "threads of a move": (lambda: bridge.space_to_depth(X, 1, num_threads=1.5), TypeError, "num_threads"),
    "a factor": (lambda: bridge.pixel_shuffle(X, 0), ValueError, "upscale_factor must be at least 1"),
    "an axis": (lambda: bridge.resample(X, 3, axes=4), np.exceptions.AxisError, "between -4 and 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_requests_are_refused(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_plain_import_brings_neither_torch_nor_dask():
    code = (
        "import sys, imgops, imgops.interfaces, imgops.cli\n"
        "assert not {'torch', 'dask', 'distributed'} & set(sys.modules)\n"
        "import imgops.bridges\n"
        "assert not {'torch', 'dask', 'distributed'} & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_readme():
    text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "nn.Seq" in code)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["tail"][0].weight.grad.abs().max() > 0

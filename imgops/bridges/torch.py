"""The operators on torch tensors: torch.library custom operators, differentiable any number of times.

Tensors on the CPU are read and written in place, whatever their strides. Shapes are known without data, so that the
operators can be compiled, exported and used on meta and fake tensors. The operators are ``torch.ops.imgops.resample``,
``resample_grad``, ``depth_to_space`` and ``space_to_depth``; the functions here check their arguments and call them.
What a resampling means goes along as a text, so that a graph can be stored and read elsewhere.
"""

import functools
import json
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .. import _checks, _request, blocks, resampling
from ..conventions import Convention, conventions, get_convention
from ..taps import AxisMap

try:
    import torch
except ImportError as error:
    _checks.needs_package("imgops.bridges.torch", "torch", "torch", error)

__all__ = [
    "DepthToSpace",
    "Resample",
    "SpaceToDepth",
    "depth_to_space",
    "depth_to_space_grad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "resample",
    "resample_grad",
    "space_to_depth",
    "space_to_depth_grad",
]

_NAMES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
_DTYPES = {getattr(torch, name): name for name in _NAMES}


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def resample(
    x,
    /,
    size=None,
    *,
    scale=None,
    axes=None,
    data_format="NHWC",
    mode="linear",
    convention="half_pixel",
    rounding=None,
    antialias=False,
    dtype=None,
    num_threads=None,
):
    """`imgops.resample` of a tensor, differentiable.

    Parameters
    ----------
    x : torch.Tensor on the CPU, (..., H, W, C) or (..., C, H, W) or any shape
    size, scale, axes, data_format, mode, convention, rounding, antialias, num_threads
        As in `imgops.resample`; note the default data_format="NHWC".
    dtype : torch.dtype or NumPy dtype, optional
        As in `imgops.resample`.

    Returns
    -------
    torch.Tensor
        Channels last in memory where x is.

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `imgops.resample`; TypeError for tensors elsewhere and for dtypes that NumPy does not have.

    Examples
    --------
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> y = resample(x, 4)
    >>> y.tolist()
    [0.0, 0.25, 0.75, 1.0]
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    function = "resample"
    _checks.tensor(function, "x", x, torch.Tensor, _DTYPES)
    axes = _axes(function, _shape(x), size, scale, axes, data_format, convention)
    shape = _shape(x, axes)
    lengths, options = _forward(function, shape, size, scale, axes, mode, convention, rounding, antialias)
    dtype = _result_dtype(function, mode, x.dtype, dtype)
    _threads(function, num_threads)
    return _resample(x, lengths, axes, options, dtype, num_threads)


def resample_grad(
    grad_output,
    /,
    input_size,
    *,
    scale=None,
    axes=None,
    data_format="NHWC",
    mode="linear",
    convention="half_pixel",
    rounding=None,
    antialias=False,
    num_threads=None,
):
    """`imgops.resample_grad` of a tensor, differentiable: its own gradient is `resample`.

    Parameters
    ----------
    grad_output : torch.Tensor of float or complex on the CPU, the shape of the forward's output
    input_size, scale, axes, data_format, mode, convention, rounding, antialias, num_threads
        As in `imgops.resample_grad`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `imgops.resample_grad` and `resample`.

    Examples
    --------
    >>> resample_grad(torch.ones(4), 2).tolist()
    [2.0, 2.0]
    """
    function = "resample_grad"
    _checks.tensor(function, "grad_output", grad_output, torch.Tensor, _DTYPES)
    _floating(function, grad_output.dtype)
    axes = _grad_axes(function, _shape(grad_output), input_size, scale, axes, data_format)
    shape = _shape(grad_output, axes)
    lengths, options = _backward(function, shape, input_size, scale, axes, mode, convention, rounding, antialias)
    _threads(function, num_threads)
    return _resample_grad(grad_output, lengths, axes, options, num_threads)


def depth_to_space(x, /, block_size, *, data_format="NHWC", mode="DCR", num_threads=None):
    """`imgops.depth_to_space` of a tensor, differentiable.

    Parameters
    ----------
    x : torch.Tensor on the CPU, (..., H, W, C*b*b), (..., C*b*b, H, W) or (..., C*b*b/4, H, W, 4)
    block_size, data_format, mode, num_threads
        As in `imgops.depth_to_space`; note the defaults "NHWC" and "DCR". torch's own order is `pixel_shuffle`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ValueError, TypeError
        As `imgops.depth_to_space`; TypeError for tensors elsewhere and for dtypes that NumPy does not have.

    Examples
    --------
    >>> depth_to_space(torch.arange(4).reshape(1, 1, 4), 2).tolist()
    [[[0], [1]], [[2], [3]]]
    """
    return _moved("depth_to_space", "x", x, block_size, data_format, mode, num_threads, to_space=True)


def space_to_depth(x, /, block_size, *, data_format="NHWC", mode="DCR", num_threads=None):
    """`imgops.space_to_depth` of a tensor, differentiable.

    Parameters
    ----------
    x : torch.Tensor on the CPU, (..., H*b, W*b, C), (..., C, H*b, W*b) or (..., C/4, H*b, W*b, 4)
    block_size, data_format, mode, num_threads
        As in `depth_to_space`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`.

    Examples
    --------
    >>> space_to_depth(torch.arange(4).reshape(2, 2, 1), 2).tolist()
    [[[0, 1, 2, 3]]]
    """
    return _moved("space_to_depth", "x", x, block_size, data_format, mode, num_threads, to_space=False)


def depth_to_space_grad(grad_output, /, block_size, *, data_format="NHWC", mode="DCR", num_threads=None):
    """`imgops.depth_to_space_grad` of a tensor, differentiable: the move back to depth.

    Parameters
    ----------
    grad_output : torch.Tensor of float or complex on the CPU, the shape of the forward's output
    block_size, data_format, mode, num_threads
        As in `depth_to_space`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ValueError, TypeError
        As `space_to_depth`; TypeError for integers.
    """
    function, argument = "depth_to_space_grad", "grad_output"
    return _moved(function, argument, grad_output, block_size, data_format, mode, num_threads, to_space=False)


def space_to_depth_grad(grad_output, /, block_size, *, data_format="NHWC", mode="DCR", num_threads=None):
    """`imgops.space_to_depth_grad` of a tensor, differentiable: the move back to space.

    Parameters
    ----------
    grad_output : torch.Tensor of float or complex on the CPU, the shape of the forward's output
    block_size, data_format, mode, num_threads
        As in `depth_to_space`.

    Returns
    -------
    torch.Tensor

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`; TypeError for integers.
    """
    function, argument = "space_to_depth_grad", "grad_output"
    return _moved(function, argument, grad_output, block_size, data_format, mode, num_threads, to_space=True)


def pixel_shuffle(x, /, upscale_factor, *, num_threads=None):
    """`imgops.pixel_shuffle` of a tensor: torch.pixel_shuffle.

    Parameters
    ----------
    x : torch.Tensor on the CPU, (..., C*r*r, H, W)
    upscale_factor : int

    Returns
    -------
    torch.Tensor, (..., C, H*r, W*r)

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`.
    """
    return _moved("pixel_shuffle", "x", x, upscale_factor, "NCHW", "CRD", num_threads, to_space=True)


def pixel_unshuffle(x, /, downscale_factor, *, num_threads=None):
    """`imgops.pixel_unshuffle` of a tensor: torch.pixel_unshuffle.

    Parameters
    ----------
    x : torch.Tensor on the CPU, (..., C, H*r, W*r)
    downscale_factor : int

    Returns
    -------
    torch.Tensor, (..., C*r*r, H, W)

    Raises
    ------
    ValueError, TypeError
        As `space_to_depth`.
    """
    return _moved("pixel_unshuffle", "x", x, downscale_factor, "NCHW", "CRD", num_threads, to_space=False)


# ---------------------------------------------------------------------------------------------------------------------
# Modules


class _Move(torch.nn.Module):
    def __init__(self, block_size, *, data_format="NCHW", mode="DCR", num_threads=None):
        super().__init__()
        self.block_size = _checks.block_size(type(self).__name__, block_size)
        self.data_format = _checks.data_format(type(self).__name__, data_format)
        self.mode = _checks.name_of(type(self).__name__, "mode", mode, _checks.BLOCK_MODES)
        self.num_threads = num_threads

    def extra_repr(self):
        return f"{self.block_size}, data_format={self.data_format!r}, mode={self.mode!r}"


class DepthToSpace(_Move):
    """`depth_to_space` as a layer. Its default data_format is "NCHW", which torch's other layers have.

    Parameters
    ----------
    block_size : int
    data_format : {"NCHW", "NHWC", "NCHW_VECT_C"}
    mode : {"DCR", "CRD"}
        "CRD" is the order of torch.nn.PixelShuffle.
    num_threads : int, optional

    Examples
    --------
    >>> DepthToSpace(2)(torch.ones(1, 8, 3, 5)).shape
    torch.Size([1, 2, 6, 10])
    """

    def forward(self, x):
        return depth_to_space(
            x, self.block_size, data_format=self.data_format, mode=self.mode, num_threads=self.num_threads
        )


class SpaceToDepth(_Move):
    """`space_to_depth` as a layer. Its default data_format is "NCHW", which torch's other layers have.

    Parameters
    ----------
    block_size, data_format, mode, num_threads
        As in `DepthToSpace`.

    Examples
    --------
    >>> SpaceToDepth(2)(torch.ones(1, 2, 6, 10)).shape
    torch.Size([1, 8, 3, 5])
    """

    def forward(self, x):
        return space_to_depth(
            x, self.block_size, data_format=self.data_format, mode=self.mode, num_threads=self.num_threads
        )


class Resample(torch.nn.Module):
    """`resample` as a layer. Its default data_format is "NCHW", which torch's other layers have.

    Parameters
    ----------
    size, scale, axes, mode, convention, rounding, antialias, num_threads
        As in `imgops.resample`.
    data_format : {"NCHW", "NHWC", "NCHW_VECT_C"}

    Examples
    --------
    >>> Resample(scale=2)(torch.ones(1, 3, 4, 5)).shape
    torch.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size=None,
        *,
        scale=None,
        axes=None,
        data_format="NCHW",
        mode="linear",
        convention="half_pixel",
        rounding=None,
        antialias=False,
        num_threads=None,
    ):
        super().__init__()
        if size is None and scale is None and not _request._holds_maps(convention):
            _checks.need_size_or_scale("Resample")
        self.size = size
        self.options = {
            "scale": scale,
            "axes": axes,
            "data_format": _checks.data_format("Resample", data_format),
            "mode": _checks.resample_mode("Resample", mode),
            "convention": convention,
            "rounding": rounding,
            "antialias": antialias,
            "num_threads": num_threads,
        }

    def forward(self, x):
        return resample(x, self.size, **self.options)

    def extra_repr(self):
        named = {"size": self.size, **self.options}
        return ", ".join(f"{name}={value!r}" for name, value in named.items() if value is not None)


# ---------------------------------------------------------------------------------------------------------------------
# What a call asks for. torch.compile runs the functions below once and takes what they return for constants.


def _shape(x, axes=None):
    """The shape; while compiling, lengths that do not matter are 1, so that the graph serves all of them."""
    if not torch.compiler.is_compiling():
        return tuple(x.shape)
    needed = (x.dim() - 1,) if axes is None else axes
    # The length of a range is a constant for torch.compile, which x.shape[axis] need not be.
    return tuple([len(range(x.shape[axis])) if axis in needed else 1 for axis in range(x.dim())])


@torch.compiler.assume_constant_result
def _axes(function, shape, size, scale, axes, data_format, convention):
    if size is None and scale is None and axes is None and _checks.is_sequence(convention):
        return list(_request.resolve_axes(function, shape, None, convention, None, data_format))
    return list(_request.resolve_axes(function, shape, size, scale, axes, data_format))


@torch.compiler.assume_constant_result
def _grad_axes(function, shape, input_size, scale, axes, data_format):
    return list(_request.resolve_grad(function, shape, input_size, scale, axes, data_format)[2])


@torch.compiler.assume_constant_result
def _forward(function, shape, size, scale, axes, mode, convention, rounding, antialias):
    """(lengths of the result along the axes, options as text)."""
    request = _request.resolve(function, shape, size, scale, axes, "NHWC", mode, convention, rounding, antialias)
    options = _text(function, request, scale, convention, rounding, antialias)
    return [request.output_shape[axis] for axis in axes], options


@torch.compiler.assume_constant_result
def _backward(function, shape, input_size, scale, axes, mode, convention, rounding, antialias):
    """(lengths of the forward's input along the axes, options as text)."""
    input_shape, size, _ = _request.resolve_grad(function, shape, input_size, scale, axes, "NHWC")
    request = _request.resolve(function, input_shape, size, scale, axes, "NHWC", mode, convention, rounding, antialias)
    return [input_shape[axis] for axis in axes], _text(function, request, scale, convention, rounding, antialias)


@torch.compiler.assume_constant_result
def _result_dtype(function, mode, dtype, wanted):
    """The torch dtype that was asked for, or None; raises for one that the mode lacks."""
    if wanted is not None and not isinstance(wanted, torch.dtype):
        wanted = getattr(torch, _checks.any_dtype(function, wanted).name, wanted)
    numpy_wanted = None if wanted is None else _numpy_dtype(function, "dtype", wanted)
    if _checks.resample_mode(function, mode) != "nearest":
        _checks.weighted_dtypes(function, _numpy_dtype(function, "x", dtype), numpy_wanted)
    return wanted


@torch.compiler.assume_constant_result
def _floating(function, dtype):
    _checks.gradient_dtype(function, _numpy_dtype(function, "grad_output", dtype))


@torch.compiler.assume_constant_result
def _threads(function, num_threads):
    if num_threads is not None:
        _checks.num_threads(function, num_threads)


@torch.compiler.assume_constant_result
def _block(function, block_size, data_format, mode):
    block = _checks.block_size(function, block_size, _BLOCK_NAMES.get(function, "block_size"))
    data_format = _checks.data_format(function, data_format)
    return block, data_format, _checks.name_of(function, "mode", mode, _checks.BLOCK_MODES)


_BLOCK_NAMES = {"pixel_shuffle": "upscale_factor", "pixel_unshuffle": "downscale_factor"}


def _moved(function, argument, x, block_size, data_format, mode, num_threads, to_space):
    _checks.tensor(function, argument, x, torch.Tensor, _DTYPES)
    if argument == "grad_output":
        _floating(function, x.dtype)
    block, data_format, mode = _block(function, block_size, data_format, mode)
    _threads(function, num_threads)
    if not torch.compiler.is_compiling():
        _checks.blocks(function, tuple(x.shape), block, data_format, mode, to_space)
    return (_depth_to_space if to_space else _space_to_depth)(x, block, data_format, mode, num_threads)


def _text(function, request, scale, convention, rounding, antialias):
    """What a request asks for beside lengths and axes, as JSON: a Fraction is a text, an AxisMap a list of texts."""
    count = len(request.axes)
    options = {
        "mode": request.mode,
        "convention": [
            _convention_text(function, entry) for entry in _checks.entries(function, "convention", convention, count)
        ],
    }
    if scale is not None:
        scales = _checks.entries(function, "scale", scale, count)
        options["scale"] = [
            None if entry is None else str(_checks.positive(function, "scale", entry)) for entry in scales
        ]
    if rounding is not None:
        options["rounding"] = rounding
    if antialias:
        options["antialias"] = True
    return json.dumps(options)


def _convention_text(function, entry):
    if isinstance(entry, AxisMap):
        return [str(entry.scale), str(entry.input_offset), str(entry.output_offset), entry.rounding]
    if isinstance(entry, Convention):
        named = get_convention(entry.name) if entry.name in conventions() else None
        if entry == named:
            return entry.name
        roi = [getattr(entry.offsets, name, None) for name in ("start", "end")]
        if named is None or None in roi or entry != named.with_roi(*roi):
            _checks.no_convention_of_the_table(function, entry.name)
        return [entry.name, *map(str, roi)]
    return entry


@functools.lru_cache(maxsize=256)
def _options(text):
    """Keyword arguments of imgops.resample, of a text made by _text."""
    options = json.loads(text)
    options["convention"] = [_convention(entry) for entry in options["convention"]]
    if "scale" in options:
        options["scale"] = [None if entry is None else Fraction(entry) for entry in options["scale"]]
    return options


def _convention(entry):
    if isinstance(entry, str):
        return entry
    if len(entry) == 3:
        return get_convention(entry[0]).with_roi(*map(Fraction, entry[1:]))
    return AxisMap(*map(Fraction, entry[:3]), entry[3])


# ---------------------------------------------------------------------------------------------------------------------
# Tensors


def _numpy_dtype(function, argument, dtype):
    """The NumPy dtype of a torch dtype."""
    name = _checks.torch_dtype(function, argument, dtype, _DTYPES)
    return _bfloat16(function) if name == "bfloat16" else np.dtype(name)


def _bfloat16(function):
    try:
        import ml_dtypes
    except ImportError as error:
        _checks.needs_package(f"{function} of bfloat16", "ml_dtypes", "ml_dtypes", error)
    return np.dtype(ml_dtypes.bfloat16)


def _array(tensor):
    """The tensor's memory as an ndarray of its shape and strides."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(_bfloat16("imgops"))
    return tensor.numpy()


def _empty(x, shape, dtype=None):
    """A tensor for a result, channels last in memory where x is."""
    is_channels_last = x.dim() == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    layout = torch.channels_last if is_channels_last else torch.contiguous_format
    return torch.empty(shape, dtype=dtype or x.dtype, device=x.device, memory_format=layout)


def _resized(x, lengths, axes):
    shape = list(x.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    return shape


# ---------------------------------------------------------------------------------------------------------------------
# Operators. Their derivatives are operators again, each other's.


@torch.library.custom_op("imgops::resample", mutates_args=(), device_types="cpu")
def _resample(
    x: torch.Tensor,
    size: Sequence[int],
    axes: Sequence[int],
    options: str,
    dtype: torch.dtype | None,
    num_threads: int | None,
) -> torch.Tensor:
    out = _empty(x, _resized(x, size, axes), dtype)
    wanted = None if dtype is None else _numpy_dtype("resample", "dtype", dtype)
    resampling.resample(
        _array(x), size, axes=axes, **_options(options), dtype=wanted, out=_array(out), num_threads=num_threads
    )
    return out


@_resample.register_fake
def _(x, size, axes, _options, dtype, _num_threads):
    return _empty(x, _resized(x, size, axes), dtype)


@torch.library.custom_op("imgops::resample_grad", mutates_args=(), device_types="cpu")
def _resample_grad(
    grad_output: torch.Tensor, input_size: Sequence[int], axes: Sequence[int], options: str, num_threads: int | None
) -> torch.Tensor:
    out = _empty(grad_output, _resized(grad_output, input_size, axes))
    resampling.resample_grad(
        _array(grad_output), input_size, axes=axes, **_options(options), out=_array(out), num_threads=num_threads
    )
    return out


@_resample_grad.register_fake
def _(grad_output, input_size, axes, _options, _num_threads):
    return _empty(grad_output, _resized(grad_output, input_size, axes))


def _keep_resample(ctx, inputs, output):  # noqa: ARG001  torch passes it by name
    x, _, ctx.axes, ctx.options, _, ctx.num_threads = inputs
    ctx.lengths = [x.shape[axis] for axis in ctx.axes]
    ctx.dtype = x.dtype


def _resample_backward(ctx, grad_output):
    grad = _resample_grad(grad_output, ctx.lengths, ctx.axes, ctx.options, ctx.num_threads)
    return grad.to(ctx.dtype), None, None, None, None, None


def _keep_resample_grad(ctx, inputs, output):  # noqa: ARG001  torch passes it by name
    grad_output, _, ctx.axes, ctx.options, ctx.num_threads = inputs
    ctx.lengths = [grad_output.shape[axis] for axis in ctx.axes]


def _resample_grad_backward(ctx, grad):
    return _resample(grad, ctx.lengths, ctx.axes, ctx.options, None, ctx.num_threads), None, None, None, None


_resample.register_autograd(_resample_backward, setup_context=_keep_resample)
_resample_grad.register_autograd(_resample_grad_backward, setup_context=_keep_resample_grad)


@_resample.register_vmap
def _(_info, in_dims, x, size, axes, options, dtype, num_threads):
    x = x.movedim(in_dims[0], 0)
    return _resample(x, size, [axis + 1 for axis in axes], options, dtype, num_threads), 0


@_resample_grad.register_vmap
def _(_info, in_dims, grad_output, input_size, axes, options, num_threads):
    grad_output = grad_output.movedim(in_dims[0], 0)
    return _resample_grad(grad_output, input_size, [axis + 1 for axis in axes], options, num_threads), 0


def _move(function, x, block_size, data_format, mode, num_threads, to_space):
    shape = _checks.blocks(function.__name__, tuple(x.shape), block_size, data_format, mode, to_space)[2]
    out = _empty(x, shape)
    function(_array(x), block_size, data_format=data_format, mode=mode, out=_array(out), num_threads=num_threads)
    return out


@torch.library.custom_op("imgops::depth_to_space", mutates_args=(), device_types="cpu")
def _depth_to_space(
    x: torch.Tensor, block_size: int, data_format: str, mode: str, num_threads: int | None
) -> torch.Tensor:
    return _move(blocks.depth_to_space, x, block_size, data_format, mode, num_threads, to_space=True)


@_depth_to_space.register_fake
def _(x, block_size, data_format, mode, _num_threads):
    return _empty(x, _checks.blocks("depth_to_space", tuple(x.shape), block_size, data_format, mode, True)[2])


@torch.library.custom_op("imgops::space_to_depth", mutates_args=(), device_types="cpu")
def _space_to_depth(
    x: torch.Tensor, block_size: int, data_format: str, mode: str, num_threads: int | None
) -> torch.Tensor:
    return _move(blocks.space_to_depth, x, block_size, data_format, mode, num_threads, to_space=False)


@_space_to_depth.register_fake
def _(x, block_size, data_format, mode, _num_threads):
    return _empty(x, _checks.blocks("space_to_depth", tuple(x.shape), block_size, data_format, mode, False)[2])


def _keep_move(ctx, inputs, output):  # noqa: ARG001  torch passes it by name
    _, *ctx.arguments = inputs


def _depth_to_space_backward(ctx, grad_output):
    return _space_to_depth(grad_output, *ctx.arguments), None, None, None, None


def _space_to_depth_backward(ctx, grad_output):
    return _depth_to_space(grad_output, *ctx.arguments), None, None, None, None


_depth_to_space.register_autograd(_depth_to_space_backward, setup_context=_keep_move)
_space_to_depth.register_autograd(_space_to_depth_backward, setup_context=_keep_move)


@_depth_to_space.register_vmap
def _(_info, in_dims, x, *arguments):
    return _depth_to_space(x.movedim(in_dims[0], 0), *arguments), 0


@_space_to_depth.register_vmap
def _(_info, in_dims, x, *arguments):
    return _space_to_depth(x.movedim(in_dims[0], 0), *arguments), 0

"""Every check of an argument, and every error text.

A message has three parts: what is required; what came, shapes with their letters; what to do. The functions return the
value in the form that the rest of the package works with, so that a checked value is never looked at twice.
"""

import difflib
import math
import operator
import os
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np
from numpy.exceptions import AxisError

from . import _dtypes

DATA_FORMATS = ("NHWC", "NCHW", "NCHW_VECT_C")
BLOCK_MODES = ("DCR", "CRD")
RESAMPLE_MODES = ("nearest", "linear", "cubic", "lanczos3")
UPSCALE_METHODS = ("sr", *RESAMPLE_MODES)
ROUNDINGS = ("floor", "ceil", "half_down", "half_up")
_MODE_SYNONYMS = {"bilinear": "linear", "bicubic": "cubic"}
_ROUNDING_SYNONYMS = {"round_prefer_floor": "half_down", "round_prefer_ceil": "half_up"}
_MAX_COUNT = 2**63 - 1

# Channel, height and width axis of each data format, from the end.
SPATIAL_AXES = {"NHWC": (-1, -3, -2), "NCHW": (-3, -2, -1), "NCHW_VECT_C": (-4, -3, -2)}
_LETTERS = {"NHWC": "HWC", "NCHW": "CHW", "NCHW_VECT_C": ("C/4", "H", "W", "4")}


# ---------------------------------------------------------------------------------------------------------------------
# Words of the messages


def _choices(valid):
    names = [repr(name) for name in valid]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def suggestion(value, valid):
    """'; did you mean ...?' with the closest valid name, or what to do where none is close."""
    lower = {name.lower(): name for name in valid}
    close = []
    if isinstance(value, str) and value:
        begun = [name for name in lower if name.startswith(value.lower())]
        close = begun or difflib.get_close_matches(value.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[close[0]]!r}?" if close else "; pass one of these names"


def describe_shape(shape, data_format=None):
    """'(N=1, H=4, W=4, C=10)': a shape with the letters of its data format, '(4, 10)' where it has none."""
    letters = tuple(_LETTERS.get(data_format, ()))
    if not letters or len(shape) < len(letters):
        return str(tuple(shape))
    lead = len(shape) - len(letters)
    lead_letters = ("N",) if lead == 1 else tuple(f"N{i}" for i in range(lead))
    return "(" + ", ".join(f"{name}={length}" for name, length in zip(lead_letters + letters, shape, strict=True)) + ")"


def _type_name(value):
    return type(value).__name__


# ---------------------------------------------------------------------------------------------------------------------
# Names and numbers


def name_of(function, argument, value, valid, synonyms=()):
    """The valid name that `value` is or stands for."""
    if isinstance(value, str):
        if value in valid:
            return value
        if value in synonyms:
            return dict(synonyms)[value]
    kind = TypeError if not isinstance(value, str) else ValueError
    raise kind(f"{function}: {argument} must be {_choices(valid)}; got {value!r}{suggestion(value, valid)}")


def data_format(function, value):
    return name_of(function, "data_format", value, DATA_FORMATS)


def resample_mode(function, value):
    return name_of(function, "mode", value, RESAMPLE_MODES, _MODE_SYNONYMS)


def rounding(function, value):
    return name_of(function, "rounding", value, ROUNDINGS, _ROUNDING_SYNONYMS)


def shown(value):
    """A number as text; one with thousands of digits, which Python does not print, in words."""
    try:
        return str(value)
    except ValueError:
        return f"one of {_type_name(value)} with thousands of digits"


def exact(function, argument, value):
    """The Fraction that a number means: an int or Fraction itself, a float by its shortest decimal."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{function}: {argument} must be a real number; got the bool {value!r}; pass 1.0 or 0.0")
    if isinstance(value, Rational) and not isinstance(value, np.timedelta64):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ValueError(f"{function}: {argument} must be finite; got {value}; pass a finite number")
        # str() of a NumPy scalar is its own shortest decimal, so float32(0.6) means 3/5.
        return Fraction(str(value)) if isinstance(value, np.floating) else Fraction(repr(value))
    raise TypeError(
        f"{function}: {argument} must be an int, a float or a Fraction; got {value!r} of type {_type_name(value)}; "
        f"pass a real number"
    )


def positive(function, argument, value):
    number = exact(function, argument, value)
    if number <= 0:
        raise ValueError(
            f"{function}: {argument} must be positive; got {shown(value)}; pass output samples per input sample, > 0"
        )
    return number


def integer(function, argument, value, advice):
    """An int by operator.index; bool and 2.0 are TypeErrors."""
    if not isinstance(value, (bool, np.bool_, np.timedelta64)):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if abs(number) > _MAX_COUNT:
                raise ValueError(f"{function}: {argument} must be below 2**63; got {shown(value)}; {advice}")
            return number
    raise TypeError(f"{function}: {argument} must be an integer; got {value!r} of type {_type_name(value)}; {advice}")


def block_size(function, value, argument="block_size"):
    number = integer(function, argument, value, "pass the side of the square block, such as 2")
    if number < 1:
        raise ValueError(f"{function}: {argument} must be at least 1; got {number}; pass the side of the square block")
    if number > 2**31 - 1:
        raise ValueError(f"{function}: {argument} must be below 2**31; got {number}; pass the side of the square block")
    return number


def num_threads(function, value):
    number = integer(function, "num_threads", value, "pass a number of threads or None for the default")
    if number < 1:
        raise ValueError(f"{function}: num_threads must be at least 1; got {number}; pass None for the default")
    return min(number, 1024)


def is_sequence(value):
    if isinstance(value, np.ndarray):
        return value.ndim != 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def as_array(function, x, argument="x"):
    """Any array-like on the CPU as an ndarray; never a copy where the object shares its memory."""
    if isinstance(x, np.ndarray):
        # Views of subclasses; the class itself needs none, and small calls no delay.
        array = x if type(x) is np.ndarray else np.asarray(x)
    else:
        on_cpu(function, x, argument)
        try:
            is_foreign = hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
            array = np.from_dlpack(x) if is_foreign else np.asarray(x)
        except MemoryError:
            raise
        except Exception as error:  # whatever the object's own conversion raises
            raise TypeError(
                f"{function}: {argument} must be an array or convertible to one; got {_type_name(x)} ({error}); "
                f"pass numpy.asarray of it"
            ) from error
    dtype = array.dtype
    if dtype.hasobject or not dtype.itemsize:
        fixed_size(function, dtype, argument)
    return array


def fixed_size(function, dtype, argument):
    if dtype.hasobject:
        raise TypeError(
            f"{function}: {argument} must have a fixed-size dtype; got dtype {dtype}; convert it, "
            f"such as {argument}.astype(numpy.float32)"
        )
    if dtype.itemsize == 0:
        raise TypeError(
            f"{function}: {argument} must have items of at least one byte; got dtype {dtype}; convert it first"
        )


def element_count(function, shape, itemsize):
    """Raise for results that no memory can hold, before anything is allocated."""
    # An axis of length 0 makes no other one possible that NumPy could not count.
    count = math.prod(length or 1 for length in shape)
    if count > _MAX_COUNT:
        raise ValueError(
            f"{function}: the result must have fewer than 2**63 elements; its shape would be {tuple(shape)}; "
            f"pass a smaller size"
        )
    if count * itemsize > _MAX_COUNT:
        raise MemoryError(
            f"{function}: the result must fit in memory; shape {tuple(shape)} takes {count * itemsize} bytes; "
            f"pass a smaller size"
        )


def empty(function, shape, dtype):
    """numpy.empty, with an error that says what to do."""
    try:
        return np.empty(shape, dtype)
    except MemoryError as error:
        raise MemoryError(
            f"{function}: the result must fit in memory; shape {tuple(shape)} of {dtype} takes "
            f"{math.prod(shape) * dtype.itemsize} bytes; pass a smaller size"
        ) from error


def converted(function, x, dtype):
    """x as another dtype."""
    try:
        return x.astype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{function}: dtype must be one that x converts to; got {dtype} for x of dtype {x.dtype} ({error}); "
            f"pass another dtype"
        ) from error


def overlaps_itself(array):
    """Whether two elements of an array share a byte."""
    if array.flags.c_contiguous:
        return False
    extent = array.itemsize
    axes = sorted(
        (abs(stride), length) for stride, length in zip(array.strides, array.shape, strict=True) if length > 1
    )
    nested = True
    for stride, length in axes:
        nested = nested and stride >= extent
        extent += stride * (length - 1)
    if nested or array.size == 0:
        return False
    if any(stride == 0 for stride, _ in axes) or array.size > 2**22:
        return True
    addresses = np.zeros(1, np.int64)
    for stride, length in axes:
        addresses = np.add.outer(addresses, np.arange(length) * stride).ravel()
    return bool(np.any(np.diff(np.sort(addresses)) < array.itemsize))


def output(function, out, shape, dtypes, letters=None):
    """Check `out`: an ndarray of exactly this shape, of one of these dtypes, writeable and free of self-overlap."""
    if not isinstance(out, np.ndarray):
        raise TypeError(
            f"{function}: out must be a numpy.ndarray; got {_type_name(out)}; pass numpy.empty({tuple(shape)}, "
            f"{str(dtypes[0])!r}) or leave it out"
        )
    if out.shape != tuple(shape):
        raise ValueError(
            f"{function}: out must have shape {describe_shape(shape, letters)}; got shape {out.shape}; "
            f"pass an array of that shape or leave out away"
        )
    if out.dtype not in dtypes:
        raise TypeError(
            f"{function}: out must have dtype {' or '.join(str(dtype) for dtype in dtypes)}; got {out.dtype}; "
            f"pass an array of that dtype or leave out away"
        )
    if not out.flags.writeable:
        raise ValueError(
            f"{function}: out must be writeable; got a read-only array of shape {out.shape}; pass a copy of it"
        )
    if overlaps_itself(out):
        raise ValueError(
            f"{function}: out must not overlap itself; got shape {out.shape} with strides {out.strides}; "
            f"pass an array whose elements have bytes of their own"
        )
    return out


def accumulate(function, value, out):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{function}: accumulate must be True or False; got {value!r}; pass a bool")
    if value and out is None:
        raise ValueError(
            f"{function}: accumulate=True needs out, the array to add to; got out=None; pass out or accumulate=False"
        )
    return bool(value)


def flag(function, argument, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(
            f"{function}: {argument} must be True or False; got {value!r} of type {_type_name(value)}; pass a bool"
        )
    return bool(value)


def gradient_dtype(function, dtype):
    if not _dtypes.is_floating(dtype):
        raise TypeError(
            f"{function}: grad_output must be float16, bfloat16, float32, float64 or complex; got dtype {dtype}; "
            f"convert it, such as grad_output.astype(numpy.float32)"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Depth and space


def vector_axis(function, shape):
    if shape[-1] != 4:
        raise ValueError(
            f"{function}: data_format='NCHW_VECT_C' needs a last axis of length 4; "
            f"x has shape {describe_shape(shape, 'NCHW_VECT_C')}; pass data_format='NCHW' for an array without it"
        )


def blocks(function, shape, block, layout, mode, to_space):
    """Check the arguments of a move between depth and space; returns (data_format, mode, result's shape)."""
    layout = data_format(function, layout)
    mode = name_of(function, "mode", mode, BLOCK_MODES)
    if layout == "NCHW_VECT_C" and mode == "CRD":
        raise ValueError(
            f"{function}: data_format='NCHW_VECT_C' is defined for mode='DCR' only; got mode='CRD'; "
            f"pass mode='DCR' or data_format='NCHW'"
        )
    rank = 4 if layout == "NCHW_VECT_C" else 3
    if len(shape) < rank:
        raise ValueError(
            f"{function}: data_format={layout!r} needs at least {rank} axes ({', '.join(_LETTERS[layout])}); "
            f"x has shape {tuple(shape)}; add the missing axes"
        )
    channel, height, width = SPATIAL_AXES[layout]
    if layout == "NCHW_VECT_C":
        vector_axis(function, shape)
    result = list(shape)
    if to_space:
        if shape[channel] % block**2:
            other = {
                "NHWC": "; pass data_format='NCHW' if the channels come first",
                "NCHW": "; pass data_format='NHWC' if the channels come last",
            }.get(layout, "; pass another block_size")
            raise ValueError(
                f"{function}: channels must be divisible by block_size**2 = {block**2}; "
                f"x has shape {describe_shape(shape, layout)}{other}"
            )
        result[channel] //= block**2
        result[height] *= block
        result[width] *= block
    else:
        if shape[height] % block or shape[width] % block:
            raise ValueError(
                f"{function}: height and width must be divisible by block_size = {block}; "
                f"x has shape {describe_shape(shape, layout)}; crop or pad it, or pass another data_format"
            )
        result[channel] *= block**2
        result[height] //= block
        result[width] //= block
    return layout, mode, tuple(result)


def shape_of(function, shape, argument="shape"):
    """A shape as a tuple of non-negative ints."""
    if not is_sequence(shape):
        shape = (shape,)
    lengths = tuple(integer(function, argument, length, "pass a tuple of lengths") for length in shape)
    if any(length < 0 for length in lengths):
        raise ValueError(
            f"{function}: {argument} must have no negative length; got {lengths}; pass lengths of 0 or more"
        )
    return lengths


# ---------------------------------------------------------------------------------------------------------------------
# Resampling


def axes(function, value, ndim):
    """Distinct non-negative axes, in the order given."""
    entries = tuple(value) if is_sequence(value) else (value,)
    result = []
    for entry in entries:
        axis = integer(function, "axes", entry, "pass axis numbers, such as (0, 1)")
        if not -ndim <= axis < ndim:
            raise AxisError(
                f"{function}: axes must be between {-ndim} and {ndim - 1}; got {axis} for an array of {ndim} axes; "
                f"pass axes of the array"
            )
        result.append(axis % ndim)
    if len(set(result)) != len(result):
        raise ValueError(f"{function}: axes must be distinct; got {entries}; name each axis once")
    if not result:
        raise ValueError(f"{function}: axes must name at least one axis; got {entries!r}; pass the axes to resample")
    return tuple(result)


def spatial_axes(function, shape, layout):
    """Height and width axis of an array in a data format; both axes, or the one, of a smaller array."""
    ndim = len(shape)
    if ndim in (1, 2):
        return tuple(range(ndim))
    layout = data_format(function, layout)
    _, height, width = SPATIAL_AXES[layout]
    if ndim < -min(SPATIAL_AXES[layout]):
        raise ValueError(
            f"{function}: data_format={layout!r} needs at least {-min(SPATIAL_AXES[layout])} axes; "
            f"x has shape {tuple(shape)}; pass axes="
        )
    if layout == "NCHW_VECT_C":
        vector_axis(function, shape)
    return height % ndim, width % ndim


def entries(function, argument, value, count):
    """A sequence with one entry per resampled axis; a scalar stands for all."""
    if not is_sequence(value):
        return (value,) * count
    value = tuple(value)
    if len(value) != count:
        raise ValueError(
            f"{function}: {argument} must have one entry per resampled axis, {count}; got {len(value)}: {value}; "
            f"pass {count} entries or name the axes with axes="
        )
    return value


def sizes(function, value, count, argument="size"):
    value = tuple(value) if is_sequence(value) else (value,)
    if len(value) != count:
        raise ValueError(
            f"{function}: {argument} must have one length per resampled axis, {count}; got {len(value)}: {value}; "
            f"pass {count} lengths or name the axes with axes="
        )
    lengths = tuple(integer(function, argument, length, "pass whole numbers of samples") for length in value)
    if any(length < 1 for length in lengths):
        raise ValueError(
            f"{function}: {argument} must be at least 1 on every axis; got {lengths}; pass positive lengths"
        )
    return lengths


def axis_count(function, count, ndim, what, shape):
    """Why `count` entries fit neither every axis nor the spatial axes."""
    raise ValueError(
        f"{function}: {what} must have one entry per axis ({ndim}) or one per spatial axis; got {count} for "
        f"shape {tuple(shape)}; name the axes with axes="
    )


def need_axes(function, shape):
    raise ValueError(
        f"{function}: x must have at least one axis to resample; got shape {tuple(shape)}; "
        f"pass an array of one axis or more"
    )


def need_size_or_scale(function):
    raise ValueError(f"{function}: size or scale is required; got neither; pass size=(height, width) or scale=2")


def scaled_length(function, length, scale, given):
    """floor(length * scale), which must be a sample or more."""
    result = length * scale.numerator // scale.denominator
    if result < 1:
        raise ValueError(
            f"{function}: the result must have at least one sample on every axis; length {length} times scale "
            f"{shown(given)} is less than 1; pass a larger scale, or size"
        )
    return result


def resampled_length(function, length, axis):
    if length < 1:
        raise ValueError(
            f"{function}: a resampled axis must have at least one sample; axis {axis} has length {length}; "
            f"pass an array with samples on it"
        )


def grad_shape(function, shape, expected, argument="grad_output"):
    if tuple(shape) != tuple(expected):
        raise ValueError(
            f"{function}: {argument} must have the forward's output shape {tuple(expected)}; got {tuple(shape)}; "
            f"pass the gradient of that output"
        )


def input_shape(function, shape, expected):
    if tuple(shape) != tuple(expected):
        raise ValueError(
            f"{function}: x must have the plan's input shape {tuple(expected)}; got {tuple(shape)}; "
            f"make another ResamplePlan for it"
        )


def no_rounding(function, why):
    raise ValueError(f"{function}: rounding has a meaning for one nearest rule only; {why}; leave rounding out")


def no_scale_beside_map(function):
    raise ValueError(f"{function}: an AxisMap carries its own scale; got scale as well; pass one of the two")


def convention_mode(function, name, mode, modes):
    if mode not in modes:
        raise ValueError(
            f"{function}: convention {name!r} has mode {_choices(modes)}; got mode={mode!r}; "
            f"pass another mode or convention"
        )


def no_roi(function, name):
    raise ValueError(f"{function}: only 'tf_crop_and_resize' crops; got {name!r}; call with_roi of that convention")


def roi(function, start, end):
    if start >= end:
        raise ValueError(f"{function}: a roi must start before it ends; got {start} and {end}; pass start < end")
    return start, end


def needs_roi(function, name):
    raise ValueError(
        f"{function}: convention {name!r} needs the part of the axis that it crops; got the name alone; "
        f"pass get_convention({name!r}).with_roi(start, end)"
    )


def no_antialias(function, mode):
    raise ValueError(f"{function}: antialias=True needs a weighted mode; got mode={mode!r}; pass mode='linear'")


def weighted_dtype(function, dtype, advice="pass dtype=numpy.float32 or numpy.float64, or mode='nearest'"):
    raise TypeError(
        f"{function}: weighted modes take (u)int8, (u)int16, (u)int32, float16, bfloat16, float32, float64 and "
        f"complex; got dtype {dtype}; {advice}"
    )


def any_dtype(function, value):
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError) as error:
        raise TypeError(
            f"{function}: dtype must be a NumPy dtype; got {value!r}; pass such as numpy.float32"
        ) from error
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise TypeError(
            f"{function}: dtype must be of single items of a fixed size; got {dtype}; pass such as numpy.float32"
        )
    return dtype


def weighted_dtypes(function, dtype, wanted):
    """(dtype of the result, whether the accumulator is float64) of a weighted forward of `dtype`."""
    if wanted is None:
        if dtype.name not in _dtypes.WEIGHTED:
            weighted_dtype(function, dtype)
        return _dtypes.native(dtype), _dtypes.needs_double(dtype)
    wanted = any_dtype(function, wanted)
    if dtype.kind not in "biufc" and dtype.name not in _dtypes.CODES:
        weighted_dtype(function, dtype, "convert it to float32 or float64 first")
    if wanted == dtype and dtype.name in _dtypes.WEIGHTED:
        return _dtypes.native(dtype), _dtypes.needs_double(dtype)
    allowed = ("complex64", "complex128") if dtype.kind == "c" else ("float32", "float64")
    if wanted.name not in allowed:
        result_dtype(function, wanted, allowed)
    return _dtypes.native(wanted), wanted.name in ("float64", "complex128")


def result_dtype(function, dtype, allowed):
    raise TypeError(
        f"{function}: dtype must be {' or '.join(allowed)}, or x's own dtype, in a weighted mode; got {dtype}; "
        f"pass one of these"
    )


def out_dtype_disagrees(function, out, dtype):
    raise TypeError(f"{function}: out and dtype must agree; got out of dtype {out} and dtype={dtype}; leave dtype out")


def _why_no_slice(part):
    """The error for something that is no slice of step 1 between integers, or None."""
    if not isinstance(part, slice):
        return TypeError
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, (bool, np.bool_)):
            return TypeError
        try:
            _ = None if bound is None else operator.index(bound)
        except TypeError:
            return TypeError
    return None if part.step is None or operator.index(part.step) == 1 else ValueError


def region(function, value, shape, argument="output_region"):
    """A region of an array as a tuple of (start, stop), one per axis, none empty."""
    if not isinstance(value, (tuple, list, slice)):
        raise TypeError(
            f"{function}: {argument} must be a tuple of slices, one per axis; got {value!r}; "
            f"pass such as (slice(0, 8), slice(None))"
        )
    parts = (value,) if isinstance(value, slice) else tuple(value)
    if len(parts) != len(shape):
        raise ValueError(
            f"{function}: {argument} must have one slice per axis, {len(shape)}; got {len(parts)}; "
            f"pass slice(None) for a whole axis"
        )
    result = []
    for axis, (part, length) in enumerate(zip(parts, shape, strict=True)):
        kind = _why_no_slice(part)
        if kind is not None:
            raise kind(
                f"{function}: {argument} must hold slices of step 1; got {part!r} for axis {axis}; "
                f"pass slice(start, stop)"
            )
        start, stop, _ = part.indices(length)
        if stop <= start:
            raise ValueError(
                f"{function}: {argument} must not be empty; got {part!r} for axis {axis} of length {length}; "
                f"pass start < stop within the axis"
            )
        result.append((start, stop))
    return tuple(result)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures

_PICTURE_MODES = {
    "bool (H, W)": ("1",),
    "uint8 (H, W)": ("L",),
    "uint16 (H, W)": ("I;16", "I;16L", "I;16B", "I;16N"),
    "int32 (H, W)": ("I",),
    "float32 (H, W)": ("F",),
    "float64 (H, W)": ("F",),
    "uint8 (H, W, 1)": ("L",),
    "uint8 (H, W, 2)": ("LA", "La"),
    "uint8 (H, W, 3)": ("RGB", "YCbCr", "HSV", "LAB"),
    "uint8 (H, W, 4)": ("RGBA", "CMYK", "RGBX", "RGBa"),
}
_IMAGE_MODES = ("P", "PA", *dict.fromkeys(name for names in _PICTURE_MODES.values() for name in names))
_LIGHT_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "HSV", "I;16", "I;16L", "I;16B", "I;16N")
# A side of a Pillow image is a C int.
_MAX_SIDE = 2**31 - 1


def picture(function, image, image_type):
    if not isinstance(image, image_type):
        raise TypeError(
            f"{function}: image must be a PIL.Image.Image; got {_type_name(image)}; "
            f"open a file with PIL.Image.open, or make an image of an array with imgops.pillow.to_image"
        )
    if image.mode not in _IMAGE_MODES:
        raise ValueError(
            f"{function}: image must have one of the modes {', '.join(_IMAGE_MODES)}; got mode {image.mode!r}; "
            f"convert it, such as image.convert('RGB')"
        )
    return image


_TRANSPARENT_COLOURS = {
    "1": "a whole number from 0 to 255",
    "L": "a whole number from 0 to 255",
    "RGB": "three whole numbers from 0 to 255, or one for a grey",
    "P": "an index from 0 to 255, or bytes of up to 256 alphas",
}


def picture_transparency(function, image):
    """Refuse a transparent colour in `info` that is none of the image's mode."""
    value, mode = image.info.get("transparency"), image.mode
    deep = mode.startswith("I;16")
    if "transparency" not in image.info or not (deep or mode in _TRANSPARENT_COLOURS):
        return
    if mode == "P" and isinstance(value, bytes) and len(value) <= 256:
        return
    values = value if mode == "RGB" and isinstance(value, (tuple, list)) and len(value) == 3 else (value,)
    if all(isinstance(part, Integral) and 0 <= part <= (65535 if deep else 255) for part in values):
        return
    kind = "a whole number from 0 to 65535" if deep else _TRANSPARENT_COLOURS[mode]
    raise ValueError(
        f"{function}: info['transparency'] of an image of mode {mode} must be {kind}; got {value!r}; "
        f"correct it, or delete it from image.info"
    )


def picture_mode(function, array, mode):
    """The Pillow mode for an array: the one asked for, if it has the array's layout, else the layout's usual one."""
    channels = f", {array.shape[2]}" if array.ndim == 3 else ""
    dtypes = dict.fromkeys(layout.split()[0] for layout in _PICTURE_MODES)
    if array.dtype.name not in dtypes:
        raise TypeError(
            f"{function}: array must have dtype {', '.join(dtypes)}; got {array.dtype}; "
            f"convert it, such as array.astype(numpy.uint8)"
        )
    modes = _PICTURE_MODES.get(f"{array.dtype.name} (H, W{channels})")
    if array.ndim not in (2, 3) or modes is None:
        raise ValueError(
            f"{function}: array must be (H, W), or (H, W, C) of uint8 with 1 to 4 channels; got {array.dtype} of shape "
            f"{array.shape}; put height first and channels last, one picture at a time"
        )
    return modes[0] if mode is None else name_of(function, "mode", mode, modes)


def picture_size(function, value):
    """(width, height) as two ints that Pillow can hold."""
    if not is_sequence(value) or len(value) != 2:
        raise TypeError(
            f"{function}: size must be (width, height); got {value!r}; pass two numbers, such as (640, 480)"
        )
    size = tuple(integer(function, "size", side, "pass whole numbers of pixels, (width, height)") for side in value)
    if not all(1 <= side <= _MAX_SIDE for side in size):
        raise ValueError(
            f"{function}: size must be between 1 and {_MAX_SIDE} pixels on each side; got (width={size[0]}, "
            f"height={size[1]}); pass a size that a picture can have"
        )
    return size


def picture_method(function, value):
    return name_of(function, "method", value, UPSCALE_METHODS, _MODE_SYNONYMS)


def picture_enlargement(function, value):
    scale = exact(function, "scale", value)
    if scale < 1:
        raise ValueError(f"{function}: scale must be at least 1; got {value}; pass such as 2, or resize to shrink")
    return value


def picture_box(function, value, size, convention):
    """(left, top, right, bottom) inside the picture as Fractions, or None."""
    if value is None:
        return None
    if not is_sequence(value) or len(value) != 4:
        raise TypeError(f"{function}: box must be (left, top, right, bottom); got {value!r}; pass four numbers or None")
    if convention != "half_pixel":
        raise ValueError(
            f"{function}: box is defined for convention='half_pixel'; got convention={convention!r}; "
            f"crop the image, or leave convention out"
        )
    left, top, right, bottom = box = tuple(exact(function, "box", edge) for edge in value)
    if not (0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]):
        raise ValueError(
            f"{function}: box must be (left, top, right, bottom) with left < right and top < bottom inside the image; "
            f"got {tuple(value)} for an image of (width={size[0]}, height={size[1]}); pass a box that lies inside"
        )
    return box


def picture_convention(function, value):
    if is_sequence(value):
        raise TypeError(
            f"{function}: convention must be one name or one AxisMap for both axes of an image; got {value!r}; "
            f"resample an array for one per axis"
        )
    return value


def picture_linear_light(function, value, mode, image_mode):
    value = flag(function, "linear_light", value)
    if value and mode == "nearest":
        raise ValueError(
            f"{function}: linear_light=True needs a weighted mode; got mode='nearest', which weighs nothing; "
            f"pass mode='linear'"
        )
    if value and image_mode not in _LIGHT_MODES:
        raise ValueError(
            f"{function}: linear_light=True needs sRGB code values, an image of mode {', '.join(_LIGHT_MODES)}; "
            f"got mode {image_mode!r}; convert the image or pass linear_light=False"
        )
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Identifying


def identify_arrays(function, x, y):
    """Two arrays of numbers or bool, real or complex alike, none empty, in native byte order."""
    x, y = as_array(function, x), as_array(function, y, "y")
    for argument, array in (("x", x), ("y", y)):
        if array.dtype.kind not in "biufc" and array.dtype.name not in _dtypes.CODES:
            raise TypeError(
                f"{function}: {argument} must hold numbers or bool; got dtype {array.dtype}; "
                f"compare numbers, such as the codes of the labels"
            )
        if array.size == 0:
            raise ValueError(
                f"{function}: {argument} must not be empty; got shape {array.shape}; pass an array with elements"
            )
    if (x.dtype.kind == "c") != (y.dtype.kind == "c"):
        raise TypeError(
            f"{function}: x and y must both be real or both complex; got dtypes {x.dtype} and {y.dtype}; "
            f"compare their real parts"
        )
    return tuple(array.astype(_dtypes.native(array.dtype), copy=False) for array in (x, y))


def identify_shapes(function, shape, other, resampled, layout):
    """Raise unless the lengths of x and y agree on all but the resampled axes."""
    if len(shape) != len(other):
        raise ValueError(
            f"{function}: x and y must have the same number of axes; got shapes {tuple(shape)} and {tuple(other)}; "
            f"add or drop axes of length 1"
        )
    if any(a != b for axis, (a, b) in enumerate(zip(shape, other, strict=True)) if axis not in resampled):
        letters = layout if len(shape) > 2 else None
        raise ValueError(
            f"{function}: x and y must have the same lengths on all but the resampled axes {tuple(resampled)}; got "
            f"shapes {describe_shape(shape, letters)} and {describe_shape(other, letters)}; pass another data_format, "
            f"or axes="
        )


def tolerance(function, value, default):
    """A difference of 0 or more, inf included; `default` for None."""
    if value is None:
        return default
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Rational, float, np.floating)):
        raise TypeError(
            f"{function}: tolerance must be a real number; got {value!r} of type {_type_name(value)}; "
            f"pass the largest difference, such as 1e-6, or None"
        )
    if not value >= 0:
        raise ValueError(f"{function}: tolerance must be 0 or more; got {value}; pass 0 for equal results only")
    return float(value)


# ---------------------------------------------------------------------------------------------------------------------
# Interfaces: the conditions of the operators' owners


def interface_array(function, argument, value, types, ranks, refused=(), letters=None):
    """An array of one of these dtypes, by name (None is any but `refused`), and numbers of axes.

    A quantised type is a structure of one field, which has the type's name.
    """
    array = as_array(function, value, argument)
    fields = array.dtype.names
    name = fields[0] if fields and len(fields) == 1 else array.dtype.name
    if (types is not None and name not in types) or name in refused:
        required = f"have dtype {_choices(types)}" if types else f"not have dtype {_choices(refused)}"
        advice = "float32" if types is None or "float32" in types else types[0]
        raise TypeError(
            f"{function}: {argument} must {required}; got dtype {array.dtype}; convert it, such as "
            f"{argument}.astype({advice!r})"
        )
    if array.ndim not in ranks:
        counts = " or ".join(map(str, ranks)) if len(ranks) < 3 else f"{ranks[0]} to {ranks[-1]}"
        named = f" (N, {', '.join(_LETTERS[letters])})" if letters else ""
        raise ValueError(
            f"{function}: {argument} must have {counts} axes{named}; got shape {array.shape}; add or remove axes"
        )
    return array


def interface_size(function, argument, value, count):
    """A sequence of exactly `count` positive ints."""
    given = tuple(value) if is_sequence(value) else value
    if not isinstance(given, tuple) or len(given) != count:
        raise ValueError(f"{function}: {argument} must be {count} integers; got {given!r}; pass one for each axis")
    lengths = tuple(integer(function, argument, length, "pass whole numbers") for length in given)
    if min(lengths) < 1:
        raise ValueError(f"{function}: {argument} must be at least 1 everywhere; got {lengths}; pass positive integers")
    return lengths


def interface_lengths(function, argument, lengths):
    if max(lengths) > 2**32 - 1:
        raise ValueError(
            f"{function}: {argument} must keep every length below 2**32; the result would have {tuple(lengths)}; "
            f"pass smaller factors"
        )


def interface_floats(function, argument, value, count, positive=False):
    """`count` finite float32 from a number or from one number per axis."""
    given = tuple(value) if is_sequence(value) else (value,) * count
    if len(given) != count:
        raise ValueError(
            f"{function}: {argument} must be a number or one number per axis, {count}; got {len(given)}: {given}; "
            f"pass one for each axis"
        )
    limit = float(np.finfo(np.float32).max)
    result = []
    for entry in given:
        number = exact(function, argument, entry)
        single = np.float32(float(number)) if abs(number) <= limit else np.float32(np.inf)
        if not np.isfinite(single) or (positive and single <= 0):
            required = "positive and finite" if positive else "finite"
            raise ValueError(f"{function}: {argument} must be {required} as float32; got {entry!r}; pass such a number")
        result.append(single)
    return tuple(result)


def interface_name_or_none(function, argument, value, valid):
    """None, or one of the names among the keys of `valid`."""
    return None if value is None else name_of(function, argument, value, [name for name in valid if name is not None])


def interface_antialiased(function, value, interpolation_mode, mode):
    antialiased = flag(function, "antialiased", value)
    if antialiased and mode == "nearest":
        raise ValueError(
            f"{function}: antialiased=True needs interpolation_mode='linear'; got interpolation_mode="
            f"{interpolation_mode!r}; leave antialiased out"
        )
    return antialiased


def interface_block(function, value):
    block = block_size(function, value)
    if block < 2:
        raise ValueError(f"{function}: block_size must be at least 2; got {block}; a block of 1 would be a copy")
    return block


def interface_divisible(function, shape, value, to_space):
    """The block size, where it divides an (N, C, H, W) array; for operators without a data format."""
    block = block_size(function, value)
    if to_space and shape[1] % block**2:
        raise ValueError(
            f"{function}: channels must be divisible by block_size**2 = {block**2}; input has shape "
            f"{describe_shape(shape, 'NCHW')}; transpose it if the channels come last, or pass another block_size"
        )
    if not to_space and (shape[2] % block or shape[3] % block):
        raise ValueError(
            f"{function}: height and width must be divisible by block_size = {block}; input has shape "
            f"{describe_shape(shape, 'NCHW')}; crop or pad it, or transpose it if the channels come last"
        )
    return block


def interface_flags(function, align_corners, half_pixel_centers, conventions):
    """The entry of `conventions` for two flags that must not both be set."""
    flags = (
        flag(function, "align_corners", align_corners),
        flag(function, "half_pixel_centers", half_pixel_centers),
    )
    if flags not in conventions:
        raise ValueError(
            f"{function}: half_pixel_centers=True needs align_corners=False; got both True; pass one of the two"
        )
    return conventions[flags]


def interface_float32_lengths(function, argument, shape):
    if max(shape[1:3]) >= 2**24:
        raise ValueError(
            f"{function}: {argument} must have a height and width below 2**24, exact in float32; "
            f"got shape {describe_shape(shape, 'NHWC')}; pass smaller images"
        )


def interface_nonzero(function, argument, shape, axes):
    if any(shape[axis] == 0 for axis in axes):
        named = ", ".join("NHWC"[axis] for axis in axes)
        raise ValueError(
            f"{function}: {argument} must not be empty along {named}; got shape {describe_shape(shape, 'NHWC')}; "
            f"pass images with pixels"
        )


def interface_same_batch(function, argument, shape, other_argument, other_shape):
    if (shape[0], shape[3]) != (other_shape[0], other_shape[3]):
        raise ValueError(
            f"{function}: {argument} and {other_argument} must have the same N and C; got shapes "
            f"{describe_shape(shape, 'NHWC')} and {describe_shape(other_shape, 'NHWC')}; pass the forward call's image"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Interfaces: ONNX


def onnx_blocks(function, value, blocksize, mode, to_space):
    """(array, block, mode) of an (N, C, H, W) array whose channels, or height and width, the block divides."""
    array = interface_array(function, "input", value, None, (4,), letters="NCHW")
    block = block_size(function, blocksize, "blocksize")
    mode = name_of(function, "mode", mode, BLOCK_MODES)
    _, channels, height, width = array.shape
    if to_space and channels % block**2:
        raise ValueError(
            f"{function}: channels must be divisible by blocksize**2 = {block**2}; input has shape "
            f"{describe_shape(array.shape, 'NCHW')}; transpose it if the channels come last, or pass another blocksize"
        )
    if not to_space and (height % block or width % block):
        raise ValueError(
            f"{function}: height and width must be divisible by blocksize = {block}; input has shape "
            f"{describe_shape(array.shape, 'NCHW')}; crop or pad it, or transpose it if the channels come last"
        )
    return array, block, mode


def onnx_flag(function, argument, value):
    number = int(value) if isinstance(value, (bool, np.bool_)) else integer(function, argument, value, "pass 0 or 1")
    if number not in (0, 1):
        raise ValueError(f"{function}: {argument} must be 0 or 1; got {number}; pass one of these")
    return bool(number)


def onnx_number(function, argument, value, finite=True):
    """A float; with `finite` neither infinite nor NaN."""
    if not finite and isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return float(value)
    return float(exact(function, argument, value))


def onnx_no_antialias(function):
    raise ValueError(
        f"{function}: antialias=1 needs mode 'linear' or 'cubic'; got mode='nearest', which has no filter to widen; "
        f"pass mode='linear' or leave antialias out"
    )


def onnx_entries(function, argument, value, count):
    """A sequence of `count` entries as a tuple; None where it is not given or empty."""
    if value is None:
        return None
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, (str, bytes)) or np.ndim(value) != 1:
        raise TypeError(
            f"{function}: {argument} must be a sequence of numbers, one axis long; got {value!r}; pass such as a list"
        )
    if len(value) not in (0, count):
        raise ValueError(
            f"{function}: {argument} must have {count} entries for the axes; got {len(value)}: {tuple(value)}; "
            f"pass {count} entries, or name the axes with axes="
        )
    return tuple(value) or None


def onnx_scales(function, value, count, least=None):
    """`count` positive float32 numbers, none below `least`."""
    scales = onnx_entries(function, "scales", value, count)
    if scales is None:
        raise ValueError(f"{function}: scales is required; got none; pass one number per axis, {count}")
    scales = interface_floats(function, "scales", scales, count, positive=True)
    if least is not None and min(scales) < least:
        raise ValueError(
            f"{function}: scales must be at least {least}; got {tuple(map(float, scales))}; shrink with Resize"
        )
    return scales


def onnx_scales_or_sizes(function, scales, sizes, count, policy):
    """(scales, None) or (None, sizes), exactly one of the two."""
    given = [onnx_entries(function, *entry, count) is not None for entry in (("scales", scales), ("sizes", sizes))]
    if all(given) or not any(given):
        came = "both" if all(given) else "neither"
        raise ValueError(f"{function}: one of scales and sizes is required; got {came}; pass exactly one of the two")
    if given[0] and policy != "stretch":
        raise ValueError(
            f"{function}: keep_aspect_ratio_policy={policy!r} needs sizes; got scales; pass sizes, or 'stretch'"
        )
    return (onnx_scales(function, scales, count), None) if given[0] else (None, sizes)


def onnx_sizes(function, value, count):
    sizes = onnx_entries(function, "sizes", value, count)
    sizes = tuple(integer(function, "sizes", length, "pass whole numbers of samples") for length in sizes)
    if min(sizes) < 0:
        raise ValueError(f"{function}: sizes must not be negative; got {sizes}; pass numbers of samples")
    return sizes


def onnx_products(function, lengths, products):
    if not np.isfinite(products).all():
        raise ValueError(
            f"{function}: lengths times scales must be finite in float32; got lengths {tuple(lengths)} and products "
            f"{tuple(map(float, products))}; pass smaller scales"
        )


def onnx_lengths(function, lengths, results):
    """Raise where a result has no samples of an axis that has some, or some of an axis that has none."""
    if any((n == 0) != (m == 0) for n, m in zip(lengths, results, strict=True)):
        raise ValueError(
            f"{function}: every axis must keep at least one sample, and an axis without samples stays without; got "
            f"lengths {tuple(lengths)} to become {tuple(results)}; pass other scales or sizes"
        )


def onnx_roi(function, value, count):
    """A (start, end) pair of Fractions for each of `count` axes."""
    if value is None or len(np.atleast_1d(value)) == 0:
        raise ValueError(
            f"{function}: coordinate_transformation_mode='tf_crop_and_resize' needs roi; got none; pass the {count} "
            f"starts and then the {count} ends"
        )
    entries = onnx_entries(function, "roi", value, 2 * count)
    for entry in entries:
        exact(function, "roi", entry)
    # The binary numbers themselves: exact() above only refuses what is no finite number.
    numbers = [Fraction(float(entry)) for entry in entries]
    return list(zip(numbers[:count], numbers[count:], strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Interfaces: torch

_TORCH_AXES = {3: "(N, C, W)", 4: "(N, C, H, W)", 5: "(N, C, D, H, W)"}


def torch_block(function, shape, argument, value, to_space):
    """The side of a block that divides an array of (..., C, H, W)."""
    if len(shape) < 3:
        raise ValueError(
            f"{function}: input must have at least 3 axes (..., C, H, W); got shape {tuple(shape)}; "
            f"add the missing axes"
        )
    block = block_size(function, value, argument)
    if to_space and shape[-3] % block**2:
        raise ValueError(
            f"{function}: channels must be divisible by {argument}**2 = {block**2}; input has shape "
            f"{describe_shape(shape, 'NCHW')}; transpose it if the channels come last, or pass another factor"
        )
    if not to_space and (shape[-2] % block or shape[-1] % block):
        raise ValueError(
            f"{function}: height and width must be divisible by {argument} = {block}; input has shape "
            f"{describe_shape(shape, 'NCHW')}; crop or pad it, or transpose it if the channels come last"
        )
    return block


def torch_rank(function, argument, shape, mode, ranks):
    if len(shape) not in ranks:
        required = " or ".join(_TORCH_AXES[rank] for rank in ranks)
        raise ValueError(
            f"{function}: mode={mode!r} needs {argument} of {required}; got shape {tuple(shape)}; "
            f"add or remove axes, or pass the mode for them"
        )


def torch_nonempty(function, shape, first):
    """Raise for a length of 0 on an axis from `first` on."""
    if 0 in shape[first:]:
        letters = ("C and the spatial axes", "the spatial axes")[first - 1]
        raise ValueError(
            f"{function}: input must not be empty along {letters}; got shape {tuple(shape)}; pass samples to read"
        )


def torch_align_corners(function, value, mode, has_corners):
    if not has_corners and value is not None:
        raise ValueError(
            f"{function}: align_corners is defined for the modes 'linear', 'bilinear', 'bicubic' and 'trilinear'; got "
            f"align_corners={value!r} with mode={mode!r}; leave align_corners out"
        )
    return value is not None and flag(function, "align_corners", value)


def torch_antialias(function, antialias, align_corners, mode, allowed):
    """Raise unless `antialias` is one of the values that the mode has."""
    if antialias not in allowed:
        required = "is defined for 'bilinear', 'bicubic' and 'lanczos'" if antialias else "is required"
        raise ValueError(
            f"{function}: antialias=True {required}; got antialias={antialias} with mode={mode!r}; "
            f"pass antialias={not antialias} or another mode"
        )
    if align_corners and mode == "lanczos":
        raise ValueError(
            f"{function}: mode='lanczos' needs align_corners=False; got align_corners=True; leave align_corners out"
        )


def torch_size_or_scale_factor(function, size, scale_factor, recompute):
    """Raise unless one of the two is given; returns whether the scale is to be computed from the sizes again."""
    recompute = recompute is not None and flag(function, "recompute_scale_factor", recompute)
    if size is not None and scale_factor is not None:
        raise ValueError(
            f"{function}: only one of size and scale_factor may be given; got size={size!r} and "
            f"scale_factor={scale_factor!r}; leave one out"
        )
    if size is None and scale_factor is None:
        raise ValueError(f"{function}: size or scale_factor is required; got neither; pass one of the two")
    if size is not None and recompute:
        raise ValueError(
            f"{function}: recompute_scale_factor=True needs scale_factor; got size={size!r}; "
            f"leave recompute_scale_factor out"
        )
    return recompute


def torch_scaled_size(function, lengths, factors):
    """(output lengths, factors as floats): the floors of the float64 products."""
    if len(factors) != len(lengths):
        raise ValueError(
            f"{function}: scale_factor must be a number or one number per spatial axis, {len(lengths)}; got "
            f"{len(factors)}: {tuple(factors)}; pass one for each axis"
        )
    for factor in factors:
        positive(function, "scale_factor", factor)
    # Beyond this no size can be held anyway, and products of floats would become infinite.
    factors = tuple(float(min(factor, 2**63)) for factor in factors)
    size = tuple(math.floor(length * factor) for length, factor in zip(lengths, factors, strict=True))
    if min(size) < 1:
        raise ValueError(
            f"{function}: the result must have at least one sample on every axis; lengths {tuple(lengths)} times "
            f"scale_factor {factors} give {size}; pass a larger scale_factor, or size"
        )
    return size, factors


def needs_onnx(function, error):
    raise ImportError(
        f"{function}: the package onnx is required; it could not be imported ({error}); install it: pip install onnx"
    ) from error


def onnx_device(function, value, supported):
    if not supported:
        raise ValueError(f"{function}: device must be 'CPU'; got {value!r}; there is no other")


def onnx_model(function, value, model_type):
    if not isinstance(value, model_type):
        raise TypeError(
            f"{function}: the first argument must be an onnx.{model_type.__name__}; got {_type_name(value)}; "
            f"read a file with onnx.load"
        )


def onnx_operator(function, domain, name, version, operators):
    """The callable of an operator's version; `operators` is {name: {version: callable}}."""
    if domain not in ("", "ai.onnx") or name not in operators:
        shown = f"{domain}.{name}" if domain else name
        raise ValueError(
            f"{function}: every node must be {' or '.join(operators)} of ONNX's own domain; got {shown}; "
            f"run the rest of the model elsewhere"
        )
    if version not in operators[name]:
        known = ", ".join(map(str, operators[name]))
        raise ValueError(
            f"{function}: {name} must be as of operator set {known}; got its version of operator set {version}; "
            f"convert the model, such as with onnx.version_converter"
        )
    return operators[name][version]


def onnx_invalid(function, what, error):
    reason = " ".join(str(error).split())
    raise ValueError(f"{function}: the {what} must pass onnx.checker; it says: {reason}; correct the {what}") from error


def onnx_sparse(function, names):
    raise ValueError(f"{function}: initializers must be dense; got sparse {', '.join(names)}; make them dense")


def onnx_inputs(function, values, names, optional=()):
    """{name: array} from a sequence in the order of `names`, with or without the `optional` ones, or from a dict."""
    required = [name for name in names if name not in optional]
    if isinstance(values, dict):
        given = dict(values)
        if not set(required) <= set(given) <= set(names):
            raise ValueError(
                f"{function}: inputs must be named {', '.join(required)}; got {', '.join(map(str, given)) or 'none'}; "
                f"pass an array for each"
            )
    else:
        if not isinstance(values, (list, tuple)):
            raise TypeError(
                f"{function}: inputs must be a list of arrays or a dict of them; got {_type_name(values)}; "
                f"put it into a list"
            )
        expected = names if len(values) == len(names) else required
        if len(values) != len(expected):
            raise ValueError(
                f"{function}: inputs must be {len(required)} arrays ({', '.join(required)}); got {len(values)}; "
                f"pass one for each"
            )
        given = dict(zip(expected, values, strict=True))
    return {name: as_array(function, value, name) for name, value in given.items()}


def onnx_declared(function, name, array, dtype, shape):
    """Raise where an input is not what the model declares; a length that is None may be anything."""
    if dtype is not None and array.dtype != dtype:
        raise TypeError(
            f"{function}: {name} must have the model's dtype {dtype}; got {array.dtype}; convert it, such as "
            f"{name}.astype({dtype.name!r})"
        )
    if shape is not None and (
        len(shape) != array.ndim or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        lengths = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(
            f"{function}: {name} must have the model's shape ({lengths}); got {array.shape}; pass such an array"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Files of models


def model_file(source, required, found, advice):
    """Raise the ValueError of a file that is no usable model."""
    raise ValueError(f"{source}: {required}; got {found}; {advice}")


# ---------------------------------------------------------------------------------------------------------------------
# Super-resolution

_SR_DTYPES = ("uint8", "uint16", "float32")


def sr_model(function, value, names):
    """One of the names, or the path of a file as a str."""
    if isinstance(value, str) and value in names:
        return value
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise TypeError(
            f"{function}: model must be {_choices(names)} or the path of a model file; got {value!r} of type "
            f"{_type_name(value)}; pass one of these"
        )
    path = os.fspath(value)
    if not path or "\0" in path or not os.path.exists(path):
        looks_like_path = isinstance(value, os.PathLike) or os.path.splitext(path)[1] or os.path.dirname(path)
        kind = FileNotFoundError if looks_like_path else ValueError
        advice = "; pass the path of an .onnx or .param file" if looks_like_path else suggestion(value, names)
        came = f"{path!r}, which is no existing file" if looks_like_path else repr(path)
        raise kind(f"{function}: model must be {_choices(names)} or the path of a model file; got {came}{advice}")
    return path


def sr_scale(function, value, scales, model):
    number = exact(function, "scale", value)
    if number not in scales:
        allowed = " or ".join(str(scale) for scale in scales)
        raise ValueError(
            f"{function}: scale must be {allowed} with model {model!r}; got {shown(value)}; pass one of these, or "
            f"enlarge an image by any scale with imgops.pillow.upscale"
        )
    return int(number)


def sr_tile(function, value):
    number = integer(function, "tile", value, "pass a side in input pixels, such as 256, or None")
    if number < 8:
        raise ValueError(f"{function}: tile must be at least 8 pixels; got {number}; pass such as 256, or None")
    return number


def sr_pixels(function, x):
    """An array of (H, W) or (H, W, C) pixels, in native byte order."""
    array = as_array(function, x, "pixels")
    if array.dtype.name not in _SR_DTYPES:
        advice = "pass pixels.astype(numpy.float32) of 0 to 1"
        raise TypeError(f"{function}: pixels must have dtype {', '.join(_SR_DTYPES)}; got {array.dtype}; {advice}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise ValueError(
            f"{function}: pixels must be (H, W) or (H, W, C) with 1 to 4 channels; got shape {array.shape}; "
            f"put height first and channels last, one picture at a time"
        )
    if 0 in array.shape:
        raise ValueError(f"{function}: pixels must not be empty; got shape {array.shape}; pass at least one pixel")
    return array


def sr_options(function, method, **options):
    """Refuse what only super-resolution has."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"{function}: {name} is defined for method='sr'; got {name}={value!r} with method={method!r}; leave "
                f"{name} out"
            )


def sr_image(function, mode, linear_light):
    """Refuse what super-resolution cannot do with an image of a mode."""
    if flag(function, "linear_light", linear_light):
        raise ValueError(
            f"{function}: linear_light=True has no meaning with method='sr', whose networks take code values; got "
            f"both; leave linear_light out, or pass method='linear'"
        )
    if mode in ("I", "F"):
        raise ValueError(
            f"{function}: method='sr' needs an image whose white is known, of 8 or 16 bits; got mode {mode!r}; convert "
            f"the image, or choose another method, such as 'linear'"
        )


def sr_needs_runtime(name, found):
    raise ImportError(
        f"{name}: the package onnxruntime is required, since plain NumPy does not have {found}; it could not be "
        f"imported; install it: pip install 'imgops[sr]'"
    )


def sr_not_runnable(name, error, shape=None):
    reason = " ".join(str(error).split())
    if "alloc" in reason.lower() and "memory" in reason.lower():
        raise MemoryError(f"{name}: a tile does not fit in memory; pass a smaller tile") from error
    where = "" if shape is None else f" on an input of shape {shape}"
    raise ValueError(
        f"{name}: a model must run in ONNX Runtime; it says{where}: {reason}; pass another model"
    ) from error


def sr_result(name, expected, made):
    """Raise where a model's output is not the enlarged picture, or no numbers."""
    found = np.shape(made)
    if found != expected:
        raise ValueError(
            f"{name}: the model's output must have shape {expected} here; got {found}; pass a model whose "
            f"output is the enlarged picture"
        )
    finite = np.isfinite(made)
    if not finite.all():
        raise ValueError(
            f"{name}: the model's output must be finite; got NaN or infinity for {finite.size - finite.sum()} of "
            f"{finite.size} values; pass another model, or one of float32 if this one's float16 overflows"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Other arrays: DLPack's devices, dask, torch

# Numbers of DLPack's DLDeviceType; those of the second set are memory that the CPU reads as its own.
_DEVICES = {
    2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 9: "VPI", 10: "ROCm", 12: "an extension", 14: "oneAPI",
    15: "WebGPU", 16: "Hexagon", 17: "MAIA", 18: "Trainium",
}  # fmt: skip
_CPU_DEVICES = frozenset((1, 3, 11, 13))


def on_cpu(function, x, argument):
    """Raise for an array whose memory is not the CPU's, even one that would be copied from there unasked."""
    device = None
    try:
        if hasattr(x, "__dlpack_device__"):
            kind, number = x.__dlpack_device__()
            if int(kind) not in _CPU_DEVICES:
                device = f"{_DEVICES.get(int(kind), f'device type {int(kind)}')} {number}"
        elif hasattr(x, "__cuda_array_interface__"):
            device = "CUDA"
    except Exception:  # an object that cannot say so is judged by its conversion
        return
    if device is not None:
        raise TypeError(
            f"{function}: {argument} must be an array on the CPU; got {_type_name(x)} on {device}; copy it first, such "
            f"as with {argument}.cpu(), {argument}.get() or numpy.asarray"
        )


def needs_package(function, package, requirement, error):
    raise ImportError(
        f"{function}: the package {package} is required; it could not be imported ({error}); install it: "
        f"pip install {requirement!r}"
    ) from error


def dask_blocks(function, argument, meta, chunks):
    """Raise unless a dask array has blocks of NumPy arrays, of known lengths."""
    if not isinstance(meta, np.ndarray):
        kind = f"{type(meta).__module__}.{_type_name(meta)}"
        raise TypeError(
            f"{function}: {argument} must have blocks of numpy.ndarray; got {kind}; "
            f"convert them, such as {argument}.map_blocks(numpy.asarray), or with what copies them to the CPU"
        )
    known_chunks(function, argument, chunks)


def known_chunks(function, argument, chunks):
    unknown = [axis for axis, lengths in enumerate(chunks) if any(length != length for length in lengths)]
    if unknown:
        raise ValueError(
            f"{function}: {argument} must have chunks of known sizes; got unknown ones (NaN) on axis "
            f"{', '.join(map(str, unknown))}; call compute_chunk_sizes() of the dask array first"
        )
    return chunks


def chunks(function, value, ndim):
    """One entry per axis, None for the default; what the entries mean is dask's to say."""
    if isinstance(value, dict):
        entries = [None] * ndim
        for key, entry in value.items():
            for axis in axes(function, key, ndim):
                entries[axis] = entry
        return tuple(entries)
    if isinstance(value, (tuple, list)):
        is_one_axis = ndim == 1 and all(isinstance(entry, Integral) for entry in value)
        value = (tuple(value),) if is_one_axis else tuple(value)
        if len(value) != ndim:
            raise ValueError(
                f"{function}: chunks must have one entry per axis of the result, {ndim}; got {len(value)}: {value}; "
                f"pass a dict of axes for some of them"
            )
        return value
    return (value,) * ndim


def wrong_chunks(function, value, shape, error):
    raise ValueError(
        f"{function}: chunks must fit the result's shape {tuple(shape)}; got {value!r} ({error}); pass lengths that "
        f"add up to it, one length per axis, or leave chunks out"
    ) from error


def lengths_of_chunks(function, value, shape):
    """Chunks in dask's own form, none of which may be unknown or negative."""
    known_chunks(function, "chunks", value)
    if any(length < 0 for lengths in value for length in lengths):
        wrong_chunks(function, value, shape, ValueError("a length is negative"))
    return value


def dask_out(function, out, array_type, shape, dtypes):
    """Raise unless `out` is a dask array that may become the result."""
    if not isinstance(out, array_type):
        raise TypeError(
            f"{function}: out must be a dask.array.Array; got {_type_name(out)}; leave out away, and write the result "
            f"with dask.array.store"
        )
    dask_blocks(function, "out", out._meta, out.chunks)
    if out.shape != tuple(shape):
        raise ValueError(
            f"{function}: out must have shape {tuple(shape)}; got shape {out.shape}; pass an array of that shape or "
            f"leave out away"
        )
    if out.dtype not in dtypes:
        raise TypeError(
            f"{function}: out must have dtype {' or '.join(str(dtype) for dtype in dtypes)}; got {out.dtype}; "
            f"pass an array of that dtype or leave out away"
        )


def block(function, value, shape, dtype):
    """A computed block as an ndarray; an error where it is not what its dask array declares."""
    array = np.asarray(value)
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{function}: every block must be as its dask array declares, {shape} of {dtype}; got one of shape "
            f"{array.shape} of {array.dtype}; correct the chunks, dtype or meta where that array is made"
        )
    return array


def needs_onnxruntime(source):
    """Raise the ImportError of a model that must be run to be known."""
    raise ImportError(
        f"{source}: the package onnxruntime is required for this model; it is not installed; "
        f"install it: pip install 'imgops[sr]'"
    )


def tensor(function, argument, value, tensor_type, dtypes):
    """Raise unless `value` is a dense torch tensor on the CPU, or of no data at all, of a dtype that NumPy has."""
    if not isinstance(value, tensor_type):
        raise TypeError(
            f"{function}: {argument} must be a torch.Tensor; got {_type_name(value)}; pass torch.as_tensor of it, or "
            f"call imgops.{function}"
        )
    if value.device.type not in ("cpu", "meta"):
        raise TypeError(
            f"{function}: {argument} must be a tensor on the CPU; got one on {value.device}; pass {argument}.cpu()"
        )
    if str(value.layout) != "torch.strided":
        raise TypeError(f"{function}: {argument} must be dense; got layout {value.layout}; pass {argument}.to_dense()")
    torch_dtype(function, argument, value.dtype, dtypes)


def torch_dtype(function, argument, value, dtypes):
    """The name that NumPy has for a torch dtype."""
    if value not in dtypes:
        raise TypeError(
            f"{function}: {argument} must have a torch.dtype that NumPy has ({', '.join(dtypes.values())}); got "
            f"{value}; convert it, such as with .to(torch.float32)"
        )
    return dtypes[value]


def no_convention_of_the_table(function, name):
    raise TypeError(
        f"{function}: a convention must be one of the table, one of its with_roi, or an AxisMap; got another one named "
        f"{name!r}; pass the AxisMap of each axis"
    )

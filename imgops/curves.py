"""Between code values and light: the sRGB curve, or the one that an ICC profile holds."""

import functools
import struct

import numpy as np

# A profile this close to sRGB's curve is sRGB's, whose formula is exact and faster.
_SAME = 2e-3
_GRID = np.linspace(0, 1, 65537)


@functools.lru_cache(maxsize=8)
def light_of_code(dtype, icc_profile=None):
    """The light in 0..1 of every code value of a dtype, as float32."""
    codes = np.arange(np.iinfo(dtype).max + 1) / np.iinfo(dtype).max
    curve = _profile_curve(icc_profile)
    return (_srgb_light(codes) if curve is None else np.interp(codes, _GRID, curve)).astype(np.float32)


def code_of_light(light, icc_profile=None):
    """The code value in 0..1 of light, clipped to 0..1: the inverse of `light_of_code`."""
    light = np.clip(light, 0, 1)
    curve = _profile_curve(icc_profile)
    if curve is None:
        return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** np.float32(1 / 2.4) - np.float32(0.055))
    return np.interp(light, curve, _GRID).astype(np.float32)


def _srgb_light(codes):
    """IEC 61966-2-1."""
    return np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)


@functools.lru_cache(maxsize=8)
def _profile_curve(icc_profile):
    """The light of each code of _GRID by a profile's one curve for all channels; None where sRGB's is to be taken.

    That is for no profile, one of sRGB's curve, and one without such a curve: of tables in several dimensions, of a
    curve for each channel, or damaged.
    """
    if icc_profile is None:
        return None
    try:
        curve = _read_curve(icc_profile)
    except (struct.error, IndexError, ValueError, OverflowError, ZeroDivisionError):
        return None
    if curve is None or not np.all(np.isfinite(curve)) or np.any(np.diff(curve) < 0) or curve[-1] <= curve[0]:
        return None
    return None if np.abs(curve - _srgb_light(_GRID)).max() < _SAME else curve


def _read_curve(profile):
    """ICC.1:2022, 7.3 (tag table), 10.6 (curveType) and 10.18 (parametricCurveType)."""
    (count,) = struct.unpack_from(">I", profile, 128)
    tags = {}
    for entry in range(min(count, 200)):
        name, offset, size = struct.unpack_from(">4sII", profile, 132 + 12 * entry)
        tags[name] = profile[offset : offset + size]
    curves = {tags.get(name) for name in ((b"rTRC", b"gTRC", b"bTRC") if profile[16:20] == b"RGB " else (b"kTRC",))}
    if len(curves) != 1 or None in curves:
        return None
    (tag,) = curves
    if tag[:4] == b"curv":
        (count,) = struct.unpack_from(">I", tag, 8)
        if count == 0:
            return _GRID
        values = np.array(struct.unpack_from(f">{count}H", tag, 12), np.float64)
        return _GRID ** (values[0] / 256) if count == 1 else np.interp(_GRID, np.linspace(0, 1, count), values / 65535)
    if tag[:4] == b"para":
        (kind,) = struct.unpack_from(">H", tag, 8)
        parameters = struct.unpack_from(f">{(1, 3, 4, 5, 7)[kind]}i", tag, 12)
        return _parametric(kind, *(value / 65536 for value in parameters))
    return None


def _parametric(kind, g, a=1.0, b=0.0, c=0.0, d=0.0, e=0.0, f=0.0):
    base = np.maximum(a * _GRID + b, 0) ** g
    if kind == 0:
        return base
    if kind in (1, 2):
        # Here the third number is what is added, and below -b / a there is nothing else.
        added = c if kind == 2 else 0.0
        return np.where(-b / a <= _GRID, base + added, added)
    return np.where(d <= _GRID, base + e, c * _GRID + f)

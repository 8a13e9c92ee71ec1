"""Between code values and light: the sRGB curve, or that of the greys of an ICC profile."""

import functools
import io
import struct

import numpy as np
from PIL import Image, ImageCms

# A profile this close to sRGB's curve is sRGB's, whose formula is exact and faster.
_SAME = 2e-3
_GRID = np.linspace(0, 1, 65537)
_POWER = 2.5
_D50 = (63190, 65536, 54061)


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


def has_curve(icc_profile):
    """Whether a profile's own curve is read, or is sRGB's: else sRGB's is taken in its place."""
    return _grey_light(icc_profile) is not None


@functools.lru_cache(maxsize=8)
def _profile_curve(icc_profile):
    """The light of each code of _GRID by a profile; None where sRGB's is to be taken."""
    curve = None if icc_profile is None else _grey_light(icc_profile)
    return None if curve is None or np.abs(curve - _srgb_light(_GRID)).max() < _SAME else curve


@functools.lru_cache(maxsize=8)
def _grey_light(icc_profile):
    """The light of the greys of _GRID by a profile of RGB or of grey, None where LittleCMS finds none.

    Pillow's transforms of RGB have 8 bits; that to one channel has 16, by which the greys go into a power of light:
    near black, light itself would need more bits.
    """
    greys = Image.frombytes("L", (256, 1), bytes(range(256)))
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(icc_profile))
        mode = {"RGB": "RGB", "GRAY": "L"}[profile.profile.xcolor_space.strip()]
        power = ImageCms.ImageCmsProfile(io.BytesIO(_power_profile()))
        options = {"renderingIntent": ImageCms.Intent.RELATIVE_COLORIMETRIC, "flags": ImageCms.Flags.NOOPTIMIZE}
        transform = ImageCms.buildTransform(profile, power, mode, "I;16", **options)
        codes = np.asarray(ImageCms.applyTransform(greys.convert(mode), transform))[0] / 65535
    except (ImageCms.PyCMSError, OSError, ImportError, KeyError, ValueError):
        return None
    light = np.maximum.accumulate(np.interp(_GRID, np.linspace(0, 1, 256), codes) ** _POWER)
    return light if light[-1] > light[0] else None


def _power_profile():
    """An ICC profile of grey whose light is the code to the power _POWER (ICC.1:2022, 7.2, 8.4.3 and 10.6)."""
    white = b"XYZ \0\0\0\0" + struct.pack(">3i", *_D50)
    curve = b"curv\0\0\0\0" + struct.pack(">IHxx", 1, round(_POWER * 256))
    head = bytes(4) + b"\x02\x40\0\0" + b"mntrGRAYXYZ " + bytes(12) + b"acsp" + bytes(28) + struct.pack(">3i", *_D50)
    tags = struct.pack(">I4sII4sII", 2, b"wtpt", 156, len(white), b"kTRC", 156 + len(white), len(curve))
    body = head.ljust(124, b"\0") + tags + white + curve
    return struct.pack(">I", len(body) + 4) + body

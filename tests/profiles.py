"""ICC profiles made of their parts (ICC.1:2022)."""

import struct

import numpy as np

_D50 = (63190, 65536, 54061)
# Columns of a matrix of primaries whose sum is the white point.
_COLORANTS = {b"r": (0.4361, 0.2225, 0.0139), b"g": (0.3851, 0.7169, 0.0971), b"b": (0.1430, 0.0606, 0.7139)}


def profile(space, tags, pcs=b"XYZ "):
    """A profile of a colour space, four bytes, with tags by name."""
    table, body = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        content += bytes(-len(content) % 4)
        table += struct.pack(">4sII", name, 132 + 12 * len(tags) + len(body), len(content))
        body += content
    head = bytes(4) + b"\x02\x40\0\0" + b"mntr" + space + pcs + bytes(12) + b"acsp" + bytes(28)
    head += struct.pack(">iii", *_D50)
    content = head.ljust(124, b"\0") + table + body
    return struct.pack(">I", len(content) + 4) + content


def _xyz(x, y, z):
    return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(value * 65536) for value in (x, y, z)))


def with_curves(curve, space=b"RGB ", last=None):
    """A profile of primaries, or of grey, with a curve (curveType or parametricCurveType) for each channel."""
    white = {b"wtpt": _xyz(*(value / 65536 for value in _D50))}
    if space == b"GRAY":
        return profile(space, {**white, b"kTRC": curve})
    curves = {b"rTRC": curve, b"gTRC": curve, b"bTRC": last or curve}
    return profile(space, {**white, **{name + b"XYZ": _xyz(*xyz) for name, xyz in _COLORANTS.items()}, **curves})


def with_table(gamma):
    """A profile of RGB by a table in three dimensions, lut16Type, whose inputs go through a power."""
    entries = 1024
    curve = np.rint(65535 * np.linspace(0, 1, entries) ** gamma).astype(int)
    points = [np.array([red, green, blue]) for red in (0, 1) for green in (0, 1) for blue in (0, 1)]
    matrix = np.array(list(_COLORANTS.values())).T
    grid = np.concatenate([np.rint(matrix @ point * 32768) for point in points]).astype(int)
    identity = [65536 * (row == column) for row in range(3) for column in range(3)]
    lut = b"mft2\0\0\0\0" + bytes([3, 3, 2, 0]) + struct.pack(">9i2H", *identity, entries, 2)
    lut += struct.pack(f">{entries}H", *curve) * 3 + struct.pack(f">{len(grid)}H", *grid)
    lut += struct.pack(">2H", 0, 65535) * 3
    return profile(b"RGB ", {b"wtpt": _xyz(*(value / 65536 for value in _D50)), b"A2B0": lut})


def of_cmyk():
    """A profile (lut8Type) that takes cyan and black for grey ink, the others for water."""
    lightness = [(1 - cyan / 2) * (1 - black) for cyan in (0, 1) for _ in range(4) for black in (0, 1)]
    table = b"".join(bytes([round(255 * value), 128, 128]) for value in lightness)
    identity = struct.pack(">9i", *(65536 * (row == column) for row in range(3) for column in range(3)))
    lut = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + identity + bytes(range(256)) * 4 + table + bytes(range(256)) * 3
    return profile(b"CMYK", {b"A2B0": lut}, b"Lab ")


def gamma(value):
    """A curveType of one number."""
    return struct.pack(">4sIIH", b"curv", 0, 1, round(value * 256))

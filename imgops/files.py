"""Picture files: read upright and whole, written all or nothing, with their metadata.

A file that cannot be read or written raises PictureError, whose message follows the file's name in a line.
"""

import contextlib
import io
import os
import re
import secrets
import socket
import stat
import struct
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin, features

from . import png
from .pillow import to_image

EXTENSIONS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".ppm": "PPM",
    ".pgm": "PPM",
}
_CODECS = {"JPEG": "jpg", "WEBP": "webp", "PNG": "zlib"}
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_TEMPORARY = re.compile(r"\.imgops-(?P<host>[^-]*)-(?P<process>\d+)-[0-9a-f]+\.tmp")
_STALE_SECONDS = 86400
_own_temporaries = set()


class PictureError(Exception):
    """What is wrong with a picture file, without its name."""


@dataclass
class Picture:
    """A picture and what its file says about it.

    Attributes
    ----------
    pixels : PIL.Image.Image or ndarray
        Upright. (H, W, C) of uint16 for PNG files whose colours have 16 bits, grey with alpha, RGB or RGBA.
    format : str
        Pillow's name of the file's format.
    icc_profile, exif, xmp : bytes or None
        As in the file, but for an orientation of 1.
    dpi : (float, float) or None
        Horizontal, vertical.
    text : dict
        Key to text, as PNG has it.
    colour_chunks : list of (bytes, bytes)
        PNG's chunks of gamma, primaries and rendering intent.
    notes : list of str
        What the reader of a file should know of.
    """

    pixels: object
    format: str
    icc_profile: bytes | None = None
    exif: bytes | None = None
    xmp: bytes | None = None
    dpi: tuple | None = None
    text: dict = field(default_factory=dict)
    colour_chunks: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    @property
    def size(self):
        """(width, height)."""
        return self.pixels.shape[1::-1] if isinstance(self.pixels, np.ndarray) else self.pixels.size


def formats():
    """Pillow's names of the formats that this installation reads and writes."""
    names = dict.fromkeys(EXTENSIONS.values())
    return [name for name in names if name not in _CODECS or features.check(_CODECS[name])]


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def read(path):
    """The Picture in a file, turned upright.

    Raises
    ------
    PictureError
        For a file that is missing, is no picture, is damaged or cut short, has several frames, or passes Pillow's limit
        of pixels.
    """
    with _open(path) as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Decoders raise errors of many kinds for damaged data; every one of them means the same here.
        try:
            picture = _decode(file)
        except (PictureError, MemoryError):
            raise
        except png.PngError as error:
            raise PictureError(str(error)) from error
        except Image.UnidentifiedImageError as error:
            raise PictureError(f"is not a picture that can be read ({', '.join(formats())}), or is damaged") from error
        except Image.DecompressionBombError as error:
            raise PictureError(
                f"is refused: its header claims more than {2 * Image.MAX_IMAGE_PIXELS} pixels, Pillow's limit against "
                f"decompression bombs"
            ) from error
        except Exception as error:
            raise PictureError(f"is damaged: {error or type(error).__name__}") from error
    picture.notes += [str(warning.message) for warning in caught]
    return picture


def _open(path):
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            return open(path, "rb")
    except (OSError, ValueError) as error:
        raise PictureError(f"cannot be read: {_reason(error)}") from error
    raise PictureError(f"cannot be read: it is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")


def _reason(error):
    system = getattr(error, "strerror", None)
    return system.lower() if system else str(error) or type(error).__name__


def _decode(file):
    header = None
    start = file.read(len(png.SIGNATURE))
    if not start:
        raise PictureError("is empty")
    if start == png.SIGNATURE:
        header = png.inspect(file)
    file.seek(0)
    with Image.open(file, formats=formats()) as image:
        frames = getattr(image, "n_frames", 1)
        # The further pictures of a camera's MPO file are previews and gain maps.
        if frames > 1 and image.format != "MPO":
            raise PictureError(f"has {frames} frames; only files of one picture can be processed")
        raw_modes = str(getattr(image, "tile", ""))
        image.load()
        picture = _with_metadata(image, header)
        picture.pixels = _pixels(file, image, header)
        if ";16" in raw_modes and _depth(picture.pixels) == 8:
            picture.notes.append("its 16-bit colours are read as 8-bit")
        return _turn_upright(picture, image.getexif().get(_ORIENTATION, 1))


def _with_metadata(image, header):
    info = image.info
    dpi = info.get("dpi")
    picture = Picture(
        pixels=None,
        format="JPEG" if image.format == "MPO" else image.format,
        icc_profile=info.get("icc_profile"),
        exif=info.get("exif"),
        xmp=info.get("xmp"),
        dpi=tuple(float(value) for value in dpi) if dpi and all(dpi) else None,
        colour_chunks=header.colour_chunks if header else [],
    )
    if header:
        picture.text = dict(image.text)
        # An EXIF block in an older tool's text chunk moves to the chunk of its own.
        if picture.text.pop("Raw profile type exif", None) and picture.exif is None:
            picture.exif = image.getexif().tobytes()
    return picture


def _depth(pixels):
    return 8 if isinstance(pixels, Image.Image) and pixels.mode not in ("I", "F") and "16" not in pixels.mode else 16


def _pixels(file, image, header):
    if header and header.has_deep_colour:
        return png.read_deep(file, header, image.size)
    if header and image.mode == "L" and header.depth < 8 and "transparency" in image.info:
        # Pillow scales the grey values of 2 and 4 bits to 8, and leaves the transparent one.
        image.info["transparency"] *= 255 // (2**header.depth - 1)
    return image.copy()


def _turn_upright(picture, orientation):
    method = _UPRIGHT.get(orientation)
    if method is not None:
        picture.pixels = _transposed(picture.pixels, method)
        if picture.dpi and orientation > 4:
            picture.dpi = picture.dpi[::-1]
    if orientation != 1:
        picture.exif = picture.exif and _upright_exif(picture.exif)
        picture.xmp = picture.xmp and _upright_xmp(picture.xmp)
        picture.text = {key: _upright_xmp(value) if "xmp" in key else value for key, value in picture.text.items()}
    return picture


def _transposed(pixels, method):
    if isinstance(pixels, np.ndarray):
        # Pillow turns one channel at a time: its modes of 16 bits have only one.
        turned = [to_image(pixels[..., channel]).transpose(method) for channel in range(pixels.shape[2])]
        return np.stack([np.asarray(channel, np.uint16) for channel in turned], axis=-1)
    turned = pixels.transpose(method)
    turned.info.update(pixels.info)
    return turned


def _upright_exif(exif):
    """The EXIF block with an orientation of 1 and every other byte as it was."""
    start = 6 if exif.startswith(b"Exif\0\0") else 0
    order = {b"II": "<", b"MM": ">"}.get(exif[start : start + 2])
    patched = bytearray(exif)
    with contextlib.suppress(struct.error, TypeError):
        (directory,) = struct.unpack_from(order + "I", exif, start + 4)
        (entries,) = struct.unpack_from(order + "H", exif, start + directory)
        for entry in range(start + directory + 2, start + directory + 2 + 12 * entries, 12):
            if struct.unpack_from(order + "H", exif, entry)[0] == _ORIENTATION:
                struct.pack_into(order + "HIHH", patched, entry + 2, 3, 1, 1, 0)
    return bytes(patched)


def _upright_xmp(xmp):
    pattern, one = r"(tiff:Orientation(?:=[\"']|>))\d", r"\g<1>1"
    if isinstance(xmp, bytes):
        return re.sub(pattern.encode(), one.encode(), xmp)
    upright = re.sub(pattern, one, xmp)
    return PngImagePlugin.iTXt(upright, xmp.lang, xmp.tkey) if isinstance(xmp, PngImagePlugin.iTXt) else upright


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def format_of(path, default=None):
    """Pillow's name of the format that a file name's extension stands for."""
    extension = Path(path).suffix.lower()
    name = EXTENSIONS.get(extension) or (None if extension else default)
    if name not in formats():
        known = [extension for extension, name in EXTENSIONS.items() if name in formats()]
        raise PictureError(f"cannot be written to {path}: the name must end in {', '.join(known)}")
    return name


def check_target(target, *, sources=(), overwrite=False):
    """Raise PictureError where `write` could not write, or would write over a source; before any work is done."""
    target = Path(target)
    try:
        if not target.parent.is_dir():
            raise PictureError(f"cannot be written to {target}: {target.parent} is no existing folder; make it first")
        if not os.access(target.parent, os.W_OK):
            raise PictureError(f"cannot be written to {target}: no permission to write in {target.parent}")
        if not target.exists():
            return
        if any(os.path.exists(source) and os.path.samefile(source, target) for source in sources):
            raise PictureError(f"cannot be written to {target}: that is a source of this call; name another target")
        if not target.is_file():
            raise PictureError(f"cannot be written to {target}: it is a folder or no regular file")
    except (OSError, ValueError) as error:
        raise PictureError(f"cannot be written to {target}: {_reason(error)}") from error
    if not overwrite:
        raise _exists(target)


def _exists(target):
    return PictureError(f"cannot be written to {target}: it exists already; pass --overwrite to replace it")


def write(picture, target, *, overwrite=False):
    """Write a Picture; the target appears whole or not at all. Returns notes on what the format could not hold.

    Raises
    ------
    PictureError
        For a target that exists, unless `overwrite`, one that cannot be written, or pixels that the format cannot hold.
    """
    check_target(target, overwrite=overwrite)
    name = format_of(target, picture.format)
    pixels, notes = _fitted(picture.pixels, name)
    try:
        with replacing(target, overwrite=overwrite) as file:
            if isinstance(pixels, np.ndarray):
                template = io.BytesIO()
                Image.new("L", (1, 1)).save(template, "PNG", **_options(picture, "PNG"))
                png.write_deep(file, pixels, template.getvalue())
            else:
                pixels.save(file, name, **_options(picture, name))
    except FileExistsError as error:
        raise _exists(target) from error
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise PictureError(f"cannot be written to {target}: {_reason(error)}") from error
    return notes


def _fitted(pixels, name):
    """(pixels that the format can hold, notes on what was lost)."""
    notes = []
    is_deep_colour = isinstance(pixels, np.ndarray)
    if is_deep_colour or pixels.mode.startswith("I;16"):
        holders = ("PNG",) if is_deep_colour else ("PNG", "TIFF", "PPM")
        if name in holders:
            return pixels, notes
        pixels = _eight_bit(pixels)
        notes.append(f"its 16 bits became 8; {' and '.join(holders)} files can keep them")
    has_alpha = pixels.mode in ("LA", "RGBA") or "transparency" in pixels.info
    if name == "JPEG" and has_alpha:
        pixels = _on_white(pixels)
        notes.append("its transparency was composed on white, since JPEG files have none")
    elif name in ("JPEG", "WEBP") and pixels.mode == "P":
        pixels = pixels.convert("RGBA" if has_alpha else "RGB")
    elif name == "GIF" and pixels.mode not in ("1", "L", "P"):
        notes.append("its colours were reduced to 256, since GIF files have no more")
    return pixels, notes


def _eight_bit(pixels):
    eight = to_image(((np.asarray(pixels).astype(np.uint32) + 128) // 257).astype(np.uint8))
    if not isinstance(pixels, np.ndarray):
        eight.info.update(pixels.info)
        if "transparency" in eight.info:
            eight.info["transparency"] = (eight.info["transparency"] + 128) // 257
    return eight


def _on_white(image):
    colours = image.convert("RGBA")
    composed = Image.alpha_composite(Image.new("RGBA", image.size, "white"), colours)
    return composed.convert("L" if image.mode in ("1", "L", "LA") else "RGB")


def _options(picture, name):
    """What Pillow's writer of a format is to be told."""
    options = {"icc_profile": picture.icc_profile, "dpi": picture.dpi}
    if name in ("PNG", "JPEG", "WEBP"):
        options["exif"] = picture.exif
    if name in ("JPEG", "WEBP"):
        options |= {"xmp": picture.xmp, "quality": 95}
    options = {key: value for key, value in options.items() if value is not None}
    if name == "PNG":
        options["pnginfo"] = _png_info(picture)
    if name == "TIFF" and features.check("libtiff"):
        options["compression"] = "tiff_adobe_deflate"
    return options


def _png_info(picture):
    info = PngImagePlugin.PngInfo()
    for name, content in picture.colour_chunks:
        info.add(name, content)
    for key, value in picture.text.items():
        info.add_text(key, value)
    if picture.xmp and "XML:com.adobe.xmp" not in picture.text:
        info.add_itxt("XML:com.adobe.xmp", picture.xmp.decode("utf-8", "replace"))
    return info


@contextlib.contextmanager
def replacing(target, *, overwrite=False):
    """A binary file to write, which becomes `target` when the block ends, and vanishes when it fails.

    The bytes are in a temporary file of the same folder until they are on the disk; temporary files that killed runs
    left there are removed first. Raises FileExistsError where `target` exists and `overwrite` is false.
    """
    target = Path(os.path.realpath(target))
    remove_stale(target.parent)
    name = f".imgops-{_host()}-{os.getpid()}-{secrets.token_hex(6)}.tmp"
    temporary = target.parent / name
    _own_temporaries.add(name)
    try:
        # Opened the plain way, so that the result has the permissions of any new file.
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(temporary, target, overwrite)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        _own_temporaries.discard(name)


def _publish(temporary, target, overwrite):
    if overwrite:
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    else:
        try:
            # A link, unlike a rename, fails where the target has appeared in the meantime.
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links.
            if target.exists():
                raise FileExistsError(str(target)) from None
            os.rename(temporary, target)
    _sync_folder(target.parent)


def _sync_folder(folder):
    # Not every system lets a folder be opened, nor every file system be told to put it on the disk.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _host():
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64]


def remove_stale(folder):
    """Remove the temporary files in a folder whose process on this machine has ended, or that are a day old."""
    with contextlib.suppress(OSError):
        for path in list(Path(folder).glob(".imgops-*.tmp")):
            match = _TEMPORARY.fullmatch(path.name)
            with contextlib.suppress(OSError):
                if match and (_is_orphan(match, path.name) or time.time() - path.stat().st_mtime > _STALE_SECONDS):
                    path.unlink()


def _is_orphan(match, name):
    if match["host"] != _host():
        return False
    process = int(match["process"])
    if process == os.getpid():
        return name not in _own_temporaries
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Memory


def check_memory(size, pixels):
    """Raise PictureError where a result of this (width, height), of pixels like these, would not fit in memory."""
    if isinstance(pixels, np.ndarray):
        pixel_bytes = 2 * pixels.shape[2]
    else:
        pixel_bytes = 4 if pixels.mode in ("I", "F") else max(len(pixels.getbands()), 2)
    # The array, Pillow's image of four bytes a pixel, and one copy on the way; the table of each axis.
    needed = size[0] * size[1] * (2 * pixel_bytes + 4) + 256 * (size[0] + size[1])
    available = _available_memory()
    if available is not None and needed > available:
        raise PictureError(
            f"is too large: a result of {size[0]} x {size[1]} pixels takes {needed / 2**30:.3g} GiB of memory, and "
            f"{available / 2**30:.3g} GiB are free"
        )


def _available_memory():
    """Bytes that can be had without pushing others out, or None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


# ---------------------------------------------------------------------------------------------------------------------
# Batches


@dataclass(frozen=True)
class Job:
    """One source, and where its result goes: a file, a folder under the source's name, or beside the source."""

    source: Path
    target: Path | None = None
    folder: Path | None = None

    def target_with(self, suffix):
        if self.target is not None:
            return self.target
        if self.folder is not None:
            return self.folder / self.source.name
        return self.source.with_name(self.source.stem + suffix + self.source.suffix)


def jobs(paths, output_dir=None):
    """(jobs, errors) for the paths of a command: sources, then perhaps a target as `cp` has it.

    The last of several paths is the target if it is a folder or ends in a slash, or if there are just two. A folder
    among the sources stands for the pictures in it, by their names. Errors are (path, message).
    """
    sources, target, folder = _split_target([str(path) for path in paths], output_dir)
    errors, result = [], []
    if folder is not None and not folder.is_dir():
        return [], [(folder, "is not an existing folder; make it first")]
    for source in dict.fromkeys(sources):
        path = Path(source)
        if not path.is_dir():
            result.append(Job(path, target, folder))
        elif target is not None:
            errors.append((path, f"is a folder, but the target {target} is not; name an existing folder as target"))
        else:
            inside = _pictures_in(path)
            result += [Job(entry, None, folder) for entry in inside]
            if not inside:
                errors.append((path, "is a folder without pictures"))
    return _without_collisions(result, errors), errors


def _split_target(paths, output_dir):
    """(sources, target file, target folder); at most one of the targets is not None."""
    if output_dir is not None:
        return paths, None, Path(output_dir)
    if len(paths) > 1:
        last = paths[-1]
        if last.endswith(("/", os.sep)) or os.path.isdir(last):
            return paths[:-1], None, Path(last)
        if len(paths) == 2:
            return paths[:1], Path(last), None
    return paths, None, None


def _pictures_in(folder):
    entries = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in entries if entry.suffix.lower() in EXTENSIONS and entry.is_file())


def _without_collisions(planned, errors):
    """The jobs but those that would write one file; these go to `errors`."""
    by_target = {}
    for job in planned:
        fixed = job.target is not None or job.folder is not None
        by_target.setdefault(os.path.realpath(job.target_with("")) if fixed else job, []).append(job)
    for target, group in by_target.items():
        if len(group) > 1:
            names = ", ".join(str(job.source) for job in group)
            errors += [(job.source, f"is not written: {names} would all become {target}") for job in group]
    return [group[0] for group in by_target.values() if len(group) == 1]

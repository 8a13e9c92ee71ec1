"""The command line: pictures enlarged and resized, one line for each."""

import argparse
import json
import os
import re
import sys
from fractions import Fraction

import numpy as np
import PIL

from . import __version__, _checks, files, pillow
from .threads import show_config

_EXAMPLES = """\
examples:
  python -m imgops upscale photo.png                     writes photo_x2.png beside it
  python -m imgops upscale photo.png large.png --scale 3
  python -m imgops upscale icons/ --method nearest --output-dir large/
  python -m imgops resize photo.png --size 640x480       writes photo_640x480.png
  python -m imgops resize *.png --scale 50% --output-dir small/
  python -m imgops info

An existing file is replaced only with --overwrite. Transparency, 16-bit values, ICC profile, dpi, EXIF and PNG text
stay; an orientation tag is applied. Exit code: 0 done; 1 a file failed (one line each, the others are done); 2 wrong
usage.
"""
_PATHS_HELP = (
    "picture files, or folders of them; the last of several paths is the target if it is a folder, or if there are "
    "just two paths. Without a target, a result stands beside its source"
)


def run():
    """The console command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; so that Python's own flush at exit does not fail again:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def main(argv=None):
    """Run one command; returns its exit code.

    Parameters
    ----------
    argv : list of str, optional
        Arguments without the program's name; None for those of the process.

    Returns
    -------
    int
        0 done, 1 a file failed, 130 interrupted. Wrong usage raises SystemExit(2), as argparse does.
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except KeyboardInterrupt:
        print("imgops: interrupted; no unfinished file is left", file=sys.stderr)
        return 130


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def _parser():
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="imgops", description="Enlarge and resize picture files.", epilog=_EXAMPLES, formatter_class=form
    )
    parser.add_argument("--version", action="version", version=f"imgops {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    upscale = _pictures_command(commands, "upscale", "enlarge pictures by a factor")
    upscale.add_argument("--scale", type=_enlargement, default=Fraction(2), help="factor, at least 1 (default: 2)")
    _add_mode(upscale, "--method")
    upscale.set_defaults(command=_upscale)

    resize = _pictures_command(
        commands, "resize", "resize pictures to a size, or by a factor", "(--size WxH | --scale S) "
    )
    target = resize.add_mutually_exclusive_group(required=True)
    target.add_argument("--size", type=_size, metavar="WxH", help="width and height in pixels, such as 640x480")
    target.add_argument("--scale", type=_factor, help="factor or percentage, such as 0.5 or 50%%")
    _add_mode(resize, "--mode")
    resize.set_defaults(command=_resize)

    info = commands.add_parser("info", help="show versions, build and picture formats", allow_abbrev=False)
    info.add_argument("--json", action="store_true", help="as one JSON object")
    info.set_defaults(command=_info)
    return parser


def _pictures_command(commands, name, summary, required=""):
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary.capitalize()}. See imgops --help for examples.",
        usage=f"imgops {name} SRC [SRC ...] [DST] {required}[options]",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="SRC, DST", help=_PATHS_HELP)
    parser.add_argument("--output-dir", metavar="DIR", help="existing folder for the results, which keep their names")
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--linear-light", action="store_true", help="weigh light, by the sRGB curve, not code values")
    return parser


def _add_mode(parser, flag):
    modes = _checks.RESAMPLE_MODES
    parser.add_argument(flag, dest="mode", choices=modes, default="linear", help="default: linear")
    parser.set_defaults(mode_flag=flag, parser=parser)


def _size(text):
    match = re.fullmatch(r"(\d{1,10})[xX](\d{1,10})", text, re.ASCII)
    size = match and (int(match[1]), int(match[2]))
    if not size or not all(size):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT in pixels, such as 640x480; got {text!r}")
    return size


def _factor(text):
    """A positive decimal or percentage, exactly as written."""
    number, percent = (text[:-1], 100) if text.endswith("%") else (text, 1)
    # Bounded before it is made exact: 1e999999999 is a number of a billion digits.
    if re.fullmatch(r"\d{0,40}\.?\d{0,40}(e[+-]?\d{1,3})?", number, re.ASCII | re.IGNORECASE):
        try:
            factor = Fraction(number) / percent
        except ValueError:
            factor = 0
        if factor > 0:
            return factor
    raise argparse.ArgumentTypeError(f"must be a positive number or percentage, such as 2, 0.5 or 50%; got {text!r}")


def _enlargement(text):
    factor = _factor(text)
    if factor < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, and resize shrinks pictures; got {text!r}")
    return factor


# ---------------------------------------------------------------------------------------------------------------------
# Commands


def _upscale(arguments):
    def size_of(picture):
        return pillow.scaled_size(picture.size, arguments.scale)

    def suffix(_):
        return f"_x{float(arguments.scale):g}"

    return _each_picture(arguments, size_of, suffix)


def _resize(arguments):
    def size_of(picture):
        return arguments.size or pillow.scaled_size(picture.size, arguments.scale)

    def suffix(size):
        return f"_{size[0]}x{size[1]}"

    return _each_picture(arguments, size_of, suffix)


def _each_picture(arguments, size_of, suffix):
    if arguments.linear_light and arguments.mode == "nearest":
        arguments.parser.error(
            f"--linear-light has no meaning with {arguments.mode_flag} nearest, which weighs nothing"
        )
    jobs, errors = files.jobs(arguments.paths, arguments.output_dir)
    for path, message in errors:
        _complain(path, message)
    failed = bool(errors)
    sources = [job.source for job in jobs]
    for job in jobs:
        try:
            target, size, notes = _one_picture(job, arguments, size_of, suffix, sources)
        except MemoryError:
            failed = _complain(job.source, "is too large: the result does not fit in memory")
        except (files.PictureError, ValueError, TypeError) as error:
            failed = _complain(job.source, error)
        else:
            for note in notes:
                _complain(job.source, f"note: {note}")
            if not arguments.quiet:
                print(_one_line(f"{job.source} -> {target} ({size[0]}x{size[1]})"))
    return 1 if failed else 0


def _one_picture(job, arguments, size_of, suffix, sources):
    picture = files.read(job.source)
    size = size_of(picture)
    target = job.target_with(suffix(size))
    files.check_target(target, sources=sources, overwrite=arguments.overwrite)
    files.format_of(target, picture.format if job.target is None else None)
    files.check_memory(size, picture.pixels)
    resize = pillow.resize_colour16 if isinstance(picture.pixels, np.ndarray) else pillow.resize
    picture.pixels = resize(picture.pixels, size, mode=arguments.mode, linear_light=arguments.linear_light)
    return target, size, picture.notes + files.write(picture, target, overwrite=arguments.overwrite)


def _complain(path, message):
    """One line on stderr; True, for 'failed'."""
    print(_one_line(f"imgops: {path}: {message}"), file=sys.stderr)
    return True


def _one_line(text):
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _info(arguments):
    facts = {**show_config("dicts"), "pillow": PIL.__version__, "formats": files.formats()}
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    for name, value in facts.items():
        print(f"{name:<22} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0

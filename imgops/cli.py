"""The command line: pictures enlarged, resized and compared, one line for each; arrays between depth and space."""

import argparse
import contextlib
import errno
import json
import math
import os
import re
import sys
import time
from fractions import Fraction

import numpy as np
import PIL

from . import __version__, _checks, atomic, batches, blocks, comparing, describe, files, formats, pillow
from .conventions import get_convention
from .identify import identify
from .threads import show_config

_EXAMPLES = """\
examples:
  python -m imgops upscale photo.png                     writes photo_x2.png beside it
  python -m imgops upscale photo.png large.png --scale 3 --model fast
  python -m imgops upscale icons/ --method nearest --output-dir large/
  python -m imgops resize photo.png --size 640x480       writes photo_640x480.png
  python -m imgops resize *.png --scale 50% --output-dir small/ --format webp --quality 80
  python -m imgops resize album/ --size 1200x800 --recursive --output-dir web/ --skip-existing --jobs 4
  python -m imgops compare before.png after.png --picture difference.png
  python -m imgops depth-to-space features.npy picture.npy --block 2 --data-format NCHW
  python -m imgops identify small.png large.png          which convention made the one of the other
  python -m imgops conventions torch
  python -m imgops taps --in 5 --out 8 --convention align_corners
  python -m imgops bench --quick                         speed beside the installed peers
  python -m imgops models check network.onnx             what it is, and whether it can run
  python -m imgops info

An existing file is replaced only with --overwrite. Transparency, animation, pages, 16-bit values, ICC profile, dpi,
EXIF, XMP and PNG text stay; an orientation tag is applied. Exit code: 0 done; 1 a file failed (one line each, the
others are done); 2 wrong usage.
"""
_PATHS_HELP = (
    "picture files, or folders of them; the last of several paths is the target if it is a folder, or if there are "
    "just two paths. Without a target, a result stands beside its source"
)


def run():
    """The console command."""
    _open_standard_files()
    sys.stdout, sys.stderr = _Output(sys.stdout), _Output(sys.stderr)
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code
    except BrokenPipeError:
        code = 1
    error = sys.stdout.finish()
    if error is not None:
        code = 1
        if not isinstance(error, BrokenPipeError):
            reason = (error.strerror or str(error)).lower()
            print(f"imgops: standard output cannot be written: {reason}", file=sys.stderr)
    sys.stderr.finish()
    sys.exit(code)


def _open_standard_files():
    """Take the numbers of closed standard files, which the next file opened would get, and what others print there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class _Output:
    """A standard stream whose failure to write is kept in `error`, and stops no work; but that of a closed pipe does.

    A program whose reader has gone ends, as others do: `imgops taps ... | head`.
    """

    def __init__(self, stream):
        self._stream = stream
        self.error = None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def isatty(self):
        return self._stream is not None and self._stream.isatty()

    def write(self, text):
        self._try("write", text)
        return len(text)

    def flush(self):
        if self._stream is not None:
            self._try("flush")

    def _try(self, name, *arguments):
        if self.error is not None:
            return
        try:
            if self._stream is None:
                raise OSError(errno.EBADF, "it is closed")
            getattr(self._stream, name)(*arguments)
        except OSError as error:
            self.error = error
            if isinstance(error, BrokenPipeError):
                raise

    def finish(self):
        """Write what waits; the error if not all could be written, else None."""
        with contextlib.suppress(BrokenPipeError):
            self.flush()
        if self.error is not None and self._stream is not None:
            # So that Python's own flush at exit does not fail again:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return self.error


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
        prog="imgops", description="Enlarge, resize and compare picture files.", epilog=_EXAMPLES, formatter_class=form
    )
    parser.add_argument("--version", action="version", version=f"imgops {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    upscale = _pictures_command(commands, "upscale", "enlarge pictures by a factor")
    upscale.add_argument("--scale", type=_enlargement, help="factor, at least 1 (default: 2, or that of a model file)")
    _add_mode(upscale, "--method", _checks.UPSCALE_METHODS)
    networks = upscale.add_argument_group("super-resolution, --method sr")
    networks.add_argument("--model", type=_model, metavar="best|fast|FILE", help="default: best; or a model file")
    networks.add_argument(
        "--tile", type=_number(8, 2**31 - 1), metavar="N", help="side of the parts that are worked on, for less memory"
    )
    upscale.set_defaults(command=_upscale)

    resize = _pictures_command(
        commands, "resize", "resize pictures to a size, or by a factor", "(--size WxH | --scale S) "
    )
    target = resize.add_mutually_exclusive_group(required=True)
    target.add_argument("--size", type=_size, metavar="WxH", help="width and height in pixels, such as 640x480")
    target.add_argument("--scale", type=_factor, help="factor or percentage, such as 0.5 or 50%%")
    _add_mode(resize, "--mode")
    resize.set_defaults(command=_resize)

    compare = commands.add_parser(
        "compare", help="tell how far two pictures differ", description=comparing.__doc__, formatter_class=form
    )
    compare.add_argument("first", metavar="A")
    compare.add_argument("second", metavar="B")
    compare.add_argument(
        "--picture", metavar="OUT.png", help="draw the differences, enlarged so that the largest is white"
    )
    compare.add_argument("--overwrite", action="store_true", help="replace an existing file")
    compare.add_argument("--json", action="store_true", help="as one JSON object")
    compare.set_defaults(command=_compare)

    for name, move in (("depth-to-space", blocks.depth_to_space), ("space-to-depth", blocks.space_to_depth)):
        _add_move(commands, name, move)

    _add_convention_commands(commands)
    _add_models_command(commands)

    _add_bench(commands)

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
    places = parser.add_argument_group("where results go")
    places.add_argument("--output-dir", metavar="DIR", help="existing folder for the results, which keep their names")
    places.add_argument(
        "--recursive", action="store_true", help="take folders of folders; a target folder gets the same structure"
    )
    places.add_argument("--suffix", type=_suffix, metavar="TEXT", help="put between a result's name and its extension")
    places.add_argument(
        "--format", type=_format, metavar="EXT", help=f"of the results: {', '.join(map(str.lower, formats.formats()))}"
    )
    existing = places.add_mutually_exclusive_group()
    existing.add_argument("--overwrite", action="store_true", help="replace existing files")
    existing.add_argument("--skip-existing", action="store_true", help="make only what is missing, as after a stop")

    values = parser.add_argument_group("how")
    values.add_argument(
        "--linear-light",
        action="store_true",
        help="weigh light, by the curve of the ICC profile or else sRGB's, not code values",
    )
    values.add_argument(
        "--straight-alpha", action="store_true", help="do not weigh colours by their alpha, for alpha that is data"
    )
    values.add_argument(
        "--quality", type=_number(1, 100), metavar="N", help="of JPEG, WebP and AVIF, 1 to 100 (default: 95; AVIF 90)"
    )
    values.add_argument("--strict", action="store_true", help="refuse what would lose something, instead of a note")
    values.add_argument(
        "--no-pixel-limit", action="store_true", help="read pictures past Pillow's limit against decompression bombs"
    )

    batch = parser.add_argument_group("many files")
    batch.add_argument("--jobs", type=_number(1, 1024), default=1, metavar="N", help="pictures at a time (default: 1)")
    batch.add_argument("--dry-run", action="store_true", help="check everything and write nothing")
    batch.add_argument("--quiet", action="store_true", help="print errors and notes only")
    batch.add_argument("--json", action="store_true", help="print one JSON object at the end")
    return parser


def _add_mode(parser, flag, modes=_checks.RESAMPLE_MODES):
    default = "sr" if "sr" in modes else "linear"

    def mode(text):
        return default if text == default else _mode(text, modes)

    names = f"{', '.join(modes)} (default: {default})"
    parser.add_argument(flag, dest="mode", type=mode, default=default, metavar="NAME", help=names)
    parser.set_defaults(mode_flag=flag, parser=parser, model=None, tile=None)


def _add_move(commands, name, move):
    parser = commands.add_parser(name, help=f"{name.replace('-', ' ')} of an array in a .npy file", allow_abbrev=False)
    parser.add_argument("source", metavar="SRC.npy")
    parser.add_argument("target", metavar="DST.npy")
    parser.add_argument("--block", type=_number(1, 2**31 - 1), required=True, metavar="N", help="side of the block")
    parser.add_argument("--mode", choices=_checks.BLOCK_MODES, default="DCR", help="default: DCR")
    parser.add_argument("--data-format", choices=_checks.DATA_FORMATS, default="NHWC", help="default: NHWC")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    parser.set_defaults(command=_move, move=move)


def _add_convention_commands(commands):
    listing = commands.add_parser(
        "conventions", help="list the conventions, or tell all about one of them", allow_abbrev=False
    )
    listing.add_argument("name", nargs="?", metavar="NAME", type=_convention)
    listing.set_defaults(command=_conventions)

    taps = commands.add_parser("taps", help="show what every sample of a resampled axis reads", allow_abbrev=False)
    taps.add_argument("--in", dest="input_length", type=_number(1, 10**12), required=True, metavar="N")
    taps.add_argument("--out", dest="output_length", type=_number(1, 10**12), metavar="M")
    taps.add_argument("--scale", type=_factor, help="factor or percentage, such as 1.5 or 50%%")
    taps.add_argument(
        "--convention", type=_convention, default="half_pixel", metavar="NAME", help="default: half_pixel"
    )
    _add_mode(taps, "--mode")
    taps.add_argument("--rounding", choices=_checks.ROUNDINGS, help="of nearest, where the convention leaves it open")
    taps.add_argument("--antialias", action="store_true", help="widen the filter where the axis shrinks")
    taps.set_defaults(command=_taps)

    naming = commands.add_parser(
        "identify",
        help="name the conventions that make one picture or array of another",
        description="Name the conventions, modes and roundings that make B, resized elsewhere, of A, best first. "
        "Exit code: 0 something matches, 1 nothing does or a file cannot be read.",
        allow_abbrev=False,
    )
    naming.add_argument("input", metavar="A", help="a picture, or an array in a .npy file")
    naming.add_argument("output", metavar="B", help="what was made of it")
    naming.add_argument("--axes", type=_axes, help="the resampled ones, such as 0,1 (default: height and width)")
    naming.add_argument("--data-format", choices=_checks.DATA_FORMATS, default="NHWC", help="default: NHWC")
    naming.add_argument("--scale", type=_factor, help="the factor that was asked for, where B was not given a size")
    naming.add_argument(
        "--tolerance", type=_tolerance, help="largest difference of a match (default: 1, or what float32 explains)"
    )
    naming.add_argument("--json", action="store_true", help="as one JSON list")
    naming.set_defaults(command=_identify)


def _add_bench(commands):
    bench = commands.add_parser(
        "bench",
        help="time the operators beside the packages installed here that compute the same",
        description="Time every operator beside NumPy, torch, ONNX Runtime, OpenCV, Pillow and TensorFlow, as far as "
        "they are installed: results are compared first, then all take turns in one process with as many threads. "
        "The ratio is the fastest peer's time over that of imgops; copies are imgops' time in copies of the bytes.",
        allow_abbrev=False,
    )
    bench.add_argument("--quick", action="store_true", help="a tenth of the cells, and fewer turns: a minute or two")
    bench.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="cells whose name has all the words, such as NHWC3 uint8"
    )
    bench.add_argument("--threads", type=_number(1, 1024), metavar="N", help="of imgops and of every peer")
    bench.add_argument("--json", metavar="FILE", help="write every figure there")
    bench.add_argument("--picture", metavar="FILE.png", help="draw the ratios; needs the extra imgops[plots]")
    bench.add_argument("--overwrite", action="store_true", help="replace existing files")
    what = bench.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare the results on small pictures, time nothing")
    what.add_argument("--list", action="store_true", help="print the names of the cells")
    bench.set_defaults(command=_bench, parser=bench)


def _add_models_command(commands):
    listing = commands.add_parser(
        "models",
        help="list the super-resolution models, or tell what a model file is",
        usage="imgops models [--json]\n       imgops models check FILE [FILE ...] [--json]",
        description="List the models in the package; or tell what model files are, and whether they can run.",
        allow_abbrev=False,
    )
    listing.add_argument("--json", action="store_true", help="as one JSON list")
    listing.set_defaults(command=_models)
    check = listing.add_subparsers(metavar="check", prog="imgops models").add_parser(
        "check",
        help="tell what model files are; exit code 0: all can run, 1: one cannot",
        usage="imgops models check FILE [FILE ...] [--json]",
        description="Tell what model files are: ONNX, or ncnn's .param with its .bin beside it. Exit code: 0 all can "
        "run, 1 one cannot.",
        allow_abbrev=False,
    )
    check.add_argument("paths", nargs="+", metavar="FILE")
    check.add_argument("--json", action="store_true", help="as one JSON list")
    check.set_defaults(command=_check_models)


def _convention(text):
    try:
        return get_convention(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("get_convention: convention ")) from None


def _axes(text):
    if re.fullmatch(r"-?\d{1,2}(,-?\d{1,2})*", text, re.ASCII):
        return tuple(map(int, text.split(",")))
    raise argparse.ArgumentTypeError(f"must be axis numbers, such as 0,1; got {text!r}")


def _tolerance(text):
    try:
        return _checks.tolerance("", float(text), None)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of 0 or more, or inf; got {text!r}") from None


def _mode(text, modes):
    check = _checks.picture_method if "sr" in modes else _checks.resample_mode
    try:
        return check("", text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(re.sub(r"^: \w+ ", "", str(error))) from None


def _model(text):
    from . import sr

    try:
        return _checks.sr_model("", text, sr.models())
    except (ValueError, FileNotFoundError) as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix(": model ")) from None


def _format(text):
    name = formats.EXTENSIONS.get(f".{text.lower().removeprefix('.')}") or text.upper()
    if name not in formats.formats():
        known = ", ".join(map(str.lower, formats.formats()))
        raise argparse.ArgumentTypeError(f"must be one of {known}; got {text!r}")
    return name


def _suffix(text):
    if any(separator in text for separator in ("/", os.sep, "\0")):
        raise argparse.ArgumentTypeError(f"must be a part of a file's name; got {text!r}; use --output-dir for folders")
    return text


def _number(first, last):
    def number(text):
        if re.fullmatch(r"\d{1,12}", text, re.ASCII) and first <= int(text) <= last:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number from {first} to {last}; got {text!r}")

    return number


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
    scale = arguments.scale or Fraction(2)
    if arguments.mode == "sr":
        scale = _network_scale(arguments)
        if scale is None:
            return 1
    elif arguments.model or arguments.tile:
        flag = "--model" if arguments.model else "--tile"
        arguments.parser.error(f"{flag} is of super-resolution; leave it out, or pass --method sr")
    return _each_picture(arguments, {"scale": scale}, lambda _: f"_x{float(scale):g}")


def _network_scale(arguments):
    """The scale, with a model loaded that can make it; None after a complaint where that fails."""
    from .sr import steps

    if arguments.linear_light:
        arguments.parser.error(
            "--linear-light has no meaning with --method sr, whose networks take code values; pass --method linear"
        )
    model = arguments.model or "best"
    try:
        scale = arguments.scale or Fraction(steps.usual_scale(model))
        steps.upscalers(scale, model)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        _complain(model, re.sub(r"^(upscale|Upscaler): ", "", str(error)).removeprefix(f"{model}: "))
        return None
    return scale


def _resize(arguments):
    target = {"size": arguments.size, "scale": arguments.scale}
    return _each_picture(arguments, target, lambda size: f"_{size[0]}x{size[1]}")


def _each_picture(arguments, target, suffix_of):
    if arguments.linear_light and arguments.mode == "nearest":
        arguments.parser.error(
            f"--linear-light has no meaning with {arguments.mode_flag} nearest, which weighs nothing"
        )
    begin = time.monotonic()
    recipe = batches.Recipe(
        **target,
        mode=arguments.mode,
        linear_light=arguments.linear_light,
        premultiply=not arguments.straight_alpha,
        model=arguments.model,
        tile=arguments.tile,
        quality=arguments.quality,
        overwrite=arguments.overwrite,
        strict=arguments.strict,
        pixel_limit=not arguments.no_pixel_limit,
    )
    places = batches.Places(
        tuple(arguments.paths), arguments.output_dir, arguments.recursive, arguments.suffix, arguments.format
    )
    plan = batches.plan(places, recipe, suffix_of, skip_existing=arguments.skip_existing)
    if (
        arguments.quality is not None
        and plan.jobs
        and not any(formats.FORMATS[job.format].quality for job in plan.jobs)
    ):
        arguments.parser.error("--quality is of JPEG, WebP and AVIF files, and no result is one; pass --format too")
    report = _Report(arguments, len(plan.jobs))
    for path, message in plan.errors:
        report.failed(path, message)
    for job in plan.skipped:
        report.add("skipped", job)
    with report:
        if arguments.dry_run:
            for job in plan.jobs:
                report.add("planned", job)
        else:
            if arguments.mode == "sr" and plan.jobs:
                _say_what_is_slower()
            with contextlib.closing(batches.run(plan.jobs, recipe, arguments.jobs, report.part)) as outcomes:
                for job, outcome in outcomes:
                    report.outcome(job, outcome)
    report.summary(time.monotonic() - begin)
    return 1 if report.counts["failed"] else 0


def _say_what_is_slower():
    from .sr import engine

    notice = engine.slower_notice()
    if notice:
        print(f"imgops: note: {notice}", file=sys.stderr)


class _Report:
    """What is said of a batch: a line for each picture, a bar on a terminal, a summary."""

    def __init__(self, arguments, total):
        self._json = arguments.json
        self._quiet = arguments.quiet or arguments.json
        slow = arguments.mode == "sr"
        self._bar = None if self._quiet or arguments.dry_run else _progress_bar(total, 1 if slow else 2)
        self._done = 0
        self._files = []
        self.counts = {"done": 0, "planned": 0, "skipped": 0, "failed": 0}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def outcome(self, job, outcome):
        if outcome.error is not None:
            self.failed(job.source, outcome.error)
        else:
            for note in outcome.notes:
                with self._beside_bar():
                    _complain(job.source, f"note: {note}")
            self.add("done", job, outcome.notes)
        self._done += 1
        self.part(0)

    def part(self, fraction):
        """So much is done of the next picture."""
        if self._bar is not None:
            self._bar.update(round(self._done + fraction, 2) - self._bar.n)

    def failed(self, path, message):
        with self._beside_bar():
            _complain(path, message)
        self.counts["failed"] += 1
        self._files.append({"source": str(path), "status": "failed", "error": _one_line(message)})

    def add(self, status, job, notes=()):
        self.counts[status] += 1
        width, height = job.size
        entry = {"source": str(job.source), "status": status, "target": str(job.target)}
        self._files.append({**entry, "width": width, "height": height, "notes": list(notes)})
        if not self._quiet and status != "skipped":
            with self._beside_bar():
                print(_one_line(f"{job.source} -> {job.target} ({width}x{height})"))

    def _beside_bar(self):
        return contextlib.nullcontext() if self._bar is None else self._bar.external_write_mode()

    def summary(self, seconds):
        total = sum(self.counts.values())
        if self._json:
            print(json.dumps({"files": self._files, **self.counts, "seconds": round(seconds, 3)}, indent=2))
        elif total > 1 and not self._quiet:
            parts = [f"{count} {name}" for name, count in self.counts.items() if count]
            print(f"{total} pictures: {', '.join(parts)}, in {seconds:.1f} s")


def _progress_bar(total, least):
    """A bar with the time left on a terminal, if the package tqdm is there and so many pictures are to be done."""
    if total < least or not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="picture", file=sys.stderr, dynamic_ncols=True, leave=False)


def _compare(arguments):
    paths, pictures = (arguments.first, arguments.second), []
    for path in paths:
        try:
            pictures.append(files.read(path))
        except (formats.PictureError, MemoryError) as error:
            _complain(path, error or "does not fit in memory")
    if len(pictures) < 2:
        return 1
    for path, picture in zip(paths, pictures, strict=True):
        for note in picture.notes:
            _complain(path, f"note: {note}")
    try:
        if arguments.picture is not None:
            sources = {files.identity(path) for path in paths}
            files.check_target(arguments.picture, sources=sources, overwrite=arguments.overwrite)
            formats.format_of(arguments.picture)
        result, differences = comparing.compare(*pictures)
        facts = {
            "psnr": result.psnr if math.isfinite(result.psnr) else None,
            "ssim": result.ssim,
            "largest_difference": result.largest,
            "peak": result.peak,
            "at": dict(zip(("frame", "x", "y"), result.place, strict=True)),
        }
        if arguments.picture is not None:
            drawn, facts["picture_factor"] = comparing.difference_picture(differences)
            picture = files.Picture(pillow.to_image(drawn), formats.format_of(arguments.picture))
            files.write(picture, arguments.picture, overwrite=arguments.overwrite)
    except formats.PictureError as error:
        _complain(arguments.second, error)
        return 1
    print(json.dumps(facts, indent=2) if arguments.json else _comparison_text(result, facts))
    return 0


def _comparison_text(result, facts):
    ssim = "none, smaller than its window of 11 x 11" if result.ssim is None else f"{result.ssim:.6f}"
    lines = [f"PSNR                {result.psnr:.2f} dB", f"SSIM                {ssim}"]
    frame, x, y = result.place
    where = "" if not result.largest else f" at x={x}, y={y}" + (f" of frame {frame}" if frame else "")
    lines.append(f"largest difference  {result.largest} of {result.peak}{where}")
    if "picture_factor" in facts:
        lines.append(f"picture             differences times {facts['picture_factor']:.4g}")
    return "\n".join(lines)


def _move(arguments):
    try:
        target = arguments.target
        sources = {files.identity(arguments.source)} - {None}
        files.check_target(target, sources=sources, overwrite=arguments.overwrite)
        options = {"mode": arguments.mode, "data_format": arguments.data_format}
        result = arguments.move(_load_array(arguments.source), arguments.block, **options)
        with atomic.replacing(target, overwrite=arguments.overwrite) as file:
            np.lib.format.write_array(file, result, allow_pickle=False)
    except (formats.PictureError, OSError, ValueError, TypeError, MemoryError) as error:
        _complain(arguments.source, error or "does not fit in memory")
        return 1
    print(_one_line(f"{arguments.source} -> {target} {result.shape}"))
    return 0


def _load_array(path):
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise formats.PictureError(f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    except Exception as error:
        # NumPy parses a header with Python's own tools, whose errors of many kinds mean the same here.
        raise formats.PictureError(f"is no .npy file of numbers, or is damaged: {error}") from error
    if not isinstance(array, np.ndarray):
        raise formats.PictureError("holds several arrays; save one with numpy.save")
    return array


def _conventions(arguments):
    lines = describe.overview() if arguments.name is None else describe.convention_text(arguments.name)
    for line in lines:
        print(line)
    return 0


def _taps(arguments):
    if arguments.output_length is None and arguments.scale is None:
        arguments.parser.error("--out or --scale is required")
    if arguments.output_length is None and not 1 <= int(arguments.input_length * arguments.scale) < 2**63:
        arguments.parser.error(
            f"--scale {batches.approximately(arguments.scale)} makes an axis of less than 1 sample, or of 2**63 or "
            "more; pass another one, or --out"
        )
    options = {name: getattr(arguments, name) for name in ("scale", "convention", "mode", "rounding", "antialias")}
    try:
        table = describe.axis_table(arguments.input_length, arguments.output_length, **options)
    except ValueError as error:
        arguments.parser.error(str(error).removeprefix("ResamplePlan: "))
    for line in describe.text_table(*table):
        print(line)
    return 0


def _identify(arguments):
    arrays = []
    for path in (arguments.input, arguments.output):
        try:
            arrays.append(_numbers_of(path))
        except (formats.PictureError, OSError, ValueError, TypeError, MemoryError) as error:
            _complain(path, error or "does not fit in memory")
    if len(arrays) < 2:
        return 1
    options = {name: getattr(arguments, name) for name in ("axes", "data_format", "scale")}
    try:
        matches = identify(*arrays, **options, tolerance=arguments.tolerance)
        closest = matches or identify(*arrays, **options, tolerance=math.inf)
    except (ValueError, TypeError, MemoryError) as error:
        _complain(arguments.output, str(error).removeprefix("identify: ") or "does not fit in memory")
        return 1
    if arguments.json:
        print(json.dumps([match.facts() for match in matches], indent=2))
    for match in () if arguments.json else matches:
        print(match)
    if not matches:
        best = closest[0]
        _complain(arguments.output, f"no convention makes it; the closest is {best.describe()}: {best.distance()}")
    return 0 if matches else 1


def _models(arguments):
    from .sr import describe as models

    if arguments.json:
        print(json.dumps(models.embedded(), indent=2))
    for line in () if arguments.json else models.embedded_text():
        print(line)
    return 0


def _check_models(arguments):
    from .sr import describe as models

    results, failed = [], False
    for path in arguments.paths:
        facts, problem = {}, None
        try:
            facts, problem = models.checked(path)
        except OSError as error:
            place = "" if error.filename in (None, path) else f" {error.filename}"
            problem = f"{(error.strerror or str(error)).lower()}{place}"
        except (ValueError, ImportError, MemoryError) as error:
            problem = str(error).removeprefix(f"{path}: ") or "does not fit in memory"
        if problem is not None:
            failed = _complain(path, problem)
        elif not arguments.json:
            print(_one_line(f"{path}: can run"))
        for line in () if arguments.json or not facts else models.checked_text(facts):
            print(f"  {_one_line(line)}")
        results.append({"source": path, "can_run": problem is None, "error": problem, **facts})
    if arguments.json:
        print(json.dumps(results, indent=2))
    return 1 if failed else 0


def _numbers_of(path):
    """The array in a .npy file, or the pixels of a picture's first frame."""
    if os.path.splitext(path)[1].lower() == ".npy":
        return _load_array(path)
    pixels = files.read(path).pixels
    return pixels if isinstance(pixels, np.ndarray) else pillow.to_array(pixels)


def _complain(path, message):
    """One line on stderr; True, for 'failed'."""
    # An empty path is to be seen.
    name = str(path) or "''"
    print(_one_line(f"imgops: {name}: {message}"), file=sys.stderr)
    return True


def _one_line(text):
    text = str(text)
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _bench(arguments):
    from .bench import command

    return command.run(arguments, _complain)


def _info(arguments):
    facts = {**show_config("dicts"), "pillow": PIL.__version__, "formats": formats.formats()}
    facts["formats read"] = formats.readable()
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    for name, value in facts.items():
        print(f"{name:<22} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return 0

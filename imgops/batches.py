"""Many pictures: which files a command means, where the results go, and the work on one after the other or in parallel.

Everything that can be known is checked before any work is done.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from PIL import Image

from . import atomic, curves, files, formats, large, pillow, threads, tiff
from .formats import EXTENSIONS, FORMATS, PictureError, is_deep_colour

# Folders that systems put beside pictures.
_JUNK_FOLDERS = ("__MACOSX", "@eaDir")


@dataclass(frozen=True)
class Recipe:
    """What is done to every picture.

    Attributes
    ----------
    scale, size : Fraction or None, (int, int) or None
        One of the two: output pixels per input pixel, or (width, height).
    mode, linear_light, premultiply
        As in `imgops.pillow.resize`; the mode may be "sr", with a scale.
    model, tile
        Of "sr", as in `imgops.pillow.upscale`.
    quality : int or None
    overwrite, strict : bool
    pixel_limit : bool
        Whether Pillow's limit against decompression bombs holds.
    """

    scale: Fraction | None = None
    size: tuple | None = None
    mode: str = "linear"
    linear_light: bool = False
    premultiply: bool = True
    model: str | None = None
    tile: int | None = None
    quality: int | None = None
    overwrite: bool = False
    strict: bool = False
    pixel_limit: bool = True

    def size_of(self, size):
        """(width, height) of the result for a picture of this (width, height)."""
        if self.size is not None:
            return self.size
        sides = [int(side * self.scale) for side in size]
        small, large = min(sides) < 1, max(sides) >= 2**31
        if not small and not large:
            return pillow.scaled_size(size, self.scale)
        raise PictureError(
            f"cannot be scaled by {approximately(self.scale)}: of {size[0]} x {size[1]} pixels, the result has a side "
            f"of {'less than 1 pixel' if small else '2**31 pixels or more'}; pass a {'larger' if small else 'smaller'} "
            f"--scale, or resize to a --size"
        )

    def streams(self):
        """Whether results can be made by bands of rows."""
        return self.mode != "sr" or pillow.enlarges_parts(self.scale, self.model)

    def limit(self):
        """The context in which files are opened."""
        return files.pixel_limit(Image.MAX_IMAGE_PIXELS if self.pixel_limit else None)


@dataclass(frozen=True)
class Places:
    """Where results go.

    Attributes
    ----------
    paths : tuple of str
        Sources, then perhaps a target as `cp` has it: the last of several paths is the target if it is a folder or ends
        in a slash, or if there are just two. A folder among the sources stands for the pictures in it, by their names.
    output_dir : str or None
        A folder for all results; no path is a target then.
    recursive : bool
        Look into folders of folders. In a target folder their structure is kept.
    suffix : str or None
        What a result's name has more than its source's; None for the command's own where it stands beside its source,
        nothing in a target folder.
    format : str or None
        Of the results; None for the source's.
    """

    paths: tuple
    output_dir: str | None = None
    recursive: bool = False
    suffix: str | None = None
    format: str | None = None


@dataclass(frozen=True)
class Source:
    """A file to read; `below` is its folder within the folder it was found in, None if it was named itself."""

    path: Path
    below: Path | None = None


@dataclass(frozen=True)
class Job:
    """One picture to make: from where, to where, how large, and the folder that may be made for it.

    `streamed` pictures are never in memory as a whole.
    """

    source: Path
    target: Path
    size: tuple
    format: str
    new_folder: Path | None = None
    streamed: bool = False


@dataclass(frozen=True)
class _Refused:
    """A source of which no job can be made, and why."""

    source: Path
    message: str


@dataclass
class Plan:
    """Jobs; those whose results are there already; and (path, message) of what cannot be done."""

    jobs: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    errors: list = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """What became of a job: an error message or None, and notes."""

    error: str | None = None
    notes: tuple = ()


def approximately(scale):
    """A Fraction as a short decimal number, however large or small it is."""
    # Decimal's exponents have room for more than float's.
    return f"{(Decimal(scale.numerator) / Decimal(scale.denominator)).normalize():.6g}"


# ---------------------------------------------------------------------------------------------------------------------
# Planning


def plan(places, recipe, suffix_of, *, skip_existing=False):
    """The Plan of a command. `suffix_of` makes the usual suffix of a result of a (width, height)."""
    result = Plan()
    # Path("") is the current folder, which nobody means who passes a shell variable that is not set.
    if places.output_dir == "":
        result.errors.append(("", "is an empty path for --output-dir; name an existing folder"))
        return result
    if places.output_dir is None and len(places.paths) > 1 and not places.paths[-1]:
        result.errors.append(
            ("", "is an empty path for the target; name a file or an existing folder, or leave it out")
        )
        return result
    if "-" in places.paths:
        result.errors.append(("-", "stands for no standard input or output here; name a file"))
        return result
    sources, target, folder = _split_target(places)
    if folder is not None and not folder.is_dir():
        result.errors.append((folder, "is not an existing folder; make it first"))
        return result
    candidates = []
    for source in _sources(places, sources, target, folder, result.errors):
        try:
            with recipe.limit():
                candidates.append((source, _candidate(source, target, folder, places, recipe, suffix_of)))
        except (PictureError, ValueError, TypeError, MemoryError) as error:
            message = str(error) or "is too large: the result does not fit in memory"
            candidates.append((source, _Refused(source.path, message)))
    _settle(candidates, result, recipe, skip_existing)
    return result


def _split_target(places):
    """(source paths, target file, target folder); at most one of the targets is not None."""
    paths = list(places.paths)
    if places.output_dir is not None:
        return paths, None, Path(places.output_dir)
    if len(paths) > 1:
        last = paths[-1]
        if last.endswith(("/", os.sep)) or os.path.isdir(last):
            return paths[:-1], None, Path(last)
        if len(paths) == 2:
            return paths[:1], Path(last), None
    return paths, None, None


def _sources(places, paths, target, folder, errors):
    recursive, file_format = places.recursive, places.format
    result = {}
    if "" in paths:
        errors.append(("", "is an empty path; name a picture file or a folder of them"))
    for path in map(Path, filter(None, dict.fromkeys(paths))):
        if not path.is_dir():
            result.setdefault(path, Source(path))
        elif target is not None:
            errors.append((path, f"is a folder, but the target {target} is not; name an existing folder as target"))
        else:
            # What can only be read needs the name of another format for its result.
            extensions = EXTENSIONS if file_format is None else formats.readable_extensions()
            found = _pictures_in(path, recursive, folder, extensions)
            for entry in found:
                result.setdefault(entry, Source(entry, entry.parent.relative_to(path)))
            if not found:
                errors.append((path, "is a folder without pictures" + ("" if recursive else "; see --recursive")))
    return list(result.values())


def _pictures_in(folder, recursive, results_folder, extensions):
    """Files that are pictures by their names, sorted; hidden ones are those of systems and editors."""
    skipped = {files.identity(results_folder)} - {files.identity(folder), None} if results_folder else set()
    found = []
    for path, folders, names in os.walk(folder):
        here = Path(path)
        folders[:] = [
            name
            for name in sorted(folders)
            if recursive
            and not name.startswith(".")
            and name not in _JUNK_FOLDERS
            and files.identity(here / name) not in skipped
        ]
        entries = (here / name for name in names if not name.startswith("."))
        found += sorted(entry for entry in entries if entry.suffix.lower() in extensions and entry.is_file())
    return found


def _candidate(source, target, folder, places, recipe, suffix_of):
    header = files.probe(source.path)
    size = recipe.size_of(header.size)
    new_folder, usual_format = None, None
    if target is None:
        usual_format = header.format
        usual = "" if folder is not None else suffix_of(size)
        suffix = usual if places.suffix is None else places.suffix
        extension = FORMATS[places.format].extensions[0] if places.format else source.path.suffix
        name = source.path.stem + suffix + extension
        parent = source.path.parent if folder is None else folder / (source.below or "")
        new_folder = parent if folder is not None and source.below is not None else None
        target = parent / name
    try:
        format_name = formats.format_of(target, usual_format)
    except PictureError as error:
        raise PictureError(f"{error}{'; pass --format, such as --format png' if usual_format else ''}") from None
    formats.check_limits(format_name, size, header.frames)
    formats.check_mode(format_name, header.mode)
    streamed = large.streams(source.path, format_name, size) and recipe.streams()
    if not streamed:
        files.check_memory(size, header.pixel_bytes, header.frames)
    return Job(source.path, target, size, format_name, new_folder, streamed)


def _settle(candidates, result, recipe, skip_existing):
    """Sort the candidates into the plan's jobs, skipped ones and errors."""
    targets = {}
    for _, job in candidates:
        if isinstance(job, Job):
            targets.setdefault(_key(job.target), []).append(job)
    # What an earlier run left in a folder is no source of this one.
    chosen = [job for source, job in candidates if source.below is None or not _is_result(job, targets)]
    protected = {files.identity(job.source) for job in chosen} - {None}
    by_target = {}
    for job in chosen:
        if isinstance(job, Job):
            by_target.setdefault(_key(job.target), []).append(job)
    for job in chosen:
        try:
            if isinstance(job, _Refused):
                raise PictureError(job.message)
            group = by_target[_key(job.target)]
            if len(group) > 1:
                names = ", ".join(str(other.source) for other in group)
                raise PictureError(f"is not written: {names} would all become {job.target}")
            _check_target(job, protected, recipe.overwrite or skip_existing)
        except PictureError as error:
            result.errors.append((job.source, str(error)))
        else:
            done = skip_existing and job.target.exists()
            (result.skipped if done else result.jobs).append(job)


def _key(path):
    """The same for all names of one file, there or not."""
    return os.path.normcase(os.path.realpath(path))


def _is_result(job, targets):
    return any(other is not job for other in targets.get(_key(job.source), ()))


def _check_target(job, protected, overwrite):
    if job.new_folder is not None and not job.new_folder.exists():
        # The folder will be made; where it can be is where its first existing parent may be written.
        existing = next(parent for parent in job.new_folder.parents if parent.exists())
        files.check_target(existing / job.target.name, overwrite=True)
    else:
        files.check_target(job.target, sources=protected, overwrite=overwrite)


# ---------------------------------------------------------------------------------------------------------------------
# Work


def run(jobs, recipe, workers=1, progress=None):
    """Do the jobs; yields (job, Outcome) in their order.

    `progress` is called with the part that is done of a picture, 0 to 1, where one is made at a time.
    """
    if workers == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, do(job, recipe, progress)
        return
    try:
        yield from _in_parallel(jobs, recipe, min(workers, len(jobs)))
    except BaseException:
        for folder in {job.target.parent for job in jobs}:
            atomic.remove_stale(folder)
        raise


def do(job, recipe, progress=None):
    """Make one picture; returns its Outcome."""
    if recipe.mode == "sr":
        from .sr import engine

        # Who gives a recipe says it, once for all processes.
        engine.slower_notice()
    try:
        with recipe.limit():
            return Outcome(notes=tuple(_make(job, recipe, progress)))
    except MemoryError:
        return Outcome("is too large: the result does not fit in memory")
    except (PictureError, ValueError, TypeError) as error:
        return Outcome(str(error))


def _make(job, recipe, progress):
    if job.new_folder is not None:
        with contextlib.suppress(OSError):
            job.new_folder.mkdir(parents=True, exist_ok=True)
    if job.streamed:
        return _stream(job, recipe, progress)
    picture = files.read(job.source)
    picture.notes += _light_notes(picture, recipe)
    if recipe.strict and picture.notes:
        raise files.strict_error(picture.notes)
    files.check_frames(picture, job.format)
    notes = []
    for index, frame in enumerate(picture.frames):
        size = recipe.size_of(frame.size)
        files.check_memory(size)
        mode = frame.mode
        frame.pixels = _resized(frame, size, recipe, _part_of(progress, index, len(picture.frames)))
        if mode in ("P", "PA") and frame.mode != mode and job.format != "GIF":
            notes = [f"its palette became {frame.mode}, since the method makes new colours; nearest makes none"]
    options = {"overwrite": recipe.overwrite, "quality": recipe.quality, "strict": recipe.strict}
    # Nothing is lost with a palette, so that --strict has nothing against it.
    return picture.notes + notes + files.write(picture, job.target, **options)


def _light_notes(picture, recipe):
    if not recipe.linear_light or not picture.icc_profile or curves.has_curve(picture.icc_profile):
        return []
    return ["its light is reckoned by sRGB's curve, since none can be read from its ICC profile"]


def _part_of(progress, index, count):
    """A callable for the part that is done of one of several pictures."""
    return None if progress is None else lambda part: progress((index + part) / count)


def _resized(frame, size, recipe, progress):
    if recipe.mode == "sr":
        options = {"model": recipe.model, "tile": recipe.tile, "premultiply": recipe.premultiply, "progress": progress}
        enlarge = pillow.upscale_pixels if is_deep_colour(frame.pixels) else pillow.upscale
        return enlarge(frame.pixels, recipe.scale, **options)
    options = {"mode": recipe.mode, "linear_light": recipe.linear_light, "premultiply": recipe.premultiply}
    if is_deep_colour(frame.pixels):
        return pillow.resize_colour16(frame.pixels, size, **options, icc_profile=frame.icc_profile)
    return pillow.resize(frame.pixels, size, **options)


def _bands_for(job, recipe):
    """A function that makes bands for a shape, a dtype and an ICC profile."""
    if recipe.mode == "sr":
        options = {"model": recipe.model, "tile": recipe.tile, "premultiply": recipe.premultiply}
        return lambda shape, dtype, _: pillow.upscaling_of_pixels(shape, dtype, recipe.scale, **options)
    options = {"mode": recipe.mode, "linear_light": recipe.linear_light, "premultiply": recipe.premultiply}
    return lambda shape, _, profile: pillow.bands_of_pixels(shape, job.size, **options, icc_profile=profile)


def _stream(job, recipe, progress):
    files.check_target(job.target, overwrite=recipe.overwrite)
    metadata = files.read_metadata(job.source)
    notes = [*metadata.notes, *files.metadata_notes(metadata, job.format), *tiff.deep_notes([metadata])]
    if recipe.strict and notes:
        raise files.strict_error(notes)
    try:
        large.resize(job.source, job.target, _bands_for(job, recipe), overwrite=recipe.overwrite, progress=progress)
    except FileExistsError as error:
        raise PictureError(f"cannot be written to {job.target}: it exists already") from error
    except OSError as error:
        raise PictureError(f"cannot be written to {job.target}: {error}") from error
    except (PictureError, MemoryError):
        raise
    except Exception as error:
        raise PictureError(f"is damaged: {error or type(error).__name__}") from error
    return notes + _light_notes(metadata, recipe)


def _in_parallel(jobs, recipe, workers):
    left = list(jobs)
    with _pool(workers) as pool:
        futures = [pool.submit(do, job, recipe) for job in jobs]
        try:
            for job, future in zip(jobs, futures, strict=True):
                outcome = future.result()
                left.pop(0)
                yield job, outcome
        except BrokenProcessPool:
            finished = [_finished(future) for future in futures[len(jobs) - len(left) :]]
        except BaseException:
            processes = multiprocessing.active_children()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()
            raise
    # A process has died. Each in a process of its own, so that the job that kills it is known:
    for job, outcome in zip(left, finished if left else (), strict=True):
        yield job, outcome or _alone(job, recipe)


def _finished(future):
    try:
        return future.result(timeout=0)
    except (BrokenProcessPool, concurrent.futures.CancelledError, concurrent.futures.TimeoutError):
        return None


def _alone(job, recipe):
    if not recipe.overwrite and job.target.exists():
        # It was not there when the work was planned, and files appear whole: only the word of it was lost.
        return Outcome(notes=("was written before its process died; what else was to be noted is lost",))
    with _pool(1) as pool:
        try:
            return pool.submit(do, job, recipe).result()
        except BrokenProcessPool:
            return Outcome("is not done: the process that worked on it died, perhaps for lack of memory")


def _pool(workers):
    # Spawned: a fork of a process that has used OpenMP may hang.
    return concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )


def _begin():
    """Prepare a worker: one thread for its kernels, Ctrl-C left to the parent, and an end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)

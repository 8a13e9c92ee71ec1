"""Mutated picture files through reader, resizer and writer: no crash, hang, traceback or half-written file.

    python tools/fuzz_pictures.py [--seconds 60] [--seed 0] [--corpus FOLDER]

Seeds are small files of every format, made here, and the pictures of a folder (default: the variable IMGOPS_CORPUS, if
it is set). Each mutant goes through the command line's own work in a process that a watchdog ends. The file of a
finding is kept, and the exit code is then 1.
"""

import argparse
import faulthandler
import io
import multiprocessing
import os
import queue
import random
import shutil
import signal
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms

from imgops import batches, files, formats

HANG_SECONDS = 20
SMALL = 30_000
PIXELS = 2**19
TARGETS = (".png", ".tif", ".gif", ".webp", ".jpg", ".jp2", ".bmp", ".avif")
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
_exif = Image.Exif()
_exif[0x0112], _exif[0x0132], _exif[0x8769] = 6, "2020:02:03 04:05:06", {0x9003: "2019:01:01 00:00:00"}
EXIF = _exif.tobytes()


def made_files():
    """{name: bytes} of small files of each format, still, animated and of pages."""
    random_pixels = np.random.default_rng(0).integers(0, 256, (17, 23, 4), np.uint8)
    random_pixels[:8] = 200
    image = Image.fromarray(random_pixels)
    result = {}
    for name in formats.readable():
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"):
            converted = image.convert("L").convert(mode) if mode == "I;16" else image.convert(mode)
            frames = [converted, converted.transpose(Image.Transpose.ROTATE_180), converted]
            for several in (False, True):
                stream = io.BytesIO()
                options = {"save_all": True, "append_images": frames[1:], "duration": 50} if several else {}
                # libavif, as Pillow calls it, crashes on writing an animation with an orientation.
                if not several and name in formats.FORMATS and "icc_profile" in formats.FORMATS[name].keeps:
                    options |= {"icc_profile": ICC, "exif": EXIF, "dpi": (72, 96)}
                try:
                    converted.save(stream, name, **options)
                except (OSError, ValueError, KeyError):
                    continue
                extension = formats.FORMATS[name].extensions[0] if name in formats.FORMATS else f".{name.lower()}"
                result[f"made-{mode.replace(';', '')}-{len(options)}{extension}"] = stream.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("deep.png", "deep.tif"):
            picture = files.Picture(random_pixels.astype(np.uint16) * 250, "PNG", icc_profile=ICC, exif=EXIF)
            files.write(picture, Path(folder) / name)
            result[name] = (Path(folder) / name).read_bytes()
    return result


def seeds(corpus):
    result = made_files()
    if corpus:
        for path in sorted(Path(corpus).rglob("*")):
            if path.suffix.lower() in formats.EXTENSIONS and path.stat().st_size <= SMALL:
                result[path.name] = path.read_bytes()
    return result


def mutant(data, chance):
    """A few bytes changed, cut, doubled, moved or replaced by values that are often too large."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        start = chance.randrange(len(data))
        # Headers are where most decisions are taken.
        if chance.random() < 0.5:
            start = min(start, chance.randrange(64))
        length = chance.choice((1, 1, 2, 4, 8, 64))
        kind = chance.randrange(6)
        if kind == 0:
            data[start] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[start : start + length] = chance.randbytes(length)
        elif kind == 2:
            data[start : start + 4] = chance.choice(
                (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\1\0\0")
            )
        elif kind == 3:
            del data[start:]
        elif kind == 4:
            data[start:start] = data[start : start + length]
        else:
            del data[start : start + length]
    return mend(bytes(data)) if chance.random() < 0.5 else bytes(data)


def mend(data):
    """A PNG file with right checksums, so that the change reaches the decoder."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    import zlib

    position, result = 8, data[:8]
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        body = data[position + 4 : position + 8 + length]
        if len(body) != length + 4:
            return result + data[position:]
        result += data[position : position + 4] + body + zlib.crc32(body).to_bytes(4, "big")
        position += 12 + length
    return result + data[position:]


def work(tasks, results, folder):
    """One mutant after the other: read, resize, write, and what is wrong with that."""
    faulthandler.enable()
    # A header may claim a large picture: that is slow and no hang.
    Image.MAX_IMAGE_PIXELS = PIXELS
    while (task := tasks.get()) is not None:
        number, path, target, recipe = task
        before = set(os.listdir(folder))
        try:
            finding = once(path, target, recipe)
        except BaseException as error:
            finding = f"{type(error).__name__}: {error}"
        left = set(os.listdir(folder)) - before - {target.name}
        if any(name.endswith(".tmp") for name in left):
            finding = f"left {left}"
        results.put((number, finding))


def once(path, target, recipe):
    places = batches.Places((str(path), str(target)))
    plan = batches.plan(places, recipe, lambda _: "_x")
    messages = [message for _, message in plan.errors]
    for job, outcome in batches.run(plan.jobs, recipe):
        if outcome.error is None:
            with files.pixel_limit(None):
                written = files.read(job.target)
            if written.size != job.size and len(written.frames) == 1:
                return f"size {written.size}, not {job.size}"
        else:
            messages.append(outcome.error)
            if target.exists():
                return f"failed with {outcome.error!r}, and wrote a file"
    for message in messages:
        if not message.strip() or "\n" in message.strip() or "Traceback" in message:
            return f"no clear line: {message!r}"
    return None


class Worker:
    """A process for mutants that can be ended."""

    def __init__(self, folder, work=work):
        context = multiprocessing.get_context("spawn")
        self.tasks, self.results = context.Queue(), context.Queue()
        self.process = context.Process(target=work, args=(self.tasks, self.results, folder), daemon=True)
        self.process.start()

    def finding(self, task):
        """What is wrong with a task, None for nothing."""
        self.tasks.put(task)
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            try:
                return self.results.get(timeout=0.2)[1]
            except queue.Empty:
                if not self.process.is_alive():
                    return f"the process died with {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        return f"hangs for more than {HANG_SECONDS} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", default=os.environ.get("IMGOPS_CORPUS"))
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    starts = seeds(arguments.corpus)
    names = sorted(starts)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-pictures-"))
    recipes = [
        batches.Recipe(scale=Fraction(2), mode="nearest", overwrite=True),
        batches.Recipe(scale=Fraction(3, 2), overwrite=True),
        batches.Recipe(size=(7, 5), mode="cubic", linear_light=True, overwrite=True),
        batches.Recipe(size=(9, 30), mode="lanczos3", premultiply=False, overwrite=True),
    ]
    worker, findings, count = Worker(folder), 0, 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        count += 1
        name = chance.choice(names)
        path = folder / f"{count}-{name}"
        path.write_bytes(mutant(starts[name], chance))
        target = folder / f"out{chance.choice((*TARGETS, path.suffix))}"
        target.unlink(missing_ok=True)
        finding = worker.finding((count, path, target, chance.choice(recipes)))
        if finding is None:
            path.unlink()
            continue
        findings += 1
        print(f"{path} -> {target.suffix}: {finding}", flush=True)
        if not worker.process.is_alive():
            worker = Worker(folder)
    worker.tasks.put(None)
    worker.process.join(HANG_SECONDS)
    print(f"{count} mutants of {len(names)} files, seed {arguments.seed}: {findings} findings")
    if not findings:
        shutil.rmtree(folder)
    return 1 if findings else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())

"""Many files: what a command means, what is refused before any work, and work that survives what happens to it."""

import functools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from imgops import batches, cli, comparing, files, formats, pillow, resample

PIXELS = np.random.default_rng(2).integers(0, 256, (5, 7, 3), np.uint8)
TWICE = batches.Recipe(scale=Fraction(2))


def save(path, pixels=PIXELS, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pillow.to_image(pixels).save(path, **options)
    return path


def run(*arguments, **options):
    command = [sys.executable, "-m", "imgops", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, **options)


@pytest.fixture
def call(capsys):
    """The command in this process: (exit code, lines of stdout, lines of stderr)."""

    def call(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        return code, output.out.splitlines(), output.err.splitlines()

    return call


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def plan(*paths, recipe=TWICE, skip_existing=False, **options):
    places = batches.Places(tuple(map(str, paths)), **options)
    return batches.plan(places, recipe, lambda _: "_s", skip_existing=skip_existing)


# ---------------------------------------------------------------------------------------------------------------------
# Planning


def test_targets_follow_cp(tmp_path):
    a, b, folder = save(tmp_path / "a.png"), save(tmp_path / "b.png"), tmp_path / "folder"
    folder.mkdir()

    def targets(*paths, **options):
        result = plan(*paths, **options)
        assert not result.errors
        return [job.target for job in result.jobs]

    assert targets(a) == [tmp_path / "a_s.png"]
    assert targets(a, tmp_path / "new.jpg") == [tmp_path / "new.jpg"]
    assert targets(a, folder) == [folder / "a.png"]
    assert targets(a, b, folder) == [folder / "a.png", folder / "b.png"]
    assert targets(a, b, output_dir=str(folder)) == [folder / "a.png", folder / "b.png"]
    assert targets(a, b, a) == [tmp_path / "a_s.png", tmp_path / "b_s.png"]
    assert targets(a, suffix="-large") == [tmp_path / "a-large.png"]
    assert targets(a, folder, suffix="-large", format="WEBP") == [folder / "a-large.webp"]
    assert targets(a, format="JPEG") == [tmp_path / "a_s.jpg"]
    save(folder / "c.PNG")
    (folder / "notes.txt").touch()
    (folder / ".hidden.png").touch()
    (folder / "Thumbs.db").touch()
    assert targets(folder) == [folder / "c_s.PNG"]


def test_plans_that_cannot_be(tmp_path):
    left, right, empty = tmp_path / "left", tmp_path / "right", tmp_path / "empty"
    empty.mkdir()
    for path in (left / "same.png", right / "same.png", left / "other.png"):
        save(path)
    result = plan(left / "same.png", right / "same.png", left / "other.png", empty)
    assert [job.source.name for job in result.jobs] == ["other.png"]
    assert {path for path, _ in result.errors} == {left / "same.png", right / "same.png"}
    assert plan(empty).errors == [(empty, "is a folder without pictures; see --recursive")]
    assert "make it first" in plan(left, output_dir=str(tmp_path / "none")).errors[0][1]
    assert "make it first" in plan(left / "same.png", f"{tmp_path}/none/").errors[0][1]
    assert plan(left, tmp_path / "file.png").errors[0][0] == left
    # One name in another format.
    save(left / "same.bmp")
    assert len(plan(left, format="PNG", output_dir=str(empty)).errors) == 2


def test_recursion_keeps_the_structure_and_leaves_junk(tmp_path):
    album, out = tmp_path / "album", tmp_path / "album" / "out"
    out.mkdir(parents=True)
    for name in ("a.png", "x/b.png", "x/y/c.jpg", "x/y/d.PNG"):
        save(album / name)
    for name in ("x/.hidden.png", "x/._b.png", ".cache/e.png", "__MACOSX/f.png", "@eaDir/g.png", "out/old.png"):
        save(album / name.replace("png", "bmp")).rename(album / name)
    for name in ("x/Thumbs.db", "x/.DS_Store", "desktop.ini"):
        (album / name).write_bytes(b"junk")
    result = plan(album, output_dir=str(out), recursive=True)
    assert not result.errors
    assert [str(job.target.relative_to(out)) for job in result.jobs] == ["a.png", "x/b.png", "x/y/c.jpg", "x/y/d.PNG"]
    assert tree(out) == ["old.png"], "planning writes nothing"
    outcomes = list(batches.run(result.jobs, TWICE))
    assert all(outcome == batches.Outcome() for _, outcome in outcomes)
    assert tree(out) == ["a.png", "old.png", "x/b.png", "x/y/c.jpg", "x/y/d.PNG"]
    assert [str(job.source.name) for job in plan(album).jobs] == ["a.png"]


def test_results_of_an_earlier_run_are_no_sources(tmp_path):
    for name in ("a.png", "b.png"):
        save(tmp_path / name)
    first = plan(tmp_path)
    assert all(outcome.error is None for _, outcome in batches.run(first.jobs, TWICE))
    assert tree(tmp_path) == ["a.png", "a_s.png", "b.png", "b_s.png"]
    again = plan(tmp_path, skip_existing=True)
    assert (len(again.jobs), len(again.skipped), again.errors) == (0, 2, [])
    again = plan(tmp_path, recipe=batches.Recipe(scale=Fraction(2), overwrite=True))
    assert [job.source.name for job in again.jobs] == ["a.png", "b.png"]


def test_links_that_turn_in_circles(tmp_path):
    save(tmp_path / "a" / "a.png")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    assert len(plan(tmp_path / "a", recursive=True).jobs) == 1


def test_a_target_folder_that_cannot_be_made(tmp_path, monkeypatch):
    save(tmp_path / "in" / "x" / "a.png")
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != out)
    result = plan(tmp_path / "in", output_dir=str(out), recursive=True)
    assert "no permission" in result.errors[0][1]
    monkeypatch.undo()
    # A file where a folder must be.
    (out / "x").touch()
    result = plan(tmp_path / "in", output_dir=str(out), recursive=True)
    assert (len(result.jobs), len(result.errors)) == (0, 1)


@pytest.mark.parametrize(
    ("size", "name", "word"),
    [
        ((20000, 3), "a.webp", "at most 16383 pixels a side.*20000 x 3.*--format png"),
        ((70000, 3), "a.jpg", "at most 65500"),
        ((70000, 3), "a.gif", "at most 65535"),
        ((70000, 3), "a.tga", "at most 65535"),
        ((40000, 40000), "a.bmp", "4 GiB"),
    ],
)
def test_limits_of_formats_are_told_before_any_work(tmp_path, monkeypatch, size, name, word):
    source = save(tmp_path / "a.png")
    monkeypatch.setattr(files, "read", None)
    result = plan(source, tmp_path / name, recipe=batches.Recipe(size=size))
    assert not result.jobs
    assert re.search(word, result.errors[0][1])


# ---------------------------------------------------------------------------------------------------------------------
# The command line's options


def test_dry_run_checks_and_writes_nothing(call, tmp_path):
    save(tmp_path / "a.png")
    (tmp_path / "bad.png").write_bytes(b"bad")
    code, lines, errors = call("upscale", tmp_path, "--dry-run")
    assert code == 1
    assert lines[0] == f"{tmp_path / 'a.png'} -> {tmp_path / 'a_x2.png'} (14x10)"
    assert re.fullmatch(r"2 pictures: 1 planned, 1 failed, in .* s", lines[1])
    assert len(errors) == 1
    assert tree(tmp_path) == ["a.png", "bad.png"]


def test_json_is_one_object(call, tmp_path):
    save(tmp_path / "a.png")
    save(tmp_path / "t.png", np.full((5, 7, 4), 100, np.uint8))
    (tmp_path / "bad.png").write_bytes(b"bad")
    code, lines, errors = call("upscale", tmp_path, "--json", "--format", "jpg")
    assert code == 1
    report = json.loads("\n".join(lines))
    assert (report["done"], report["failed"], report["skipped"]) == (2, 1, 0)
    by_source = {Path(entry["source"]).name: entry for entry in report["files"]}
    done = by_source["a.png"]
    assert (done["status"], done["width"], done["height"], done["notes"]) == ("done", 14, 10, [])
    assert Path(done["target"]) == tmp_path / "a_x2.jpg"
    assert "white" in by_source["t.png"]["notes"][0]
    assert by_source["bad.png"]["status"] == "failed"
    assert "not a picture" in by_source["bad.png"]["error"]
    assert len(errors) == 2


def test_strict_refuses_what_would_be_a_note(call, tmp_path):
    save(tmp_path / "t.png", np.full((5, 7, 4), 100, np.uint8))
    target = tmp_path / "t.jpg"
    code, _, errors = call("upscale", tmp_path / "t.png", target, "--strict")
    assert code == 1
    assert len(errors) == 1
    assert re.search("is not written, as --strict asks: its transparency was composed on white", errors[0])
    assert not target.exists()
    assert call("upscale", tmp_path / "t.png", target)[0] == 0
    assert call("upscale", tmp_path / "t.png", tmp_path / "u.png", "--strict")[0] == 0


def test_skip_existing(call, tmp_path):
    for name in ("a.png", "b.png"):
        save(tmp_path / name)
    (tmp_path / "a_x2.png").write_bytes(b"there already")
    code, lines, errors = call("upscale", tmp_path, "--skip-existing")
    assert (code, errors) == (0, [])
    assert re.fullmatch(r"2 pictures: 1 done, 1 skipped, in .* s", lines[-1])
    assert (tmp_path / "a_x2.png").read_bytes() == b"there already"
    assert (tmp_path / "b_x2.png").exists()
    assert call("upscale", tmp_path, "--skip-existing", "--overwrite")[0] == 2


def test_quality(call, tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    source = save(tmp_path / "a.png", noise)
    sizes = {}
    for extension in ("jpg", "webp", "avif"):
        if formats.EXTENSIONS["." + extension] not in formats.formats():
            continue
        for quality in ([], ["--quality", "10"], ["--quality", "100"]):
            assert call("upscale", source, "--format", extension, "--overwrite", *quality)[0] == 0
            sizes[(extension, *quality)] = (tmp_path / f"a_x2.{extension}").stat().st_size
        assert sizes[extension, "--quality", "10"] < sizes[(extension,)] < sizes[extension, "--quality", "100"]
    code, _, errors = call("upscale", source, "--quality", "50")
    assert code == 2
    assert "no result is one" in errors[-1]
    for text in ("0", "101", "x", "5.5", "-1"):
        assert call("upscale", source, "--quality", text)[0] == 2


def test_straight_alpha(call, tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (5, 7, 4), np.uint8)
    pixels[2, 2:5, 3] = 0
    source = save(tmp_path / "a.png", pixels)
    assert call("upscale", source, "--straight-alpha", "--method", "linear")[0] == 0
    with Image.open(tmp_path / "a_x2.png") as result:
        np.testing.assert_array_equal(np.asarray(result), resample(pixels, scale=2))


@pytest.mark.parametrize("method", ["cubic", "bicubic", "lanczos3", "bilinear"])
def test_methods_and_their_synonyms(call, tmp_path, method):
    source = save(tmp_path / "a.png")
    assert call("upscale", source, "--method", method)[0] == 0
    with Image.open(tmp_path / "a_x2.png") as result:
        assert result.tobytes() == pillow.upscale(pillow.to_image(PIXELS), 2, method=method).tobytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["upscale", "a.png", "--format", "xyz"],
        ["upscale", "a.png", "--suffix", "a/b"],
        ["upscale", "a.png", "--jobs", "0"],
        ["upscale", "a.png", "--jobs", "two"],
        ["compare", "a.png"],
        ["depth-to-space", "a.npy", "b.npy"],
        ["depth-to-space", "a.npy", "b.npy", "--block", "0"],
        ["depth-to-space", "a.npy", "b.npy", "--block", "2", "--mode", "CDR"],
    ],
    ids=" ".join,
)
def test_wrong_usage(call, arguments):
    code, lines, errors = call(*arguments)
    assert (code, lines) == (2, [])
    assert "error:" in errors[-1]


def test_pixel_limit_can_be_lifted(call, tmp_path, monkeypatch):
    source = save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    code, _, errors = call("upscale", source)
    assert (code, len(errors)) == (1, 1)
    assert "--no-pixel-limit lifts it" in errors[0]
    assert call("upscale", source, "--no-pixel-limit")[0] == 0
    assert Image.MAX_IMAGE_PIXELS == 10


def test_animations_and_pages_on_the_command_line(call, tmp_path):
    frames = [Image.new("RGB", (6, 4), colour) for colour in ("red", "lime", "lime", "blue")]
    for extension in ("gif", "png", "webp", "tif"):
        source = tmp_path / f"a.{extension}"
        files.write(_several(frames, formats.EXTENSIONS["." + extension]), source)
        assert call("upscale", source)[0] == 0
        with Image.open(tmp_path / f"a_x2.{extension}") as result:
            assert (result.n_frames, result.size) == (4, (12, 8))
        before, after = (files.read(path) for path in (source, tmp_path / f"a_x2.{extension}"))
        assert [frame.duration for frame in after.frames] == [frame.duration for frame in before.frames]
    code, _, errors = call("upscale", tmp_path / "a.gif", tmp_path / "a.jpg")
    assert (code, len(errors)) == (1, 1)
    assert "JPEG files hold one" in errors[0]


def _several(images, name):
    pages = [
        files.Picture(image, name, duration=None if name == "TIFF" else 50.0 + 10 * index)
        for index, image in enumerate(images)
    ]
    pages[0].more = pages[1:]
    pages[0].loop = 0
    return pages[0]


# ---------------------------------------------------------------------------------------------------------------------
# Work in parallel, and work that is stopped


def test_jobs_in_parallel_make_the_same_files(call, tmp_path):
    source, one, two = tmp_path / "in", tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    for index in range(6):
        save(source / f"{index}.png", np.random.default_rng(index).integers(0, 256, (40, 30, 4), np.uint8))
    (source / "3.png").write_bytes((source / "4.png").read_bytes()[:-30])
    first = call("upscale", source, "--output-dir", one)
    second = call("upscale", source, "--output-dir", two, "--jobs", "2")
    assert first[0] == second[0] == 1
    assert [line.replace(str(one), "") for line in first[1][:-1]] == [
        line.replace(str(two), "") for line in second[1][:-1]
    ]
    assert first[2] == second[2]
    assert tree(one) == tree(two) == ["0.png", "1.png", "2.png", "4.png", "5.png"]
    for name in tree(one):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_a_batch_of_many_with_three_broken(call, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    out.mkdir()
    for index in range(200):
        save(source / f"{index:03}.png")
    data = (source / "000.png").read_bytes()
    for index, broken in ((7, b""), (100, data[:-20]), (199, data[:50] + b"!" + data[51:])):
        (source / f"{index:03}.png").write_bytes(broken)
    code, lines, errors = call("upscale", source, "--output-dir", out)
    assert code == 1
    assert len(errors) == 3
    assert re.fullmatch(r"200 pictures: 197 done, 3 failed, in .* s", lines[-1])
    assert len(tree(out)) == 197


_DIES = """
import os, sys
from imgops import batches, cli, files
read = files.read
def deadly(path):
    if "2" in path.name:
        os._exit(7)
    return read(path)
files.read = deadly
if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_worker_that_dies_takes_one_picture_with_it(tmp_path):
    for index in range(5):
        save(tmp_path / "in" / f"{index}.png")
    (tmp_path / "out").mkdir()
    (tmp_path / "dies.py").write_text(_DIES)
    arguments = ["upscale", tmp_path / "in", "--output-dir", tmp_path / "out", "--jobs", "2", "--method", "linear"]
    done = subprocess.run(
        [sys.executable, tmp_path / "dies.py", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    # A picture may be written whose process's word of it is lost with the others.
    (line,) = [line for line in done.stderr.splitlines() if ": note: was written before" not in line]
    assert line.startswith(f"imgops: {tmp_path / 'in' / '2.png'}: is not done: the process that worked on it died")
    assert tree(tmp_path / "out") == ["0.png", "1.png", "3.png", "4.png"]


def test_a_picture_whose_word_is_lost_is_not_made_again(tmp_path):
    job = batches.Job(save(tmp_path / "a.png"), tmp_path / "b.png", (14, 10), "PNG")
    (tmp_path / "b.png").write_bytes(b"whole")
    outcome = batches._alone(job, TWICE)
    assert outcome.error is None
    assert "written before" in outcome.notes[0]
    assert (tmp_path / "b.png").read_bytes() == b"whole"


def begin(tmp_path, *options):
    """A batch in a process of its own, some pictures of which are done."""
    source, out = tmp_path / "in", tmp_path / "out"
    out.mkdir()
    noise = np.random.default_rng(5).integers(0, 256, (300, 300, 3), np.uint8)
    save(source / "00.png", noise)
    for index in range(1, 16):
        (source / f"{index:02}.png").write_bytes((source / "00.png").read_bytes())
    command = [sys.executable, "-m", "imgops", "upscale", str(source), "--output-dir", str(out), "--method", "linear"]
    command += options
    # A shell starts what runs in its background with Ctrl-C ignored, and children inherit that.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL) if os.name == "posix" else None
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    deadline = time.monotonic() + 60
    while len(list(out.glob("*.png"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.002)
    return process, source, out


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("options", [(), ("--jobs", "2")], ids=["one", "two"])
def test_a_killed_batch_leaves_whole_files_and_can_be_finished(call, tmp_path, options):
    process, source, out = begin(tmp_path, *options)
    process.kill()
    process.communicate()
    left = {path.name for path in out.glob("*.png")}
    for path in out.glob("*.png"):
        assert files.read(path).size == (600, 600)
    assert 3 <= len(left) < 16
    if options:
        # The workers see that their parent is gone.
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and _workers(source):
            time.sleep(0.05)
        assert not _workers(source)
    code, lines, errors = call("upscale", source, "--output-dir", out, "--skip-existing", "--method", "linear")
    assert (code, errors) == (0, [])
    assert "16 pictures" in lines[-1]
    assert tree(out) == tree(source)
    assert not list(out.glob(".imgops-*"))


def _workers(folder):
    """Processes that have a file of a folder open, on systems that tell."""
    result = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link).startswith(str(folder.parent)):
                result.append(link)
        except OSError:
            continue
    return result


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("options", [(), ("--jobs", "2")], ids=["one", "two"])
def test_ctrl_c_is_one_line_and_leaves_no_temporary_file(tmp_path, options):
    process, _, out = begin(tmp_path, *options)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "imgops: interrupted; no unfinished file is left\n"
    assert all(path.suffix == ".png" for path in out.iterdir())
    assert 3 <= len(list(out.iterdir())) < 16


def test_progress_on_a_terminal_only(tmp_path):
    pytest.importorskip("tqdm", reason="the progress bar is tqdm's")
    pty = pytest.importorskip("pty", reason="terminals of POSIX")
    for index in range(3):
        save(tmp_path / "in" / f"{index}.png")
    (tmp_path / "out").mkdir()
    arguments = ["upscale", tmp_path / "in", "--output-dir", tmp_path / "out", "--overwrite", "--method", "linear"]
    piped = run(*arguments)
    assert piped.stderr == ""
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "imgops", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass
    os.close(ours)
    assert done.returncode == 0
    assert b"/3 [" in shown
    assert b"picture" in shown


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


def compared(first, second):
    return comparing.compare(files.Picture(first, "PNG"), files.Picture(second, "PNG"))


def test_equal_pictures():
    image = pillow.to_image(np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8))
    result, differences = compared(image, image)
    assert (result.psnr, result.largest) == (np.inf, 0)
    assert result.ssim == pytest.approx(1)
    assert not differences.any()


def test_psnr_and_the_largest_difference_by_hand():
    first = np.full((20, 30), 100, np.uint8)
    second = first.copy()
    second[7, 11] = 130
    result, differences = compared(pillow.to_image(first), pillow.to_image(second))
    assert result.psnr == pytest.approx(10 * np.log10(255**2 / (900 / 600)))
    assert (result.largest, result.peak, result.place) == (30, 255, (0, 11, 7))
    drawn, factor = comparing.difference_picture(differences)
    assert factor == 8.5
    assert drawn.sum() == drawn[7, 11] == 255


def test_ssim_by_its_definition(monkeypatch):
    """Every window by itself, with the weights as a two-dimensional Gaussian."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 256, (17, 14)).astype(np.float64)
    second = np.clip(first + rng.normal(0, 25, first.shape), 0, 255).round()
    offsets = np.arange(-5, 6)
    weights = np.exp(-(offsets[:, None] ** 2 + offsets**2) / (2 * 1.5**2))
    weights /= weights.sum()
    values = []
    for row in range(7):
        for column in range(4):
            a, b = (x[row : row + 11, column : column + 11] for x in (first, second))
            mean_a, mean_b = (weights * a).sum(), (weights * b).sum()
            var_a, var_b = (weights * (a - mean_a) ** 2).sum(), (weights * (b - mean_b) ** 2).sum()
            covariance = (weights * (a - mean_a) * (b - mean_b)).sum()
            c1, c2 = 2.55**2, 7.65**2
            values.append(
                (2 * mean_a * mean_b + c1)
                * (2 * covariance + c2)
                / ((mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2))
            )
    monkeypatch.setattr(comparing, "_BAND_ROWS", 3)
    result, _ = compared(*(pillow.to_image(x.astype(np.uint8)) for x in (first, second)))
    assert result.ssim == pytest.approx(np.mean(values), abs=1e-9)


def test_pictures_of_different_kinds():
    grey = np.random.default_rng(1).integers(0, 256, (12, 13), np.uint8)
    colour = np.repeat(grey[..., None], 3, axis=2)
    opaque = np.concatenate([colour, np.full((12, 13, 1), 255, np.uint8)], axis=2)
    deep = colour.astype(np.uint16) * 257
    images = [pillow.to_image(array) for array in (grey, colour, opaque)]
    for image in (*images, deep):
        for other in (*images, deep):
            assert compared(image, other)[0].largest == 0
    hidden = opaque.copy()
    hidden[3, 4] = 1, 2, 3, 0
    other = hidden.copy()
    other[3, 4] = 200, 100, 50, 0
    assert compared(pillow.to_image(hidden), pillow.to_image(other))[0].largest == 0
    result, _ = compared(images[2], pillow.to_image(hidden))
    assert (result.largest, result.place) == (255, (0, 4, 3))


def test_compare_on_the_command_line(call, tmp_path):
    first = np.full((20, 30, 3), 100, np.uint8)
    second = first.copy()
    second[7, 11] = 130
    a, b = save(tmp_path / "a.png", first), save(tmp_path / "b.png", second)
    code, lines, errors = call("compare", a, b, "--picture", tmp_path / "d.png")
    assert (code, errors) == (0, [])
    assert lines[0] == f"PSNR                {10 * np.log10(255**2 / 1.5):.2f} dB"
    assert lines[2] == "largest difference  30 of 255 at x=11, y=7"
    assert lines[3] == "picture             differences times 8.5"
    with Image.open(tmp_path / "d.png") as drawn:
        assert drawn.getpixel((11, 7)) == (255, 255, 255)
        assert np.asarray(drawn).sum() == 3 * 255
    facts = json.loads("\n".join(call("compare", a, b, "--json")[1]))
    assert (facts["largest_difference"], facts["at"]) == (30, {"frame": 0, "x": 11, "y": 7})
    assert json.loads("\n".join(call("compare", a, a, "--json")[1]))["psnr"] is None
    assert call("compare", a, a)[1][0] == "PSNR                inf dB"


def test_comparisons_that_cannot_be(call, tmp_path):
    a, b = save(tmp_path / "a.png"), save(tmp_path / "b.png", PIXELS[:4])
    for arguments, word in [
        ((a, b), "sizes are 7 x 5 and 7 x 4"),
        ((a, tmp_path / "none.png"), "no such file"),
        ((a, a, "--picture", a), "is a source"),
        ((a, a, "--picture", b), "exists already"),
        ((a, a, "--picture", tmp_path / "x.xyz"), "must end in"),
        ((a, a, "--picture", tmp_path / "none" / "x.png"), "no existing folder"),
    ]:
        code, lines, errors = call("compare", *arguments)
        assert (code, lines, len(errors)) == (1, [], 1)
        assert word in errors[0]
    assert tree(tmp_path) == ["a.png", "b.png"]


# ---------------------------------------------------------------------------------------------------------------------
# Depth and space


@pytest.mark.parametrize("dtype", [np.uint8, ">f4", np.complex128])
def test_moves_of_npy_files(call, tmp_path, dtype):
    x = np.arange(2 * 3 * 18).reshape(2, 3, 18).astype(dtype)
    np.save(tmp_path / "a.npy", x)
    code, lines, errors = call("depth-to-space", tmp_path / "a.npy", tmp_path / "b.npy", "--block", "3")
    assert (code, errors) == (0, [])
    assert lines == [f"{tmp_path / 'a.npy'} -> {tmp_path / 'b.npy'} (6, 9, 2)"]
    result = np.load(tmp_path / "b.npy")
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x.reshape(2, 3, 3, 3, 2).transpose(0, 2, 1, 3, 4).reshape(6, 9, 2))
    assert call("space-to-depth", tmp_path / "b.npy", tmp_path / "c.npy", "--block", "3")[0] == 0
    assert (tmp_path / "c.npy").read_bytes() == (tmp_path / "a.npy").read_bytes()
    options = ["--block", "2", "--mode", "CRD", "--data-format", "NCHW"]
    np.save(tmp_path / "d.npy", np.arange(8).reshape(1, 8, 1, 1))
    assert call("depth-to-space", tmp_path / "d.npy", tmp_path / "e.npy", *options)[0] == 0
    assert np.load(tmp_path / "e.npy").tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]


def test_moves_that_cannot_be(call, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 5)))
    np.save(tmp_path / "o.npy", np.array([None]), allow_pickle=True)
    np.savez(tmp_path / "z.npz", a=np.zeros(3))
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\1\0\5\0{'a'\n")
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "empty.npy").touch()
    before = tree(tmp_path)
    for source, target, word in [
        ("a.npy", "b.npy", r"divisible by block_size\*\*2 = 4.*C=5"),
        ("none.npy", "b.npy", "no such file"),
        ("bad.npy", "b.npy", "damaged"),
        ("text.npy", "b.npy", "no .npy file"),
        ("empty.npy", "b.npy", "no .npy file"),
        ("o.npy", "b.npy", "no .npy file"),
        ("z.npz", "b.npy", "several arrays"),
        ("a.npy", "a.npy", "is a source"),
        ("a.npy", "bad.npy", "exists already"),
        ("a.npy", "none/b.npy", "no existing folder"),
    ]:
        code, lines, errors = call("depth-to-space", tmp_path / source, tmp_path / target, "--block", "2")
        assert (code, lines, len(errors)) == (1, [], 1), source
        assert re.search(word, errors[0]), errors
    assert tree(tmp_path) == before


# ---------------------------------------------------------------------------------------------------------------------
# Arguments that are empty, huge or tiny


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([""], "empty path; name a picture"),
        (["a.png", ""], "empty path for the target"),
        (["a.png", "b.png", ""], "empty path for the target"),
        (["a.png", "--output-dir", ""], "empty path for --output-dir"),
    ],
    ids=str,
)
def test_an_empty_path_is_not_the_current_folder(call, tmp_path, monkeypatch, arguments, word):
    save(tmp_path / "a.png")
    save(tmp_path / "b.png")
    monkeypatch.chdir(tmp_path)
    code, lines, errors = call("upscale", *arguments)
    assert (code, lines, len(errors)) == (1, [], 1)
    assert word in errors[0]
    assert tree(tmp_path) == ["a.png", "b.png"]


def test_an_empty_path_keeps_no_other_from_its_work(call, tmp_path, monkeypatch):
    for name in ("a.png", "b.png", "unnamed.png"):
        save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    code, _, errors = call("upscale", "a.png", "", "b.png")
    assert (code, len(errors)) == (1, 1)
    assert errors[0].startswith("imgops: '': is an empty path")
    assert tree(tmp_path) == ["a.png", "a_x2.png", "b.png", "b_x2.png", "unnamed.png"]


def test_other_commands_refuse_an_empty_target(call, tmp_path):
    save(tmp_path / "a.png")
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 4)))
    for arguments in (
        ("compare", tmp_path / "a.png", tmp_path / "a.png", "--picture", ""),
        ("depth-to-space", tmp_path / "a.npy", "", "--block", 2),
    ):
        code, lines, errors = call(*arguments)
        assert (code, lines, len(errors)) == (1, [], 1)
        assert "target is empty" in errors[0]


@pytest.mark.parametrize("scale", ["1e-300", "1e-999", "0.01", "1e9", "1e300", "1e999"])
def test_scales_out_of_reach_are_told_in_the_words_of_the_command(call, tmp_path, scale):
    code, lines, errors = call("resize", save(tmp_path / "a.png"), "--scale", scale)
    assert (code, lines, len(errors)) == (1, [], 1)
    message = errors[0].replace(str(tmp_path), "").lower()
    assert "resample_shape" not in message
    assert f"cannot be scaled by {scale}:" in message.replace("+", "")
    assert len(message) < 250
    code, lines, errors = call("taps", "--in", 5, "--scale", "0.01" if scale == "1e9" else scale)
    assert (code, lines) == (2, [])
    assert len(errors[-1]) < 200
    assert "--scale" in errors[-1]


def test_files_of_formats_that_are_only_read_need_a_format(call, tmp_path):
    Image.new("RGB", (32, 32), "red").save(tmp_path / "a.ico", sizes=[(32, 32)])
    code, _, errors = call("resize", tmp_path / "a.ico", "--size", "8x8")
    assert code == 1
    assert errors[0].endswith("; pass --format, such as --format png")
    # In a folder they are no pictures without it.
    code, _, errors = call("resize", tmp_path, "--size", "8x8")
    assert (code, "without pictures" in errors[0]) == (1, True)
    assert call("resize", tmp_path, "--size", "8x8", "--format", "png")[0] == 0
    assert files.read(tmp_path / "a_8x8.png").size == (8, 8)


@pytest.mark.parametrize("paths", [("-",), ("-", "a.png"), ("a.png", "-")], ids=str)
def test_standard_input_and_output_are_refused_in_words(call, paths):
    code, _, errors = call("resize", *paths, "--size", "8x8")
    assert code == 1
    assert errors == ["imgops: -: stands for no standard input or output here; name a file"]


def test_numbers_that_are_no_colours_are_refused_before_any_work(call, tmp_path, monkeypatch):
    Image.new("F", (8, 8)).save(tmp_path / "a.tif")
    monkeypatch.setattr(files, "read", None)
    code, _, errors = call("resize", tmp_path / "a.tif", tmp_path / "a.png", "--size", "4x4")
    assert code == 1
    assert "32-bit floating-point numbers" in errors[0]


def test_light_without_a_curve_in_the_profile_is_told(call, tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png", icc_profile=b"no profile")
    code, _, errors = call("resize", tmp_path / "a.png", "--size", "4x4", "--linear-light")
    assert code == 0
    assert errors[0].endswith("its light is reckoned by sRGB's curve, since none can be read from its ICC profile")


def test_a_palette_that_becomes_colours_is_told(call, tmp_path):
    image = Image.new("P", (8, 8))
    image.putpalette([0, 0, 0, 255, 255, 255])
    image.save(tmp_path / "a.png")
    _, _, errors = call("resize", tmp_path / "a.png", "--size", "4x4", "--strict")
    (error,) = errors
    assert error.endswith("note: its palette became RGB, since the method makes new colours; nearest makes none")
    assert call("resize", tmp_path / "a.png", "--size", "5x5", "--mode", "nearest")[2] == []
    assert call("resize", tmp_path / "a.png", "--size", "6x6", "--format", "gif")[2] == []


def test_comparing_tells_what_was_not_read(call, tmp_path):
    (tmp_path / "a.ppm").write_bytes(b"P6 1 1 65535\n" + bytes(6))
    code, _, errors = call("compare", tmp_path / "a.ppm", tmp_path / "a.ppm")
    assert code == 0
    assert errors == [f"imgops: {tmp_path / 'a.ppm'}: note: its 16-bit colours are read as 8-bit"] * 2

"""`imgops bench`: its cells, how peers are held against imgops, verdicts, files; the page made of its figures."""

import dataclasses
import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import imgops
from imgops import cli
from imgops.bench import cells, measure, peers, report

ROOT = Path(__file__).resolve().parent.parent
CELLS = {cell.name: cell for cell in cells.CELLS}


def tool(name):
    """A script of tools/ as a module."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(ROOT / "tools"))


# ---------------------------------------------------------------------------------------------------------------------
# Cells


def test_names_are_unique():
    assert len(CELLS) == len(cells.CELLS)


def test_every_move_is_there():
    wanted = itertools.product(
        ("depth_to_space", "space_to_depth"), ("NHWC", "NCHW"), (2, 3, 4), ("DCR", "CRD"), (3, 32),
        ("uint8", "float16", "float32", "float64"),
    )  # fmt: skip
    names = {(c.operator, c.layout, c.block, c.order, c.channels, c.dtype) for c in cells.CELLS if c.block}
    assert set(wanted) <= names


def test_every_resample_is_there():
    sizes = [((540, 960), (1080, 1920)), ((720, 1280), (1080, 1920)), ((1080, 1920), (540, 960))]
    sizes += [((2160, 3840), (1080, 1920)), ((1080, 1920), (2160, 3840)), ((1080, 1920), (999, 1777))]
    layouts = [("NHWC", 1), ("NHWC", 3), ("NHWC", 4), ("NCHW", 3)]
    dtypes = ("uint8", "uint16", "float16", "float32")
    wanted = itertools.product(("linear", "nearest"), sizes, layouts, dtypes)
    names = {(c.mode, (c.source, c.target), (c.layout, c.channels), c.dtype) for c in cells.CELLS if not c.antialias}
    assert set(wanted) <= names
    gradients = {(c.mode, c.target, c.source, c.dtype) for c in cells.CELLS if c.operator == "resample_grad"}
    wanted = itertools.product(("linear", "nearest"), sizes, ("float16", "float32"))
    assert {(mode, *pair, dtype) for mode, pair, dtype in wanted} <= gradients


@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth", "resample", "resample_grad"])
def test_shapes_are_those_of_the_operator(operator):
    for cell in cells.CELLS:
        if cell.operator == operator:
            small = cell.small() if cell.family != "small" else cell
            assert small.input().shape == small.shape
            assert small.input().dtype == small.dtype
            assert peers.own_call(small, small.input())().shape == small.output_shape
            assert small.layout in small.name


def test_the_copy_moves_as_many_bytes():
    cell = CELLS["resample linear 540p to 1080p NHWC3 float32"]
    assert cell.bytes_moved == (540 * 960 * 3 * 4 + 1080 * 1920 * 3 * 4) // 2
    cell = CELLS["depth_to_space block 2 DCR NHWC3 uint8"]
    assert cell.bytes_moved == 1080 * 1920 * 3


def test_words_choose_cells():
    chosen = cells.select(cells.CELLS, ["gradient", "float16"], False)
    assert chosen
    assert all(cell.operator == "resample_grad" and cell.dtype == "float16" for cell in chosen)
    quick = cells.select(cells.CELLS, [], True)
    assert {cell.family for cell in quick} >= {"moves of 3 channels", "linear", "antialias", "linear gradient", "small"}
    assert len(quick) < len(cells.CELLS) / 8


# ---------------------------------------------------------------------------------------------------------------------
# Peers


def test_peers_agree_or_say_why_not(tmp_path):
    """All installed peers, on small pictures, in a process of its own since they set threads and print."""
    command = [sys.executable, "-m", "imgops", "bench", "--check", "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stdout.splitlines() if not line.endswith("are not compared")]
    found = {(line[:58].strip(), line[58:80].strip()): line[80:] for line in lines}
    for cell in cells.select(cells.CELLS, [], True):
        if cell.operator != "import":
            assert found[cell.name, "imgops"] == "equal"
            if cell.block:
                assert found[cell.name, "NumPy"] == "equal"
    differing = {peer for (_, peer), note in found.items() if note.startswith("differs")}
    assert differing <= {"onnxruntime"}, found


def with_peers(monkeypatch, **functions):
    monkeypatch.setattr(peers, "PEERS", {"imgops": peers.PEERS["imgops"], **functions})


@pytest.mark.parametrize(
    ("wrong", "note"), [(0, "equal"), (1, "within 1"), (3, "differs by 3; not compared")], ids=["equal", "near", "far"]
)
def test_a_peer_that_differs_is_not_compared(monkeypatch, wrong, note):
    cell = CELLS["resample linear 540p to 1080p NHWC3 uint8"].small()

    def other(cell, x, _threads):
        result = peers.own_call(cell, x)()
        result[0, 3, 5, 1] += wrong if result[0, 3, 5, 1] < 128 else -wrong
        return peers.Calls(lambda: result)

    with_peers(monkeypatch, other=other)
    own, row = measure.prepare(cell, 1)
    assert (own.name, own.note) == ("imgops", "equal")
    assert row.note == note
    assert (row.calls is None) == (wrong == 3)


def test_moves_must_be_equal(monkeypatch):
    cell = CELLS["depth_to_space block 2 DCR NHWC3 float32"].small()
    with_peers(monkeypatch, other=lambda cell, x, _: peers.Calls(lambda: peers.own_call(cell, x)() + np.float32(1e-7)))
    assert measure.prepare(cell, 1)[1].note.startswith("differs by")


def test_nan_is_a_difference(monkeypatch):
    cell = CELLS["resample linear 540p to 1080p NHWC3 float32"].small()
    with_peers(monkeypatch, other=lambda cell, x, _: peers.Calls(lambda: peers.own_call(cell, x)() * np.float32("nan")))
    assert measure.prepare(cell, 1)[1].note == "differs by inf; not compared"


def test_a_peer_that_refuses_has_its_words(monkeypatch):
    def other(*_):
        raise RuntimeError("no kernel\n for this")

    with_peers(monkeypatch, other=other)
    row = measure.prepare(CELLS["resample linear 540p to 1080p NHWC3 uint8"].small(), 1)[1]
    assert (row.note, row.calls) == ("refused: no kernel for this", None)


def test_imgops_itself_must_not_fail(monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(peers, "PEERS", {"imgops": broken})
    with pytest.raises(RuntimeError, match="broken"):
        measure.prepare(CELLS["resample linear 540p to 1080p NHWC3 uint8"].small(), 1)


def test_missing_packages_are_named():
    with pytest.raises(peers.NotInstalled, match=r"^no_such_package is not installed$"):
        peers.load("no_such_package")


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts


def entry(name, warm, copy=None, peers=None, **more):
    facts = {key: value for key, value in dataclasses.asdict(CELLS[name]).items() if key != "quick"}
    return {
        "name": name,
        **facts,
        "warm": warm,
        "fresh": warm * 2,
        "copy": copy or warm / 4,
        "peers": peers or {},
        **more,
    }


MOVE = "depth_to_space block 2 DCR NHWC3 float16"
BYTES, SINGLES, DOUBLES = (MOVE.replace("float16", dtype) for dtype in ("uint8", "float32", "float64"))
GRADIENT = "resample_grad linear 1080p to 540p NHWC3 float32"
ANTIALIAS = "resample linear antialias 1080p to 540p NHWC3 uint8"
LINEAR = "resample linear 540p to 1080p NHWC3 "


@pytest.mark.parametrize(
    ("found", "verdict", "why"),
    [
        (entry(MOVE, 1.0, peers={"torch": {"warm": 3.1}, "NumPy": {"warm": 9.0}}), "won", ""),
        (entry(MOVE, 1.0, peers={"torch": {"warm": 2.5}, "NumPy": {"warm": 9.0}}), "lost", "2.50 of 3"),
        (entry(MOVE, 1.0, 0.75, peers={"torch": {"warm": 2.5}}), "at the copy", ""),
        # Only new results: held against imgops' own new results.
        (entry(MOVE, 1.0, peers={"torch": {"fresh": 5.0}}), "lost", "2.50 of 3"),
        (entry(MOVE, 1.0), "no peer", ""),
        (entry(SINGLES, 1.6, 1.0, {"torch": {"warm": 9.0}}), "lost", "1.60 copies of 1.5"),
        (entry(BYTES, 3.9, 1.0, {"torch": {"warm": 19.0}}), "won", ""),
        (entry(BYTES, 4.1, 1.0, {"torch": {"warm": 19.0}}), "lost", "4.10 copies of 4"),
        (entry(DOUBLES, 1.0, peers={"torch": {"warm": 1.01}}), "won", ""),
        (entry(GRADIENT, 1.0, peers={"torch": {"warm": 3.9}}), "lost", "3.90 of 4"),
        # Against torch and Pillow alone.
        (entry(ANTIALIAS, 1.0, peers={"OpenCV": {"warm": 1.0}, "torch": {"warm": 2.0}}), "won", ""),
    ],
)  # fmt: skip
def test_verdicts(found, verdict, why):
    judged = report.judge([found])[0]
    assert (judged.verdict, judged.why) == (verdict, why)


@pytest.mark.parametrize(("time", "verdict"), [(1.49, "won"), (1.51, "lost")])
def test_float16_is_held_against_float32(time, verdict):
    single = entry(LINEAR + "float32", 1.0, peers={"torch": {"warm": 2.0}})
    half = entry(LINEAR + "float16", time, peers={"torch": {"warm": 0.5}})
    judged = report.judge([single, half])
    assert [found.verdict for found in judged] == ["won", verdict]
    assert judged[1].against_float32 == time
    # Its peer counts in no mean either.
    assert list(report.goals([single, half])) == [("forward", 2.0, 1.5)]


def test_speedup_and_memory():
    found = report.judge([entry(MOVE, 1.0, 0.8, one_thread=1.5)])[0]
    assert (found.speedup, found.memory_bound, found.copies) == (1.5, True, 1.25)
    assert not report.judge([entry(MOVE, 1.0, 0.5)])[0].memory_bound


def test_numbers_have_no_exponent():
    values = [0.0000123, 0.00123, 0.0123, 1.234, 12.34, 123.4, 12345.6, None, float("inf")]
    assert [report.number(value) for value in values] == [
        "0.0000", "0.00123", "0.0123", "1.23", "12.3", "123", "12346", "-", "-",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def fast(monkeypatch):
    """imgops and NumPy alone, in turns that end at once, on small pictures."""
    monkeypatch.setattr(measure, "WAKE", 0)
    monkeypatch.setattr(measure, "STEADY", 0)
    monkeypatch.setattr(peers, "PEERS", {name: peers.PEERS[name] for name in ("imgops", "NumPy")})
    monkeypatch.setattr(
        cells, "CELLS", [cell.small() for cell in cells.CELLS if cell.block == 4 and cell.channels == 3]
    )


@pytest.mark.usefixtures("fast")
def test_the_command_prints_and_writes(tmp_path, capsys):
    path = tmp_path / "results.json"
    assert cli.main(["bench", "--only", "NHWC3", "uint8", "--threads", "2", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    results = json.loads(path.read_text())
    assert results["machine"]["threads"] == 2
    assert "NumPy" in results["machine"]["versions"]
    assert len(results["cells"]) == 4
    for found in results["cells"]:
        assert found["name"] in printed
        assert min(found["warm"], found["fresh"], found["copy"], found["one_thread"]) > 0
        assert set(found["peers"]) == {"NumPy"}
        assert report.cell_of(found) in cells.CELLS
    assert "depth_to_space and space_to_depth, 3 channels" in printed
    # It is not written over, and that is said before anything is measured.
    assert cli.main(["bench", "--json", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "exists already" in told.err
    assert cli.main(["bench", "--only", "uint8", "DCR", "NHWC3", "depth_to", "--json", str(path), "--overwrite"]) == 0
    assert len(json.loads(path.read_text())["cells"]) == 1


def test_wrong_words(capsys):
    for arguments in (["--only", "uint7"], ["--threads", "0"], ["--list", "--check"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(["bench", *arguments])
        assert stop.value.code == 2
    assert "imgops bench --list" in capsys.readouterr().err


def test_names_are_listed(capsys):
    assert cli.main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == list(CELLS)


def test_import_loads_no_bench():
    code = "import sys, imgops.cli; print([name for name in sys.modules if name.startswith('imgops.bench')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_interrupted_cells_are_kept(monkeypatch, capsys, fast, tmp_path):  # noqa: ARG001
    measured = measure.measure

    def interrupted(cell, *arguments):
        if cell.operator == "space_to_depth":
            raise KeyboardInterrupt
        return measured(cell, *arguments)

    monkeypatch.setattr(measure, "measure", interrupted)
    path = tmp_path / "results.json"
    assert cli.main(["bench", "--only", "NHWC3", "uint8", "DCR", "--json", str(path)]) == 0
    assert "interrupted after 1 of 2 cells" in capsys.readouterr().out
    assert len(json.loads(path.read_text())["cells"]) == 1


@pytest.mark.usefixtures("fast")
def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib draws the picture")
    path = tmp_path / "picture.png"
    assert cli.main(["bench", "--only", "NHWC3", "--picture", str(path)]) == 0
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        assert image.format == "PNG"
        colours = image.convert("RGB").getcolors(2**20)
    assert len(colours) > 5


def test_a_picture_without_matplotlib_is_refused_at_once(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "imgops.bench.chart", raising=False)
    monkeypatch.delattr("imgops.bench.chart", raising=False)
    assert cli.main(["bench", "--picture", str(tmp_path / "picture.png")]) == 1
    assert "imgops[plots]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--picture", "bench.jpg"], "--picture is written as PNG"),
        (["--picture", "bench"], "--picture is written as PNG"),
        (["--picture", "a.png", "--json", "./a.png", "--overwrite"], "two files"),
        (["--list", "--json", "a.json"], "--list measures nothing that --json"),
        (["--check", "--picture", "a.png"], "--check measures nothing that --picture"),
    ],
)
def test_outputs_that_would_not_be_written_are_refused_at_once(options, message, monkeypatch, capsys, tmp_path):
    def never(*_):
        raise AssertionError("a cell was measured")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "measure", never)
    monkeypatch.setattr(measure, "prepare", never)
    with pytest.raises(SystemExit) as end:
        cli.main(["bench", *options])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------------------
# The page and the counts


@pytest.mark.parametrize("page", ["docs/performance.md", "README.md"])
def test_the_pages_have_the_stored_figures(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- made: " in text
    assert tool("make_performance_page").updated(text) == text, "run: python tools/make_performance_page.py"


@pytest.mark.skipif(not (ROOT / "benchmarks" / "results.json").exists(), reason="no figures are stored")
def test_the_pages_show_the_picture():
    with Image.open(ROOT / "docs" / "images" / "performance.png") as image:
        assert image.width > 800
    assert "(images/performance.png)" in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_counts_are_compared():
    counter = tool("count_instructions")
    stored = {"cells": {"a": [1000, 10], "b": [1000, 10], "c": [1000, 10]}}
    assert counter.compared(stored, {"a": 1040, "b": 960}) == ([], False)
    lines, grown = counter.compared(stored, {"a": 1060, "b": 900, "d": 1})
    assert lines == ["a: 1000 -> 1060, +6.0%", "b: 1000 -> 900, -10.0%", "d: 1, not in the table"]
    assert grown
    assert not counter.compared(stored, {"b": 900})[1]


def test_the_table_has_every_counted_cell():
    counter = tool("count_instructions")
    assert set(json.loads(counter.TABLE.read_text())["cells"]) == {cell.name for cell in counter.chosen()}


def test_no_kernel_has_grown():
    counter = tool("count_instructions")
    missing = counter.why_not()
    if missing:
        pytest.skip(missing)
    stored = json.loads(counter.TABLE.read_text())
    if stored["compiler"] != counter.compiler_of_build():
        pytest.skip(f"counted for {stored['compiler']}, built by {counter.compiler_of_build()}")
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("valgrind and the address sanitizer exclude each other")
    if not imgops.show_config("dicts")["openmp"]:
        pytest.skip("counted for a build with OpenMP")
    counts = counter.counted(["540p to 1080p NHWC3 float32"])
    assert len(counts) == 4
    lines, grown = counter.compared(stored, counts)
    assert not grown, lines

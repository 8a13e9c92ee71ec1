"""Turns: peers are called one after another, again and again, in one process, so that all meet the same machine."""

import itertools
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from . import peers

# Seconds of a turn: untimed calls that wake threads and fill caches, then timed ones, in groups of about GROUP seconds.
# The median of the groups counts, so that a group in which another program had the core does not.
WAKE, STEADY, GROUP = 0.004, 0.012, 0.0001
# A peer that takes so many times as long as imgops gets no more turns than this.
FAR, FEW_TURNS = 4, 3

# Largest difference of a weighted result, in levels (integers) or relative to the largest value (floats). Integers:
# fixed-point weights, or two roundings. float32: peers with coordinates in float32 misplace a sample by half a unit in
# the last place of 3840, 1.2e-4. float16: half a unit in the last place, and sums of it.
TOLERANCES = {"uint8": 1, "uint16": 2, "float16": 4e-3, "float32": 4e-4, "float64": 4e-4}

IMPORT = "import numpy, time; start = time.perf_counter(); import imgops; print(time.perf_counter() - start)"


@dataclass
class Row:
    """One peer in one cell."""

    name: str
    note: str = ""
    calls: peers.Calls | None = None
    seconds: dict = field(default_factory=dict)  # kind of call ("warm", "fresh", ...) -> seconds, one for each turn
    numbers: dict = field(default_factory=dict)  # kind of call -> (groups of a turn, calls of a group)

    def turn(self):
        for kind in ("warm", "fresh"):
            call = getattr(self.calls, kind)
            if call is not None:
                self.seconds.setdefault(kind, []).append(self._steady(kind, call))
        time.sleep(self.calls.rest)

    def _steady(self, kind, call):
        """Median seconds of a call, over as many calls as fit into a turn, at least one."""
        repeat(call, WAKE)
        if kind not in self.numbers:
            self.numbers[kind] = _groups(repeat(call, WAKE))
        groups, number = self.numbers[kind]
        return statistics.median(loop(call, number) for _ in range(groups))

    def median(self, kind="warm"):
        """Of the turns; a peer that cannot write into given memory has fresh results only. None without a turn."""
        turns = self.seconds.get(kind)
        return statistics.median(turns) if turns else None


def loop(call, number):
    """Mean seconds of a call; the loop itself costs some ten nanoseconds."""
    times = itertools.repeat(None, number)
    start = time.perf_counter()
    for _ in times:
        call()
    return (time.perf_counter() - start) / number


def _groups(seconds):
    """(groups of a turn, calls of a group) for a call that takes so long."""
    number = max(1, round(GROUP / seconds))
    return max(1, int(STEADY / (number * seconds))), number


def repeat(call, seconds):
    """Mean seconds of a call, repeated for so long, at least once."""
    number, passed = 1, loop(call, 1)
    total = passed
    while total < seconds:
        passed = loop(call, number)
        total += passed * number
        number *= 2
    return passed


# ---------------------------------------------------------------------------------------------------------------------
# Yardsticks


def copies(size, threads):
    """Callables that copy so many bytes into warm memory: by NumPy in parts, and by torch where it is installed.

    The fastest of them is the yardstick. Each part is one call that lets go of the interpreter's lock.
    """
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    result = [lambda: np.copyto(target, source)]
    if threads > 1:
        pool = ThreadPoolExecutor(threads - 1)
        parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))

        def in_parts():
            others = [pool.submit(np.copyto, *part) for part in parts[1:]]
            np.copyto(*parts[0])
            for other in others:
                other.result()

        result.append(in_parts)
    try:
        torch = peers.load("torch")
    except peers.NotHere:
        return result
    torch.set_num_threads(threads)
    reads, writes = torch.from_numpy(source), torch.from_numpy(target)
    return [*result, lambda: writes.copy_(reads)]


def yardsticks(cell, x, threads):
    """Rows for imgops with one thread, and for bare copies of the bytes with all threads and with one."""
    if cell.family in ("small", "import"):
        return []
    size = int(cell.bytes_moved)
    rows = [Row(f"copy {number}", calls=peers.Calls(None, call)) for number, call in enumerate(copies(size, threads))]
    if threads > 1:
        alone = peers.own_call(cell, x, out=peers.warm_output(cell), num_threads=1)
        rows.append(Row("imgops, one thread", calls=peers.Calls(None, alone)))
    return rows


# ---------------------------------------------------------------------------------------------------------------------
# Cells


def prepare(cell, threads):
    """A row for every peer, its results held against those of imgops; a peer that is not compared has a note."""
    if cell.operator == "import":
        return [Row("imgops", calls=peers.Calls(_import_seconds))]
    x, expected = cell.input(), {}
    rows = []
    for name, make in peers.PEERS.items():
        try:
            calls = make(cell, x, threads)
            if cell.family == "small":
                # As they are written: with a new result.
                calls.warm = None
            note = _agreement(cell, x, calls, expected)
        except peers.NotHere as reason:
            rows.append(Row(name, str(reason)))
            continue
        except Exception as error:
            if name == "imgops":
                raise
            # What peers raise for a dtype or an operation that they do not have is of any kind.
            words = " ".join(str(error).split())
            rows.append(Row(name, f"refused: {words[:120]}"))
            continue
        differs = note.startswith("differs")
        rows.append(Row(name, f"{note}; not compared" if differs else note, None if differs else calls))
    return rows


def _agreement(cell, x, calls, expected):
    """How the results of a peer's calls stand to those of imgops."""
    convention = calls.convention
    if convention not in expected:
        expected[convention] = peers.own_call(cell, x, convention)()
    wanted = expected[convention]
    largest = 0
    for call in (calls.fresh, calls.warm):
        if call is not None:
            largest = max(largest, _difference(np.reshape(calls.to_array(call()), wanted.shape), wanted))
    if largest == 0:
        return "equal"
    exact = cell.block or (cell.mode == "nearest" and cell.operator == "resample")
    return f"{'within' if not exact and largest <= TOLERANCES[cell.dtype] else 'differs by'} {largest:.2g}"


def _difference(result, wanted):
    """Largest difference, relative to the largest value where they are floats; NaN counts as infinite."""
    if wanted.dtype.kind != "f":
        return int(np.abs(result.astype(np.int32) - wanted.astype(np.int32)).max())
    scale = max(1.0, float(np.abs(wanted).max()))
    result, wanted, part = result.reshape(-1), wanted.reshape(-1), 2**22
    # Part by part, since float64 copies of all would be large.
    largest = [
        np.abs(result[start : start + part].astype(np.float64) - wanted[start : start + part]).max()
        for start in range(0, result.size, part)
    ]
    return float(np.nan_to_num(np.max(largest), nan=np.inf)) / scale


def _import_seconds():
    run = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    return float(run.stdout)


def measure(cell, threads, turns):
    """Rows of a cell, measured."""
    rows = prepare(cell, threads)
    if cell.operator == "import":
        rows[0].seconds["fresh"] = [_import_seconds() for _ in range(max(5, turns))]
        return rows
    rows += yardsticks(cell, cell.input(), threads)
    for turn in range(turns):
        for row in rows:
            if row.calls is not None and (turn < FEW_TURNS or not _is_far(row, rows[0])):
                row.turn()
    return rows


def _is_far(row, own):
    """Whether a row takes so much longer than imgops that more turns tell nothing new."""
    kind = "warm" if "warm" in row.seconds and "warm" in own.seconds else "fresh"
    return kind in own.seconds and kind in row.seconds and min(row.seconds[kind]) > FAR * min(own.seconds[kind])

"""Time, memory and import of imgops alone, by the quick cells of `imgops bench`; peers have no history here."""

import subprocess
import sys

import imgops
from imgops.bench import cells, measure, peers

CELLS = {cell.name: cell for cell in cells.CELLS if cell.quick and cell.operator != "import"}
LARGE = [name for name, cell in CELLS.items() if cell.family != "small"]
SMALL = [name for name, cell in CELLS.items() if cell.family == "small"]


def call_of(name, threads):
    """The call of a cell into warm memory, or, of small arrays, as one writes it."""
    cell = CELLS[name]
    calls = peers.PEERS["imgops"](cell, cell.input(), threads)
    return calls.fresh if cell.family == "small" else calls.warm


class Large:
    """Of one thread, and of as many as there are."""

    params = (LARGE, [1, imgops.get_num_threads()])
    param_names = ("cell", "threads")

    def setup(self, name, threads):
        self.call = call_of(name, threads)
        self.call()

    def time_call(self, _name, _threads):
        self.call()


class Small:
    params = (SMALL,)
    param_names = ("cell",)

    def setup(self, name):
        self.call = call_of(name, 1)
        self.call()

    def time_call(self, _name):
        self.call()


def track_import():
    """Seconds of `import imgops` after NumPy, best of five."""
    run = [sys.executable, "-c", measure.IMPORT]
    return min(float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(5))


track_import.unit = "s"

"""Count the instructions of the kernels by valgrind's callgrind: a measure that does not depend on the machine's mood.

    python tools/count_instructions.py            write benchmarks/instructions.json
    python tools/count_instructions.py --check    compare with it; exit code 1 where a kernel has grown by more than 5 %

One thread, level baseline (valgrind knows no AVX-512), pictures a sixth as high and wide as in `imgops bench`. Counted
is what runs inside the compiled functions, memory copies of the C library included, Python not. Needs valgrind with its
headers, and a C compiler. Counts of another compiler are other counts: --check only prints these.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from imgops.bench import cells, peers

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "instructions.json"
DIVISOR = 6
TOLERANCE = 0.05
# Names of the functions that Cython makes of the kernels' drivers.
DRIVERS = "__pyx_pw_6imgops_*_baseline_*"
MARK = "#include <valgrind/callgrind.h>\nvoid mark(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }\n"


def chosen():
    """Cells of every family, few sizes."""
    return [cell for cell in cells.CELLS if _wanted(cell)]


def _wanted(cell):
    if cell.channels != 3:
        return False
    if cell.block:
        return cell.block < 4 and cell.order == ("DCR" if cell.layout == "NHWC" else "CRD") and cell.dtype != "float64"
    sizes = [cells.SIZES[0], cells.SIZES[2], cells.SIZES[5]]
    size = cell.source, cell.target
    if cell.operator == "resample_grad":
        return size[::-1] in sizes[:2] and cell.dtype != "float64"
    return size in ([cells.SIZES[1], *sizes] if cell.mode == "linear" else sizes)


def why_not():
    """What is missing here, or None."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if shutil.which(_compiler()) is None:
        return "there is no C compiler"
    with tempfile.TemporaryDirectory() as folder:
        if not _built_mark(folder):
            return "valgrind's headers are not installed"
    return None


def _compiler():
    return os.environ.get("CC", "cc").split()[0]


def _built_mark(folder):
    """The path of the library that tells callgrind where a cell ends, or None."""
    source, library = Path(folder, "mark.c"), Path(folder, "mark.so")
    source.write_text(MARK, encoding="ascii")
    command = [_compiler(), "-shared", "-fPIC", "-o", str(library), str(source)]
    return library if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def counted(only=()):
    """{name of the cell: instructions}, in one run of valgrind."""
    with tempfile.TemporaryDirectory() as folder:
        library = _built_mark(folder)
        command = ["valgrind", "--tool=callgrind", f"--toggle-collect={DRIVERS}", f"--callgrind-out-file={folder}/out"]
        command += [sys.executable, __file__, "--inside", str(library), "--only", *only]
        environment = {**os.environ, "IMGOPS_SIMD": "baseline", "PYTHONHASHSEED": "0"}
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if run.returncode:
            raise SystemExit(run.stderr[-2000:])
        counts = {}
        for path in Path(folder).glob("out*"):
            text = path.read_text(encoding="utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
            if name and name[1] != "begin":
                counts[name[1]] = int(re.search(r"^(?:summary|totals): (\d+)$", text, re.MULTILINE)[1])
    empty = [name for name, count in counts.items() if not count]
    if empty:
        raise SystemExit(f"no function {DRIVERS} ran in: {', '.join(empty)}")
    return {cell.name: counts[cell.name] for cell in cells.select(chosen(), only, False)}


def inside(library, only):
    """What valgrind runs: every cell twice, since the first call makes tables; the second one counts."""
    mark = ctypes.CDLL(library).mark
    for cell in cells.select(chosen(), only, False):
        small = cell.small(DIVISOR)
        call = peers.own_call(small, small.input(), out=peers.warm_output(small), num_threads=1)
        call()
        mark(b"begin")
        call()
        mark(cell.name.encode())


def compiler_of_build():
    """What the compiler wrote into the compiled module, such as "GCC: (Debian 12.2.0-14) 12.2.0"."""
    from imgops import _resample_baseline

    data = Path(_resample_baseline.__file__).read_bytes()
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", data)
    return found[0].decode() if found else "unknown"


def table(counts):
    rows = {cell.name: cell for cell in chosen()}
    facts = {"compiler": compiler_of_build(), "level": "baseline", "divisor": DIVISOR}
    return {**facts, "cells": {name: [count, _samples(rows[name])] for name, count in counts.items()}}


def _samples(cell):
    """The larger number of samples, of input or output."""
    small = cell.small(DIVISOR)
    return max(small.input().size, peers.warm_output(small).size)


def compared(stored, counts):
    """(lines that tell of changes, whether a kernel has grown)."""
    lines, grown = [], False
    for name, count in counts.items():
        if name not in stored["cells"]:
            lines.append(f"{name}: {count}, not in the table")
            continue
        before = stored["cells"][name][0]
        change = count / before - 1
        if abs(change) > TOLERANCE:
            lines.append(f"{name}: {before} -> {count}, {change:+.1%}")
            grown = grown or change > 0
    return lines, grown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the table, write nothing")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="cells whose name has all the words")
    parser.add_argument("--inside", metavar="LIBRARY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.inside, options.only)
        return 0
    missing = why_not()
    if missing:
        print(f"not counted: {missing}")
        return 0
    counts = counted(options.only)
    if not options.check:
        new = table(counts)
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in new.pop("cells").items())
        TABLE.write_text(json.dumps(new)[:-1] + f', "cells": {{\n{rows}\n}}}}\n', encoding="utf-8")
        print(f"{TABLE.relative_to(ROOT)}: {len(counts)} cells")
        return 0
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    lines, grown = compared(stored, counts)
    for text in lines:
        print(text)
    if stored["compiler"] != compiler_of_build():
        print(f"not judged: the table is of {stored['compiler']}, this build of {compiler_of_build()}")
        return 0
    print(f"{len(counts)} cells, {len(lines)} of them off by more than {TOLERANCE:.0%}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run many mixed calls and print what they leave behind: megabytes of resident memory and Python objects.

python tests/many_calls.py [NUMBER]

The first part of the calls fills the caches, which are bounded; the rest must add nothing.
"""

import contextlib
import gc
import os
import sys
from pathlib import Path

import numpy as np
from test_other_arrays import mixed_calls


def resident():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(made, number):
    for count in range(number):
        function, arguments, options = made[count % len(made)]
        function(*arguments, **options)
        if count % 97 == 0:
            # Calls that fail, too.
            with contextlib.suppress(TypeError, ValueError):
                function(arguments[0], num_threads=0)


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(1)
    made = mixed_calls(rng)
    run(made, max(2 * len(made), number // 5))
    gc.collect()
    before = resident(), len(gc.get_objects())
    run(made, number)
    gc.collect()
    print(f"{resident() - before[0]:.2f} {len(gc.get_objects()) - before[1]}")


if __name__ == "__main__":
    main()

"""Store what other libraries make of one small random picture, for the tests of imgops.identify.

    python tools/make_identify_golden.py torch onnx cv2 PIL
    python tools/make_identify_golden.py tensorflow skimage

Each run needs numpy and the modules that it names, and replaces their cases in tests/golden/identify.npz; the others
stay. The calls are in tests/makers.py, and the file's form too.
"""

import argparse
import importlib
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))
import makers  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", choices=sorted(set(makers.LIBRARIES.values())), metavar="MODULE")
    parser.add_argument("--output", type=Path, default=TESTS / "golden" / "identify.npz")
    arguments = parser.parse_args()
    outputs, versions = makers.load(arguments.output) if arguments.output.exists() else ({}, {})
    for module in arguments.modules:
        versions[module] = importlib.import_module(module).__version__
    outputs = {key: array for key, array in outputs.items() if key[0] in makers.CASES}
    for name, case in makers.CASES.items():
        if case.library in arguments.modules:
            for size in makers.SIZES:
                outputs[name, size] = case.make(makers.picture(case.dtype), size)
    makers.save(arguments.output, outputs, versions)
    print(f"{arguments.output}: {len(outputs)} outputs, {arguments.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()

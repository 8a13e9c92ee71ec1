"""Nothing of the input's or output's size is allocated beside the output."""

import subprocess
import sys

import pytest
from oracles import SANITIZED

CODE = """
import re
import numpy as np
import imgops

def status(name):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\\s+(\\d+) kB", file.read())[1]) * 1024

imgops.set_num_threads(2)
def work(x):
    return CALL
small = {kind: np.ones((9, 9, 12), kind) for kind in ("float32", "uint8", "float16")}
work(small[KIND])  # code and tables that every call needs
x = np.ones(SHAPE, KIND)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # VmHWM begins again at VmRSS
before = status("VmRSS")
assert status("VmHWM") - before < 2**20
result = work(x)
print((status("VmHWM") - before - result.nbytes) / 2**20)
"""

P1080 = (1080, 1920, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux's")
@pytest.mark.skipif(SANITIZED, reason="the address sanitizer has memory of its own")
@pytest.mark.parametrize(
    ("call", "shape", "kind", "megabytes"),
    [
        # 1080p to 8K, 398 MB of output.
        ("imgops.resample(x, (4320, 7680) if len(x) > 9 else (18, 18))", P1080, "float32", 8),
        ("imgops.resample(x, (len(x) * 3, x.shape[1] * 2))", P1080, "uint8", 8),
        ("imgops.resample(x, (len(x) * 3, x.shape[1] * 2))", P1080, "float16", 8),
        ("imgops.resample(x, (len(x) * 3, x.shape[1] * 2), mode='nearest')", P1080, "uint8", 8),
        ("imgops.resample(x, (len(x) // 2, x.shape[1] // 3), antialias=True)", (2160, 3840, 3), "float32", 8),
        ("imgops.resample(x, (len(x) * 2, x.shape[1] + 9, 6), axes=(0, 1, 2))", P1080, "float32", 12),
        ("imgops.resample_grad(x, (len(x) // 2, x.shape[1] // 2, x.shape[2]))", (2160, 3840, 3), "float32", 8),
        ("imgops.depth_to_space(x, 2)", (1080, 1920, 12), "float32", 2),
        ("imgops.space_to_depth(x[: len(x) // 3 * 3], 3)", P1080, "float32", 2),
    ],
)
def test_peak_beside_input_and_output(call, shape, kind, megabytes):
    code = CODE.replace("CALL", call).replace("SHAPE", repr(shape)).replace("KIND", repr(kind))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    if "PermissionError" in run.stderr:
        pytest.skip("no permission to write /proc/self/clear_refs")
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < megabytes

"""Build of the compiled kernels: every kernel once per instruction-set level, OpenMP where the compiler has it.

Environment:
    IMGOPS_OPENMP=0   serial build, as on a machine without OpenMP
    IMGOPS_LEVELS     levels to build, such as "baseline,v3"; all that the compiler can build if unset
    IMGOPS_DEBUG=1    bounds checks on, no optimisation; IMGOPS_DEBUG=sanitize adds the address and undefined-behaviour
    sanitizers
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = ("blocks", "resample")
DEBUG = os.environ.get("IMGOPS_DEBUG", "0")
# Relative: setuptools and Cython build in the folder of setup.py.
PYX = "pyx"

# One name per level, of imgops.simd_level(). Contraction is off in all of them: a fused multiply-add would give other
# last bits than the baseline.
LEVEL_FLAGS = {"baseline": [], "v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}


def compiler_command():
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def compiles(source, flags, link=False):
    """Whether the compiler takes these flags; a probe, so every failure means no."""
    command = compiler_command()
    if shutil.which(command[0]) is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "probe.c")
        path.write_text(source, encoding="ascii")
        step = ["-o", str(Path(folder, "probe"))] if link else ["-c", "-o", str(Path(folder, "probe.o"))]
        result = subprocess.run([*command, *flags, str(path), *step], capture_output=True, check=False)
        return result.returncode == 0


def is_x86_64():
    target = os.environ.get("_PYTHON_HOST_PLATFORM", sysconfig.get_platform())
    return platform.machine().lower() in ("x86_64", "amd64") and "universal2" not in target and "arm64" not in target


def levels():
    if DEBUG != "0" or sys.platform == "win32" or not is_x86_64():
        built = ["baseline"]
    else:
        source = '#include <immintrin.h>\nint main(void) { return __builtin_cpu_supports("avx512vl"); }\n'
        built = [level for level, flags in LEVEL_FLAGS.items() if compiles(source, flags)]
    wanted = os.environ.get("IMGOPS_LEVELS")
    if wanted is not None:
        built = [level for level in built if level in wanted.split(",") or level == "baseline"]
    return built or ["baseline"]


def openmp_flags():
    """(compile, link) flags of OpenMP, or None where it is missing or not wanted."""
    if os.environ.get("IMGOPS_OPENMP", "1") == "0":
        return None
    if sys.platform == "win32":
        return ["/openmp"], []
    source = "#include <omp.h>\nint main(void) { return omp_get_max_threads() > 0 ? 0 : 1; }\n"
    candidates = [(["-fopenmp"], ["-fopenmp"])]
    if sys.platform == "darwin":
        candidates.append((["-Xpreprocessor", "-fopenmp"], ["-lomp"]))
    for compile_flags, link_flags in candidates:
        if compiles(source, compile_flags + link_flags, link=True):
            return compile_flags, link_flags
    return None


def common_flags():
    if sys.platform == "win32":
        return ["/O2", "/fp:precise"], []
    if DEBUG == "0":
        return ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"], []
    flags = ["-O1", "-g", "-ffp-contract=off", "-UNDEBUG"]
    if DEBUG == "sanitize":
        sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
        return flags + sanitize, sanitize
    return flags, []


def extensions():
    compile_flags, link_flags = common_flags()
    openmp = openmp_flags()
    if openmp:
        compile_flags, link_flags = compile_flags + openmp[0], link_flags + openmp[1]
    built = levels()
    directives = {
        "language_level": 3,
        "boundscheck": DEBUG != "0",
        "initializedcheck": DEBUG != "0",
        "wraparound": False,
        "cdivision": True,
        "freethreading_compatible": True,
        "embedsignature": False,
    }

    def extension(name, source, flags=()):
        return Extension(
            f"imgops.{name}",
            [f"{PYX}/{source}.pyx"],
            include_dirs=[PYX],
            extra_compile_args=[*compile_flags, *flags],
            extra_link_args=link_flags,
            depends=[f"{PYX}/{path.name}" for path in Path(PYX).glob("*.h")],
        )

    result = []
    groups = [("common", [extension("_threads", "_threads")])]
    # Each level is translated apart, into its own folder, so that one source may become several modules.
    groups += [
        (level, [extension(f"_{kernel}_{level}", f"_{kernel}", LEVEL_FLAGS[level]) for kernel in KERNELS])
        for level in built
    ]
    for folder, group in groups:
        result += cythonize(
            group,
            build_dir=os.path.join("build", "cython", folder),
            include_path=[PYX],
            compiler_directives=directives,
            annotate=os.environ.get("IMGOPS_ANNOTATE") == "1",
            quiet=True,
        )
    return result


class ParallelBuild(build_ext):
    """build_ext with one compiler per core."""

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count() or 1


setup(ext_modules=extensions(), cmdclass={"build_ext": ParallelBuild})

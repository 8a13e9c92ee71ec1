# Facts about the build and the processor: OpenMP, and the x86-64 levels that the processor runs. Compiled for the
# lowest level only, so that it can be asked before any other kernel is loaded.

cdef extern from "_processor.h" nogil:
    const int imgops_openmp
    int imgops_max_threads()
    int imgops_runs_v3()
    int imgops_runs_v4()


def openmp_version():
    """OpenMP's date such as 201511, or 0 for a serial build."""
    return imgops_openmp


def max_threads():
    """OpenMP's own number of threads: OMP_NUM_THREADS where set; 1 for a serial build."""
    return imgops_max_threads()


def supported_levels():
    """Instruction-set levels that this processor runs, lowest first."""
    levels = ["baseline"]
    if imgops_runs_v3():
        levels.append("v3")
    if imgops_runs_v4():
        levels.append("v4")
    return tuple(levels)

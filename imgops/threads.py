"""How many threads a call uses, and what the build is made of."""

import contextlib
import contextvars
import os
import platform

import numpy as np

from . import _checks, _kernels, _threads

_OPENMP = _threads.openmp_version()
_limit = contextvars.ContextVar("imgops_thread_limit", default=None)


class _State:
    chosen = None
    default = None
    used_team = False
    # A child forked after its parent's parallel work would wait for threads that it does not have.
    serial = False


def _after_fork():
    _State.serial = _State.used_team


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _cgroup_quota(groups="/sys/fs/cgroup", own="/proc/self/cgroup"):
    """Whole cores that the control groups of this process grant, at least 1; None without a quota.

    Both versions of control groups: a file `cpu.max` ("quota period") in the process's group and in all above it, or
    `cpu.cfs_quota_us` and `cpu.cfs_period_us` below the controller's name. A container's own group is at the top.
    """
    quotas = []
    for folder, files in _cgroup_folders(groups, own):
        try:
            words = " ".join(_text(os.path.join(folder, file)) for file in files).split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):
            # No such group, or "max": no quota.
            continue
        if quota > 0 and period > 0:
            quotas.append(max(1, quota // period))
    return min(quotas, default=None)


def _cgroup_folders(groups, own):
    """(folder, its files of quota and period) of the process's control groups, each with those above it."""
    try:
        lines = _text(own).splitlines()
    except OSError:
        lines = []
    paths = {"": "/", "cpu": "/"}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            if name in paths:
                paths[name] = path
    for name, files in (("", ("cpu.max",)), ("cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us"))):
        parts = [part for part in paths[name].split("/") if part]
        for depth in range(len(parts) + 1):
            yield os.path.join(groups, name, *parts[:depth]), files


def _text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _default_threads():
    if _State.default is None:
        count = _threads.max_threads()
        if "OMP_NUM_THREADS" not in os.environ:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            count = min(count, cores, _cgroup_quota() or cores)
        _State.default = max(1, count)
    return _State.default


def resolve(function, num_threads):
    """Threads of one call: as asked, within the limit in force; 1 without OpenMP and in a forked child."""
    if num_threads is None:
        count = _State.chosen or _State.default or _default_threads()
    else:
        count = _checks.num_threads(function, num_threads)
    if count > 1:
        limit = _limit.get()
        if limit is not None and count > limit:
            count = limit
        if _State.serial or not _OPENMP:
            return 1
        _State.used_team = True
    return count


def get_num_threads():
    """Number of threads that a call uses at most, if it is given none.

    By default OMP_NUM_THREADS where set, else the cores that the process may use (affinity and the control group's
    quota).

    Examples
    --------
    >>> get_num_threads() >= 1
    True
    """
    return resolve("get_num_threads", None)


def set_num_threads(num_threads):
    """Set the number of threads for the calls that are given none; None is the default again.

    Parameters
    ----------
    num_threads : int or None
        At least 1; more than there are cores is allowed.

    Raises
    ------
    TypeError, ValueError

    Examples
    --------
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(None)
    """
    _State.chosen = None if num_threads is None else _checks.num_threads("set_num_threads", num_threads)


@contextlib.contextmanager
def thread_limit(num_threads):
    """Within this context no call uses more threads; for this thread and the tasks it starts.

    Parameters
    ----------
    num_threads : int
        At least 1. Inside another limit the smaller one holds.

    Examples
    --------
    >>> with thread_limit(1):
    ...     get_num_threads()
    1
    """
    limit = _checks.num_threads("thread_limit", num_threads)
    outer = _limit.get()
    token = _limit.set(limit if outer is None else min(limit, outer))
    try:
        yield
    finally:
        _limit.reset(token)


def simd_level():
    """The instruction-set level in use: "baseline", "v3" or "v4" (x86-64 levels).

    The environment variable IMGOPS_SIMD, read at import, chooses another; results are the same bits at every level.

    Examples
    --------
    >>> simd_level() in ("baseline", "v3", "v4")
    True
    """
    return _kernels.LEVEL


def show_config(mode="stdout"):
    """Print what this build is made of and what it uses here.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Print it, or return it as a dict.

    Returns
    -------
    dict or None

    Examples
    --------
    >>> show_config("dicts")["simd_level"] == simd_level()
    True
    """
    from . import __version__

    mode = _checks.name_of("show_config", "mode", mode, ("stdout", "dicts"))
    openmp = _threads.openmp_version()
    facts = {
        "imgops": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "simd_level": _kernels.LEVEL,
        "simd_levels_built": [level for level in ("baseline", "v3", "v4") if _kernels._is_built(level)],
        "simd_levels_supported": list(_threads.supported_levels()),
        "openmp": openmp or False,
        "num_threads": get_num_threads(),
    }
    if mode == "dicts":
        return facts
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else value
        if name == "openmp":
            text = f"yes ({value})" if value else "no: serial build, every call uses one thread"
        print(f"{name:22} {text}")
    return None

"""Files that appear whole or not at all, whatever ends the process."""

import contextlib
import os
import re
import secrets
import socket
import stat
import time
from pathlib import Path

_TEMPORARY = re.compile(r"\.imgops-(?P<host>[^-]*)-(?P<process>\d+)-[0-9a-f]+\.tmp")
_STALE_SECONDS = 86400
_own_temporaries = set()
# Folders are looked through for stale files once: a batch writes thousands of files into one.
_looked_through = set()


@contextlib.contextmanager
def replacing(target, *, overwrite=False):
    """A binary file to write, which becomes `target` when the block ends, and vanishes when it fails.

    The bytes are in a temporary file of the same folder until they are on the disk; temporary files that killed runs
    left there are removed first. Raises FileExistsError where `target` exists and `overwrite` is false.
    """
    target = Path(os.path.realpath(target))
    if (str(target.parent), os.getpid()) not in _looked_through:
        remove_stale(target.parent)
        _looked_through.add((str(target.parent), os.getpid()))
    name = f".imgops-{_host()}-{os.getpid()}-{secrets.token_hex(6)}.tmp"
    temporary = target.parent / name
    _own_temporaries.add(name)
    try:
        # Opened the plain way, so that the result has the permissions of any new file.
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(temporary, target, overwrite)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        _own_temporaries.discard(name)


def _publish(temporary, target, overwrite):
    if overwrite:
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    else:
        try:
            # A link, unlike a rename, fails where the target has appeared in the meantime.
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links.
            if target.exists():
                raise FileExistsError(str(target)) from None
            os.rename(temporary, target)
    _sync_folder(target.parent)


def _sync_folder(folder):
    # Not every system lets a folder be opened, nor every file system be told to put it on the disk.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _host():
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64]


def remove_stale(folder):
    """Remove the temporary files in a folder whose process on this machine has ended, or that are a day old."""
    with contextlib.suppress(OSError):
        for path in list(Path(folder).glob(".imgops-*.tmp")):
            match = _TEMPORARY.fullmatch(path.name)
            with contextlib.suppress(OSError):
                if match and (_is_orphan(match, path.name) or time.time() - path.stat().st_mtime > _STALE_SECONDS):
                    path.unlink()


def _is_orphan(match, name):
    if match["host"] != _host():
        return False
    process = int(match["process"])
    if process == os.getpid():
        return name not in _own_temporaries
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return _has_ended(process)


def _has_ended(process):
    """Whether a process only waits for its parent to ask how it ended, where the system tells."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as facts:
            return facts.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False

"""Records of measured cells, what they say of the goals, and their words."""

import dataclasses
import math
import os
import platform
import statistics

import imgops

from . import cells, peers

WON, COPY, LOST, NO_PEER = "won", "at the copy", "lost", "no peer"
_MODULES = {
    "numpy": "NumPy", "torch": "torch", "onnxruntime": "ONNX Runtime", "cv2": "OpenCV", "PIL": "Pillow",
    "tensorflow": "TensorFlow",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Records


def record(cell, rows):
    """What was measured of a cell, ready for JSON; times in milliseconds."""
    own = rows[0]
    others = [row for row in rows[1:] if row.name in peers.PEERS]
    copies = [row.median() for row in rows if row.name.startswith("copy")]
    alone = next((row.median() for row in rows if row.name == "imgops, one thread"), None)
    facts = {field.name: getattr(cell, field.name) for field in dataclasses.fields(cell) if field.name != "quick"}
    result = {
        "name": cell.name,
        **facts,
        "warm": _milliseconds(own.median()),
        "fresh": _milliseconds(own.median("fresh")),
        "one_thread": _milliseconds(alone),
        "copy": _milliseconds(min(copies, default=None)),
        "copy_one_thread": _milliseconds(copies[0] if copies else None),
        "peers": {row.name: _times(row) for row in others if row.seconds},
        "not_compared": {row.name: row.note for row in others if row.note.startswith(("differs", "refused"))},
    }
    return {key: value for key, value in result.items() if value not in (None, "", (), {}, False)}


def _times(row):
    times = {kind: _milliseconds(row.median(kind)) for kind in ("warm", "fresh") if row.seconds.get(kind)}
    return times if row.note == "equal" else {**times, "note": row.note}


def _milliseconds(seconds):
    return None if seconds is None else float(f"{seconds * 1e3:.4g}")


def cell_of(entry):
    """The cell of a record."""
    names = {field.name for field in dataclasses.fields(cells.Cell)}
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items() if key in names}
    return cells.Cell(**values)


# ---------------------------------------------------------------------------------------------------------------------
# What they say


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A record held against its goals; None for what it has not.

    Attributes
    ----------
    verdict : str
        "won", "at the copy", "lost" or "no peer".
    why : str
        Of a lost cell: what it has and what it should have.
    milliseconds : float
        Into warm memory, where the operator takes it.
    peer : str
        The fastest one.
    ratio : float
        Its time over imgops': both warm, or both fresh where the peer takes no memory.
    fresh_ratio : float
        Of the peer that is fastest with fresh results.
    copies : float
        imgops' time in copies of the same bytes by the same threads.
    against_float32 : float
        imgops' time over that of its own float32.
    speedup : float
        One thread's time over that of all.
    memory_bound : bool
        No more than 1.4 copies.
    """

    verdict: str
    why: str
    milliseconds: float
    peer: str | None
    ratio: float | None
    fresh_ratio: float | None
    copies: float | None
    against_float32: float | None
    speedup: float | None
    memory_bound: bool


def judge(entries):
    """A Judgement for each record."""
    by_name = {entry["name"]: entry for entry in entries}
    return [_judge(entry, by_name) for entry in entries]


def _judge(entry, by_name):
    cell = cell_of(entry)
    own = entry.get("warm", entry.get("fresh"))
    peer, ratio = _best(entry, _like_with_like)
    copies = own / entry["copy"] if "copy" in entry else None
    single = by_name.get(dataclasses.replace(cell, dtype="float32").name)
    against = own / single["warm"] if single and "warm" in single and cell.dtype != "float32" else None
    speedup = entry["one_thread"] / own if "one_thread" in entry else None
    memory_bound = copies is not None and copies <= cells.COPIES_WON
    verdict, why = _verdict(cell, entry, own, ratio, copies, against)
    fresh_ratio = _best(entry, _fresh)[1]
    return Judgement(verdict, why, own, peer, ratio, fresh_ratio, copies, against, speedup, memory_bound)


def _verdict(cell, entry, own, ratio, copies, against_float32):
    family = cells.FAMILIES[cell.family]
    least, float32_factor = cells.goal_of(cell)
    if family.limit is not None:
        return (WON, "") if own <= family.limit else (LOST, f"{own:.3g} ms of {family.limit:g}")
    if cell.most_copies and copies is not None and copies > cell.most_copies:
        return LOST, f"{copies:.2f} copies of {cell.most_copies:g}"
    near = copies is not None and copies <= cells.COPIES_WON
    if float32_factor is not None:
        if against_float32 is None:
            return (COPY, "") if near else (NO_PEER, "")
        if against_float32 <= float32_factor:
            return WON, ""
        return (COPY, "") if near else (LOST, f"{against_float32:.2f} of float32's time, {float32_factor:g} allowed")
    if family.rivals:
        ratio = _best(entry, _like_with_like, family.rivals)[1]
    if ratio is None:
        return (COPY, "") if near else (NO_PEER, "")
    if ratio >= least:
        return WON, ""
    return (COPY, "") if near else (LOST, f"{ratio:.2f} of {least:g}")


def _best(entry, ratio, rivals=()):
    """(peer of the smallest ratio, ratio)."""
    times = entry.get("peers", {})
    ratios = {name: ratio(entry, times[name]) for name in times if name in rivals or not rivals}
    ratios = {name: value for name, value in ratios.items() if value is not None}
    if not ratios:
        return None, None
    name = min(ratios, key=ratios.get)
    return name, ratios[name]


def _like_with_like(entry, times):
    kind = "warm" if "warm" in times and "warm" in entry else "fresh"
    return times[kind] / entry[kind] if kind in times and kind in entry else None


def _fresh(entry, times):
    return times["fresh"] / entry["fresh"] if "fresh" in times and "fresh" in entry else None


def mean(ratios):
    """Geometric mean, None of nothing."""
    ratios = list(ratios)
    return statistics.geometric_mean(ratios) if ratios else None


def goals(entries):
    """(name, reached value, wanted value) of every geometric mean, over the cells that are held against a peer."""
    judged = list(zip(entries, judge(entries), strict=True))
    for name, (families, wanted) in cells.MEANS.items():
        ratios = [
            judgement.ratio
            for entry, judgement in judged
            if entry["family"] in families and judgement.ratio and cells.goal_of(cell_of(entry))[0] is not None
        ]
        if ratios:
            yield name, mean(ratios), wanted


def families(entries):
    """(family, its records, their judgements), in the order of the families."""
    judged = judge(entries)
    for family in cells.FAMILIES:
        chosen = [(entry, found) for entry, found in zip(entries, judged, strict=True) if entry["family"] == family]
        if chosen:
            yield family, [entry for entry, _ in chosen], [found for _, found in chosen]


# ---------------------------------------------------------------------------------------------------------------------
# Words


def number(value, digits=3):
    """So many digits, never an exponent; a dash for None."""
    if value is None or not math.isfinite(value):
        return "-"
    if value >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:.{digits}g}" if value >= 1e-3 else f"{value:.4f}"


HEADING = f"{'':58}{'ms':>9}{'fastest peer':>30}{'ratio':>7}{'copies':>8}  verdict"


def line(entry, judgement):
    """One line of text."""
    peer = ""
    if judgement.peer:
        times = entry["peers"][judgement.peer]
        peer = f"{judgement.peer} {number(times.get('warm', times.get('fresh')))}"
    numbers = f"{number(judgement.milliseconds):>9}{peer:>30}{number(judgement.ratio):>7}{number(judgement.copies):>8}"
    verdict = f"{judgement.verdict}: {judgement.why}" if judgement.why else judgement.verdict
    return f"{entry['name']:58}{numbers}  {verdict}"


def not_compared(entry):
    """Lines on the peers that are here and could not be compared."""
    return [f"  {name} {note}" for name, note in entry.get("not_compared", {}).items()]


def summary(entries):
    """Lines on the families and their goals."""
    lines = [f"{'':50}{'cells':>6}{'won':>5}{'at the copy':>12}{'lost':>6}{'geometric mean':>16}{'smallest':>10}"]
    for family, _, judgements in families(entries):
        count = {verdict: sum(found.verdict == verdict for found in judgements) for verdict in (WON, COPY, LOST)}
        ratios = [found.ratio for found in judgements if found.ratio]
        lines.append(
            f"{cells.FAMILIES[family].title:50}{len(judgements):6}{count[WON]:5}{count[COPY]:12}{count[LOST]:6}"
            f"{number(mean(ratios)):>16}{number(min(ratios, default=None)):>10}"
        )
    for name, reached, wanted in goals(entries):
        lines.append(f"geometric mean, {name}: {number(reached)}, goal {wanted:g}")
    return lines


def machine(threads):
    """Facts about this machine and what is installed here."""
    versions = {}
    for module, name in _MODULES.items():
        try:
            versions[name] = peers.load(module).__version__
        except peers.NotInstalled:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "simd_level": imgops.simd_level(),
        "python": platform.python_version(),
        "imgops": imgops.__version__,
        "load": load_average(),
        "versions": versions,
    }


def threads(facts):
    return f"{facts['threads']} thread{'s' if facts['threads'] > 1 else ''}"


def absent(facts):
    return [name for name in _MODULES.values() if name not in facts["versions"]]


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(text.split(":", 1)[1].strip() for text in lines if text.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def load_average():
    """Processes that ran or waited in the last minute, None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None

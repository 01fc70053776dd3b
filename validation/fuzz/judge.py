"""Verdict on a response: accepted, refused, or a kind of fault."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from validation.fuzz.outcomes import ACCEPTED, FAULTS, REFUSED
from validation.fuzz.trial import Answer, Trial, Verdict

MARK: Final = "[red]Qzx[/red]"
"""A text that is markup for Rich; interpreted as markup, only Qzx would be printed."""

MOST_MEMORY: Final = 1_500_000_000
"""Growth of memory [bytes] above which a trial counts as a fault."""

_COLUMNS, _LINES, _ITEMS = 200, 3, 20
_CONTROL = re.compile(r"[^\S \n\t]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BARE_MARK = re.compile(r"(?<!\[red\])(?<!red_)Qzx(?!\[/red\])")  # names of species may become x_red_Qzx__red_
_WARNING = re.compile(r"^.*\b(?:\w*Warning: .*|HDF5-DIAG.*|Exception ignored.*)$", re.MULTILINE)
_ITEM = re.compile(r"  |\S+:\d+(:\d+)?: ")
"""Beginning of a line that reports one of several faults: indented, or with file and line."""

_RANGES: Final = {"K": (50.0, 1000.0), "Pa": (0.0, 1.2e5), "mol mol-1": (0.0, 1.0), "mol/mol": (0.0, 1.0)}
"""Valid ranges of results, by their units; an array without units is not checked."""


class Results:
    """Results of a run: arrays by name, and whether they can be read."""

    def __init__(self, answer: Answer, trial: Trial) -> None:
        self.trouble = ""
        self.arrays: dict[str, Any] = dict(answer.arrays or {})
        self.units: dict[str, str] = {}
        if answer.arrays is None and trial.output is not None:
            try:
                for path in _files(trial.output):
                    self._read(path)
                if not self.arrays:
                    self.trouble = f"no results in {trial.output.name}"
            except Exception as error:
                self.trouble = f"{type(error).__name__}: {error}"

    def _read(self, path: Path) -> None:
        if path.suffix == ".csv":
            table = np.genfromtxt(path, delimiter=",", skip_header=1, comments=None, encoding="utf-8")
            self.arrays[path.name] = table
            return
        opened = xr.open_zarr(path) if path.is_dir() else xr.open_dataset(path, engine="netcdf4")
        with opened as dataset:
            for name in [*dataset.data_vars, *dataset.coords]:
                self.arrays[f"{path.name}:{name}"] = np.asarray(dataset[name].values)
                self.units[f"{path.name}:{name}"] = str(dataset[name].attrs.get("units", ""))

    def digest(self) -> str:
        """Return a fingerprint of all values."""
        found = sha256()
        for name in sorted(self.arrays):
            array = np.asarray(self.arrays[name])
            found.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
        return found.hexdigest()

    def not_finite(self) -> str:
        """Return the first array with values that are not finite."""
        for name, array in self.arrays.items():
            values = np.asarray(array)
            bad = (
                np.isnat(values)
                if values.dtype.kind in "mM"
                else ~np.isfinite(values)
                if values.dtype.kind in "fc"
                else None
            )
            if bad is not None and bad.any():
                return f"{name} holds {values[bad].ravel()[0]} ({bad.sum()} of {values.size})"
        return ""

    def not_sane(self) -> str:
        """Return the first array with impossible values."""
        for name, array in self.arrays.items():
            values = np.asarray(array)
            if values.dtype.kind != "f" or not values.size:
                continue
            low, high = _RANGES.get(self.units.get(name, ""), (-np.inf, np.inf))
            if values.min() < low or values.max() > high:
                return f"{name} goes from {values.min():g} to {values.max():g}"
        return ""


def judge(trial: Trial, answer: Answer, base: str = "") -> tuple[Verdict, Results]:
    """Return the verdict; ``base`` is the fingerprint of the results of the sound input."""
    results = (
        Results(answer, trial)
        if answer.code == 0 and not answer.defect
        else Results(Answer(1, "", "", arrays={}), trial)
    )
    found = list(_faults(trial, answer, results, base))
    if found:
        return min(found, key=lambda verdict: list(FAULTS).index(verdict.outcome)), results
    if answer.code == 0:
        return Verdict(ACCEPTED), results
    return Verdict(REFUSED, answer.stderr.strip()), results


def _faults(trial: Trial, answer: Answer, results: Results, base: str) -> Iterator[Verdict]:
    printed = answer.stdout + answer.stderr
    if any(path.exists() for path in trial.absent):
        yield Verdict("executed", "the input has run code", trial.kind)
    if "generated code does not compile" in answer.stderr:
        yield Verdict("executed", f"text of the input has reached the compiler: {answer.stderr[-200:]}", trial.kind)
    if answer.peak > MOST_MEMORY or "MemoryError" in answer.defect:
        place = answer.place or trial.kind
        yield Verdict("memory", f"{answer.peak / 1e9:.1f} GB; {answer.defect}", place)
    elif answer.defect or "Traceback (most recent call last)" in printed:
        yield Verdict("traceback", answer.defect or printed[-300:], answer.place or trial.kind)
    if noise := _WARNING.search(answer.stderr):
        yield Verdict("noise", noise[0][:200], re.sub(r"^.*/(\w+\.py):\d+: ", r"\1 ", noise[0])[:80])
    leaked = _CONTROL.search(printed) or (MARK in trial.mutation and _BARE_MARK.search(printed))
    if leaked:
        near = printed[max(0, leaked.start() - 30) : leaked.end() + 30]
        yield Verdict("leaked", f"{leaked[0]!r} in {near!r}", trial.kind)
    if left := _left_over(trial):
        yield Verdict("left over", left, trial.kind)
    if answer.code == 0 and not answer.defect:
        yield from _wrong_results(trial, printed, results, base)
    elif not answer.defect:
        yield from _unclear(trial, answer)


def _wrong_results(trial: Trial, printed: str, results: Results, base: str) -> Iterator[Verdict]:
    if results.trouble:
        yield Verdict("unreadable", results.trouble[:300], trial.kind)
    if text := results.not_finite():
        yield Verdict("non-finite", text, trial.kind)
    elif text := results.not_sane():
        yield Verdict("insane", text, trial.kind)
    summary = trial.output / "summary.txt" if trial.output is not None else Path("/nonexistent")
    text = printed + (summary.read_text(encoding="utf-8") if summary.is_file() else "")
    if trial.never:
        yield Verdict("silent", "invalid input is accepted", trial.kind)
    same = base and results.digest() == base
    if trial.mentions and not same and trial.mentions not in text:
        yield Verdict("silent", f"other results, and no message mentions {trial.mentions!r}", trial.kind)
    elif same and not trial.mentions:
        yield Verdict("silent", "the results are those of the sound input", trial.kind)


def _unclear(trial: Trial, answer: Answer) -> Iterator[Verdict]:
    """Yield a verdict for a message longer than three lines of a wide terminal, or three lines per indented fault."""
    message = answer.stderr.strip()
    head, items = [], []
    for number, line in enumerate(message.splitlines()):
        (items if number and _ITEM.match(line) else head).append(line)
    longest = max((_wrapped(line) for line in items), default=0)
    if not message:
        if answer.code == 1 and answer.stdout:
            return  # a report of faults of a mechanism
        yield Verdict("unclear", f"exit code {answer.code} without a message", trial.kind)
    elif sum(map(_wrapped, head)) > _LINES or longest > _LINES or len(items) > _ITEMS:
        lines = f"{sum(map(_wrapped, head))} lines and {len(items)} items of up to {longest} lines"
        yield Verdict("unclear", f"{lines}: {message[:200]!r}", f"long: {trial.kind}")
    elif trial.names and not (
        any(name.lower() in message.lower() for name in trial.names) or _names_file(trial, message)
    ):
        yield Verdict("unclear", f"names none of {trial.names}: {message[:300]}", f"place: {trial.kind}")


def _names_file(trial: Trial, message: str) -> bool:
    """Return whether a message names a file of the input by its path, and not one of the results."""
    return re.search(re.escape(f"{trial.folder}/") + r"(?!out/)", message) is not None


def _wrapped(line: str) -> int:
    return -(-len(line) // _COLUMNS) or 1


def _files(output: Path) -> list[Path]:
    if output.is_file() or output.suffix in (".nc", ".csv"):
        return [output]
    return [path for path in sorted(output.iterdir()) if path.suffix in (".nc", ".zarr")]


def _left_over(trial: Trial) -> str:
    if trial.output is None or not trial.folder.exists():
        return ""
    parts = list(trial.folder.rglob("*.part*"))
    return f"{parts[0].name} is left" if parts else ""

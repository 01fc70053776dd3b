"""The sensitivities of a box in order of their size, as a table and as a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.atomic import write_whole
from airshed.core.report import Table

if TYPE_CHECKING:
    import xarray as xr

KINDS: Final = {
    "rate": ("reaction", "rate constant"), "initial": ("species", "initial value"), "emission": ("emitted", "emission"),
    "deposition": ("deposited", "deposition"),
}  # fmt: skip
"""Variable of a data set of sensitivities -> its dimension, and what it is called."""

MOST: Final = 20
"""Rows of a table and bars of a picture."""


@dataclass(frozen=True)
class Ranked:
    """A sensitivity: of which kind (a key of :data:`KINDS`), of what, that in words, and its value [1]."""

    kind: str
    name: str
    text: str
    value: float


def ranked(found: "xr.Dataset") -> list[Ranked]:
    """Return the sensitivities of :func:`airshed.inverse.box_sensitivity` that are not 0, the largest first.

    Of many cells it is the mean over those that there is something of the species in.
    """
    listed = []
    for kind, (along, _) in KINDS.items():
        if kind not in found:
            continue
        values = found[kind].mean("cell") if "cell" in found.dims else found[kind]
        names = [str(name) for name in found[along].values]
        texts = [_equation(str(text)) for text in found["equation"].values] if kind == "rate" else names
        numbers = np.asarray(values.values, np.float64).tolist()
        rows = zip(names, texts, numbers, strict=True)
        listed += [Ranked(kind, name, text, value) for name, text, value in rows if np.isfinite(value) and value]
    return sorted(listed, key=lambda each: -abs(each.value))


def ranking_table(found: "xr.Dataset") -> Table:
    """Return the largest sensitivities as a table."""
    species, rows = found.attrs["gradient"], ranked(found)
    label = f"d ln {species} / d ln"
    shown = [(KINDS[each.kind][1], each.name, each.text, each.value) for each in rows[:MOST]]
    of = ", mean of cells" if "cell" in found.dims else ""
    title = f"Sensitivity of {species} at {found.attrs['time'] / 3600.0:g} h{of}"
    note = f"The largest {len(shown)} of {len(rows)} that are not 0."
    return Table(title, ("what", "name", "of", label), shown, note)


def write_sensitivity(found: "xr.Dataset", path: Path) -> None:
    """Write all sensitivities as netCDF, or for ".csv" as rows, the largest first; raise OutputError."""
    with write_whole(path) as part:
        if path.suffix.lower() != ".csv":
            found.to_netcdf(part, engine="netcdf4")
            return
        lines = [f"what,name,of,d ln {found.attrs['gradient']} / d ln [1]"]
        for each in ranked(found):
            words = (KINDS[each.kind][1], each.name, each.text)
            lines.append(",".join([*map(_quoted, words), repr(each.value)]))
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _equation(text: str) -> str:
    """Return a reaction without its label and its rate."""
    _, _, behind = text.rpartition(">")
    return behind.partition(":")[0].strip() or text


def _quoted(text: str) -> str:
    """Return a text as a CSV file has it."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n') else text

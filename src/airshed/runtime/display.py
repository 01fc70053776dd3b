"""Displays of simulations: short text, HTML for notebooks, and maps."""

from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, OutputError
from airshed.core.text import duration, number

if TYPE_CHECKING:
    import xarray as xr

    from airshed.runtime.model import Model

_MAPS: Final = "airshed.plot.state"
"""Module that draws a map; imported on use, as Matplotlib takes a second and is above this package."""


def _facts(case: Any, model: "Model", time: np.datetime64, *, closed: bool) -> dict[str, str]:
    """Return the facts of a simulation, by their names."""
    sizes = dict(reversed(list(model.domain.axes.sizes.items())))
    cells = f"{' x '.join(map(str, sizes.values()))} cells ({' x '.join(sizes)})" if sizes else "no space"
    length = case.time.length
    clock = str(time.astype("datetime64[s]")).replace("T", " ")
    return {
        "model": f"{case.model}, {len(model.fields)} fields",
        "grid": cells,
        "time": f"{clock} UTC, {duration(model.seconds)} of {duration(length.value)}" + (" (closed)" if closed else ""),
    }


def simulation_text(case: Any, model: "Model", time: np.datetime64, *, closed: bool) -> str:
    """Return a simulation in four lines."""
    facts = _facts(case, model, time, closed=closed)
    return "\n".join([f"<Simulation {case.title!r}>", *(f"  {name:<6} {text}" for name, text in facts.items())])


def simulation_html(case: Any, model: "Model", time: np.datetime64, *, closed: bool) -> str:
    """Return a simulation as a small table for notebooks."""
    facts = _facts(case, model, time, closed=closed)
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    return f"<b>{escape(case.title)}</b><table>{rows}</table>"


@dataclass(frozen=True)
class Picture:
    """A picture in PNG format, which a notebook displays."""

    png: bytes
    title: str

    def __repr__(self) -> str:
        return f"<Picture {self.title!r}, {len(self.png) / 1e3:.0f} kB; save it with .save(path)>"

    def _repr_png_(self) -> bytes:
        """Return the picture for notebooks."""
        return self.png

    def save(self, path: str | Path) -> Path:
        """Write the picture into a file.

        Parameters
        ----------
        path
            Path of the file, which is replaced if it exists.

        Returns
        -------
        pathlib.Path
            The path.

        Raises
        ------
        OutputError
            If the file cannot be written, or if its name does not end in .png.

        Examples
        --------
        >>> sim.plot("O3").save("ozone.png")
        """
        if Path(path).suffix.lower() != ".png":
            raise OutputError(f"{path}: the picture is a PNG; end the name in .png")
        with write_whole(Path(path)) as part:
            part.write_bytes(self.png)
        return Path(path)


def map_picture(field: "xr.DataArray", title: str, level: int) -> Picture:
    """Draw the map of a field (lat, lon), or (y, x) of a projection. Raises CaseError for other dimensions.

    Parameters
    ----------
    title
        Title of the case.
    level
        Number of the layer, for the subtitle.
    """
    if field.dims not in (("lat", "lon"), ("y", "x")):
        raise CaseError(
            f"{field.name} has the dimensions ({', '.join(map(str, field.dims))}), and a map needs (lat, lon) or "
            f"(y, x); draw sim[{str(field.name)!r}].plot() instead"
        )
    maps = import_module(_MAPS)
    clock = str(field["time"].to_numpy().astype("datetime64[m]")).replace("T", " ")
    height = f", level {level} ({number(float(field['level']))} m)" if "level" in field.coords else ""
    words = maps.Words(
        str(field.name), field.attrs["units"], f"{field.attrs['long_name']}: {title}", f"{clock} UTC{height}"
    )
    return Picture(maps.draw_state(maps.cells_of(field), field.to_numpy(), words), words.title)

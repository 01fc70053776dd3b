"""Draft of a case from the files of a user: the kind of each file, and a case file with grid, period and layers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import GRAVITY
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed
from airshed.core.units import quantity
from airshed.grid.coordinates import faces_around
from airshed.grid.grid import default_layers
from airshed.grid.mapping import LonLat
from airshed.grid.window import Window
from airshed.io.era5 import full_level_pressure, open_era5
from airshed.io.era5_fields import NAME_OF_ALIAS, stem
from airshed.io.grid_file import FileGrid, read_grid
from airshed.io.netcdf import open_file
from airshed.io.wrf import wrf_files
from airshed.models.air.assembly import assemble
from airshed.models.air.boundary.source_map import SourceMap, layout_of
from airshed.models.air.case import Case
from airshed.models.air.emissions.report import emission_notices
from airshed.models.air.weather.atmosphere import STANDARD_PRESSURE

FileKind = Literal["wrf", "era5", "files", "emissions", "boundary", "other"]
WEATHER: Final = ("wrf", "era5", "files")
MARGIN: Final = 5
"""Cells at each side of a WRF domain in which WRF nudges to its boundary (spec_bdy_width)."""
_TIME: Final = "(s|h|hr|y|yr|year|month|day)"
_FLUX: Final = re.compile(
    rf"([kMTGu]?g[A-Z0-9]*|mol\w*|t|T|[Tt]onnes?)\b.*(\b{_TIME}(-1|\^-1|\*\*-1)|/ ?{_TIME})|[Tt]onnes?|[TM]g"
)
"""Units of emission: an amount or a mass, mostly per time."""
_RATIO: Final = frozenset(
    {"mol mol-1", "mol/mol", "ppb", "ppbv", "ppm", "ppmv", "kg kg-1", "kg/kg", "kg kg**-1", "ppt"}
)
_WIND: Final = frozenset({"u", "v"})
_SCALE_HEIGHT: Final = 7000.0  # of the lower stratosphere and troposphere [m], for the top of the data


def kind_of_file(path: Path) -> FileKind:
    """Return the content of a file, from its attributes, variables and units; raise DataError if unreadable."""
    with open_file(path, decode_times=False) as dataset:
        names = {str(name) for name in dataset.data_vars}
        if "MAP_PROJ" in dataset.attrs and {"U", "V", "PH"} <= names:
            return "wrf"
        fields = {name for name in names if dataset[name].ndim > 1}
        units = {name: str(dataset[name].attrs.get("units", "")).strip() for name in fields}
        known = {NAME_OF_ALIAS.get(name) or NAME_OF_ALIAS.get(stem(name)) for name in fields} - {None}
        if known & _WIND or len(known) == len(fields) > 0:
            text = f"{path.name} {dataset.attrs}".casefold()
            return "era5" if "era5" in text else "files"
        fluxes = [name for name in fields if _FLUX.fullmatch(units[name])]
        ratios = [name for name in fields if units[name].removesuffix(" dry") in _RATIO]
        if len(fluxes) > len(ratios):
            return "emissions"
        return "boundary" if ratios or layout_of(names, dataset.attrs) != SourceMap() else "other"


@dataclass(frozen=True)
class Weather:
    """Extent of weather files.

    kind   kind of the files
    grid   of their points as cells
    times  UTC, rising
    top    height above ground that all columns reach [m]
    """

    kind: FileKind
    files: Sequence[Path]
    grid: FileGrid
    times: NDArray[np.datetime64]
    top: float

    @property
    def period(self) -> tuple[np.datetime64, float]:
        """Begin and length [h] of the longest part without a gap, with the hour for which the last state is valid."""
        hours = np.diff(self.times) / np.timedelta64(1, "h")
        usual = float(np.median(hours))
        breaks = [0, *(np.flatnonzero(hours > 1.5 * usual) + 1).tolist(), len(self.times)]
        first, last = max(pairwise(breaks), key=lambda part: part[1] - part[0])
        more = usual if usual <= 1.0 and last == len(self.times) else 0.0
        return self.times[first], float(hours[first : last - 1].sum()) + more


def inspect_weather(kind: FileKind, files: Sequence[Path]) -> Weather:
    """Return the extent of weather files in space and time; raise DataError for unreadable ones."""
    if kind == "wrf":
        with wrf_files(files) as wrf:
            grid = wrf.grid(0)
            box = Window(0, grid.y_faces.size - 1, 0, grid.x_faces.size - 1)
            height = (wrf.read("PH", 0, box) + wrf.read("PHB", 0, box)) / GRAVITY
            top = float((0.5 * (height[-1] + height[-2]) - height[0]).min())
            return Weather(kind, files, read_grid(files[0]), wrf.times, top)
    with open_era5(files) as dataset:
        levels = np.asarray(dataset["level"].values)
        if dataset.attrs["level_kind"] == "model":
            pressure = float(full_level_pressure(levels.min(keepdims=True), np.array(STANDARD_PRESSURE))[0])
        else:
            pressure = float(levels.min())
        lon, lat = (np.asarray(dataset[name].values, np.float64) for name in ("longitude", "latitude"))
        grid = FileGrid(LonLat(), faces_around(lon), faces_around(lat)) if lon.ndim == 1 else read_grid(files[0])
        top = _SCALE_HEIGHT * float(np.log(STANDARD_PRESSURE / pressure))
        return Weather(kind, files, grid, dataset["time"].values.astype("datetime64[s]"), top)


@dataclass
class Draft:
    """Draft of a case file.

    text     case file with comments
    lacking  missing input, and the option that gives it
    unused   files of no known kind
    """

    text: str
    lacking: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def draft_case(
    folder: Path, files: Sequence[Path], *, emissions: Sequence[Path] = (), boundary: Sequence[Path] = (),
    area: tuple[float, float, float, float] | None = None, spacing: str | None = None,
) -> Draft:  # fmt: skip
    """Return a case file that runs on files of a user.

    Parameters
    ----------
    folder : Path
        Folder of the case, to which paths are relative.
    files : sequence of Path
        Files of any kind; see :func:`kind_of_file`.
    emissions, boundary : sequence of Path
        Files of emission and of boundary concentrations; they are not examined for their kind.
    area : tuple of float, optional
        West, east, south and north [degrees]; by default the area of the weather.
    spacing : str, optional
        Size of a cell with its unit, by default that of the weather.

    Raises
    ------
    CaseError
        Without weather, with weather of several kinds, and for an impossible area.
    DataError
        For a file that cannot be read.
    """
    kinds: dict[FileKind, list[Path]] = {"emissions": list(emissions), "boundary": list(boundary)}
    for path in files:
        kinds.setdefault(kind_of_file(path), []).append(path)
    if "era5" in kinds:  # its files may have other names, too
        kinds["era5"] += kinds.pop("files", [])
    found = [kind for kind in WEATHER if kind in kinds]
    if not found:
        given = listed([path.name for path in files], 4) or "none is given"
        raise CaseError(
            f"no file has weather ({given}); give WRF output, or files of ERA5, GFS or others with the wind on levels"
        )
    if len(found) > 1:
        given = " and ".join(f"{kind} ({kinds[kind][0].name})" for kind in found)
        raise CaseError(f"a case has weather of one kind; the files are of {given}")
    weather = inspect_weather(found[0], kinds[found[0]])
    draft = Draft("", unused=[path.name for path in kinds.get("other", ())])
    parts = [
        _heading(folder, weather),
        _grid(folder, weather, area, spacing),
        _time(weather, draft, spins_up=bool(kinds["emissions"])),
        _chemistry(kinds, draft),
        _meteorology(folder, weather),
        _emissions(folder, weather, kinds["emissions"], area, draft),
        _boundary(folder, kinds["boundary"], draft),
        _output(kinds),
    ]
    draft.text = "\n".join(parts)
    return draft


def check_case(case: Case) -> list[str]:
    """Return notices of the emission of a case, after its input is opened and its first weather is computed.

    Raises the errors that a run of the case would raise before its first step.
    """
    parts = assemble(case)
    parts.meteorology.at(parts.begin)
    return emission_notices(parts.sources)


def _heading(folder: Path, weather: Weather) -> str:
    """Return the title and the commands for the case."""
    kinds = {"wrf": "WRF", "era5": "ERA5"}
    kind, first = kinds.get(weather.kind, "pressure-level"), str(weather.times[0])[:16].replace("T", " ")
    return (
        f"# Drafted by `airshed new` from {len(weather.files)} file(s) of {kind}; every setting can be changed.\n#\n"
        f"#   airshed show {folder}\n#   airshed run  {folder}\n#   airshed plot runs/{folder.name}\n#\n"
        "# Quantities carry their unit, times are UTC, paths are relative to this folder.\n"
        "# docs/reference/case-file.md lists every setting.\n\n"
        f'title = "{folder.name}: {kind} weather from {first}"\n'
    )


def _grid(folder: Path, weather: Weather, area: tuple[float, float, float, float] | None, spacing: str | None) -> str:
    """Return the section [grid]: WRF's own grid, or longitude and latitude within the weather."""
    layers = [f'"{top:g} m"' for top in default_layers() if top < weather.top]
    if len(layers) < 2:
        raise DataError(f"{weather.files[0]}: its levels end {weather.top:.0f} m above the ground; no layers fit below")
    lines = ["[grid]"]
    if area is None and not (weather.kind != "wrf" and isinstance(weather.grid.mapping, LonLat)):
        if spacing is not None:
            raise CaseError(
                "--spacing needs --area with weather on a projection, whose own grid is used; give --area W,E,S,N, or "
                "state grid.projection in the case"
            )
        margin = MARGIN if min(weather.grid.x_faces.size, weather.grid.y_faces.size) > 6 * MARGIN else 1
        lines += [
            f"from = {_path(folder, weather.files[0])} # the grid of the weather",
            f"margin = {margin} # cells at each side that are left out",
        ]
    else:
        west, east, south, north = area or _inside(weather)
        _check_covered(weather, west, east, south, north)
        size = spacing or f"{_size(weather):g} deg"
        degrees = _degrees(size)
        west, east = _whole_cells(west, east, degrees)
        south, north = _whole_cells(south, north, degrees)
        lines += [
            f"area = {{ lon = [{west:g}, {east:g}], lat = [{south:g}, {north:g}] }} # degrees",
            f'spacing = "{size}"',
        ]
    lines.append(f"# Tops of the layers above ground; those of the weather reach {weather.top / 1e3:.1f} km.")
    rows = [", ".join(layers[first : first + 9]) for first in range(0, len(layers), 9)]
    return "\n".join([*lines, "layers = [", *(f"    {row}," for row in rows), "]", ""])


def _inside(weather: Weather) -> tuple[float, float, float, float]:
    """Return the area whose cells have points of the weather around them."""
    x, y = weather.grid.x_faces, weather.grid.y_faces
    if x[-1] - x[0] > 359.0:
        raise CaseError("the weather covers the globe: give the area of the case, --area WEST,EAST,SOUTH,NORTH")
    return float(x[1]), float(x[-2]), float(y[1]), float(y[-2])


def _check_covered(weather: Weather, west: float, east: float, south: float, north: float) -> None:
    """Raise CaseError for an area beyond the weather, by points of its outline."""
    part, mapping = np.linspace(0.0, 1.0, 33), weather.grid.mapping
    lon, lat = west + (east - west) * part, south + (north - south) * part
    fixed = np.ones_like(part)
    x, y = mapping.from_lonlat(
        np.concatenate([lon, lon, west * fixed, east * fixed]), np.concatenate([south * fixed, north * fixed, lat, lat])
    )
    covered = [0.5 * (faces[1:] + faces[:-1])[[0, -1]] for faces in (weather.grid.x_faces, weather.grid.y_faces)]
    if isinstance(mapping, LonLat):
        x = x - 360.0 * np.floor((west - covered[0][0]) / 360.0 + 1e-9)
        if covered[0][1] - covered[0][0] > 350.0:
            covered[0] = np.array([-np.inf, np.inf])
    if any(each.min() < low or each.max() > high for each, (low, high) in zip((x, y), covered, strict=True)):
        corner_lon, corner_lat = mapping.to_lonlat(
            *np.meshgrid(weather.grid.x_faces[[0, -1]], weather.grid.y_faces[[0, -1]])
        )
        raise CaseError(
            f"--area {west:g},{east:g},{south:g},{north:g} reaches beyond the weather, whose corners are at "
            + ", ".join(f"{a:.2f} E {b:.2f} N" for a, b in zip(corner_lon.ravel(), corner_lat.ravel(), strict=True))
        )


def _size(weather: Weather) -> float:
    """Return the size of a cell [degrees]: that of the weather, at most of one degree, with few digits."""
    if isinstance(weather.grid.mapping, LonLat):
        return float(f"{np.diff(weather.grid.y_faces).mean():.4g}")
    metres = float(np.diff(weather.grid.y_faces).mean())
    return float(f"{np.degrees(metres / weather.grid.mapping.radius):.1g}")


def _degrees(size: str) -> float:
    """Return a size of a cell in degrees."""
    return quantity(size, ("deg",), where="--spacing").value


def _whole_cells(low: float, high: float, size: float) -> tuple[float, float]:
    """Return edges around the same middle with a whole number of cells between them."""
    count = int(np.floor((high - low) / size + 1e-6))
    if count < 2:
        raise CaseError(f"the area spans {high - low:g} degrees, less than two cells of {size:g} degrees")
    surplus = high - low - count * size
    return round(low + 0.5 * surplus, 6), round(low + 0.5 * surplus + count * size, 6)


def _time(weather: Weather, draft: Draft, *, spins_up: bool) -> str:
    """Return the section [time]: the whole period of the weather."""
    if len(weather.times) < 2:
        raise DataError(f"{weather.files[0]} has one time or none; a draft needs weather at two times or more")
    begin, hours = weather.period
    lines = ["[time]", f"start = {begin}Z", f'length = "{hours:g} h"']
    if begin != weather.times[0] or begin + np.timedelta64(round(3600 * hours), "s") < weather.times[-1]:
        draft.lacking.append(f"weather at some times from {weather.times[0]} to {weather.times[-1]}: it has gaps")
    if spins_up and hours >= 24.0:
        lines.append('spinup = "24 h" # the first day once before the first output, so that the chemistry has settled')
    elif spins_up:
        draft.lacking.append(f"a spin-up: it repeats the first day, and the weather lasts {hours:g} h")
    return "\n".join([*lines, ""])


def _chemistry(kinds: Mapping[FileKind, Sequence[Path]], draft: Draft) -> str:
    """Return the section [chemistry]: a tracer where nothing would react."""
    if kinds["emissions"] or kinds["boundary"]:
        return '[chemistry]\nmechanism = "emep" # or the path of a reaction file in KPP syntax\n'
    draft.lacking.append("emission: the case releases a tracer; give files with --emissions for chemistry")
    return '[chemistry]\nmechanism = "tracer" # "emep" with emission\n\n[deposition]\nscheme = "none"\n'


def _meteorology(folder: Path, weather: Weather) -> str:
    """Return the section [meteorology]."""
    return f'[meteorology]\nkind = "{weather.kind}"\nfiles = {_paths(folder, weather.files)}\n'


def _emissions(
    folder: Path, weather: Weather, files: Sequence[Path], area: tuple[float, float, float, float] | None, draft: Draft
) -> str:
    """Return the section [emissions]: the files, or a release in the middle of the area."""
    if files:
        block = f"[[emissions.gridded]]\nfiles = {_paths(folder, files)}\n"
        return f"[emissions]\nbiogenic = true # isoprene of vegetation\n\n{block}"
    x, y = (0.5 * (faces[0] + faces[-1]) for faces in (weather.grid.x_faces, weather.grid.y_faces))
    lon, lat = weather.grid.mapping.to_lonlat(np.array(x), np.array(y))
    west, east, south, north = area or (float(lon),) * 2 + (float(lat),) * 2
    return (
        "# A release in the middle of the area, in place of emission.\n[[emissions.point]]\n"
        f'species = "TRACER"\nlon = {0.5 * (west + east):.3f}\nlat = {0.5 * (south + north):.3f}\nheight = "50 m"\n'
        'rate = "1 mol/s"\n'
    )


def _boundary(folder: Path, files: Sequence[Path], draft: Draft) -> str:
    """Return the section [boundary]."""
    if files:
        return f'[boundary]\nfiles = {_paths(folder, files)}\nprofiles = "clean-air" # for the species that they lack\n'
    if any(line.startswith("emission") for line in draft.lacking):
        return ""
    draft.lacking.append("boundary concentrations: profiles of clean air; give files with --boundary")
    return '[boundary]\nprofiles = "clean-air" # or europe-summer, europe-winter, or a CSV file of your own\n'


def _output(kinds: Mapping[FileKind, Sequence[Path]]) -> str:
    """Return the section [[output]]."""
    reacts = kinds["emissions"] or kinds["boundary"]
    fields = '["O3", "NO2", "NO", "CO", "PAN", "HNO3", "SO2", "HCHO"] # or "all"' if reacts else '"all"'
    return f'[[output]]\nfields = {fields}\nevery = "1 h"\n'


def _paths(folder: Path, files: Sequence[Path]) -> str:
    """Return an array of TOML with the paths of files, one a line where there are several."""
    paths = [_path(folder, path) for path in sorted(files)]
    return f"[{paths[0]}]" if len(paths) == 1 else "[\n" + "".join(f"    {path},\n" for path in paths) + "]"


def _path(folder: Path, file: Path) -> str:
    """Return a path for TOML: relative to the folder of the case, or absolute where that would lead far up."""
    relative = relpath(file.resolve(), folder.resolve()).replace("\\", "/")
    path = file.resolve().as_posix() if relative.startswith("../../../") else relative
    return '"' + path.replace('"', '\\"') + '"'

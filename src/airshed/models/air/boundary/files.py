"""Boundary and initial concentrations of a case from files of other models, and their table for the summary."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.files import note_input
from airshed.core.report import Table
from airshed.core.text import listed
from airshed.grid import Grid
from airshed.io.model_output import CONSTANT, ModelOutput
from airshed.kernels.boundary import FaceCells
from airshed.models.air.boundary.field import cells_beyond
from airshed.models.air.boundary.other_model import Air, OtherModel, SpeciesAtPoints
from airshed.models.air.boundary.profiles import ZERO, BoundaryProfiles, read_columns
from airshed.models.air.boundary.source_map import SourceMap, read_source_map
from airshed.models.air.species_map import BoundaryMap
from airshed.models.air.weather.state import MetState
from airshed.parallel.domain import Subdomain

if TYPE_CHECKING:
    import xarray as xr

    from airshed.models.air.case import Case

_HEADING: Final = re.compile(r"(.+?)\s*\[(.*)\]")
_TOPS: Final = 5
"""Number of times whose mean is the air above the area."""


class OuterSpecies:
    """Species of files in a case: those of the files, and the rest of clean air from the profiles.

    Parameters
    ----------
    model : OtherModel
        Files.
    rest : BoundaryProfiles
        Part of each species that the files leave out.
    species : sequence of str
        Species of the mechanism.
    """

    def __init__(self, model: OtherModel, rest: BoundaryProfiles, species: Sequence[str]) -> None:
        self.model, self._rest, self._species = model, rest, tuple(species)

    @property
    def names(self) -> tuple[str, ...]:
        """Species that the files give."""
        return tuple(name for name in self._species if name in self.model.mixtures)

    def at(self, points: SpeciesAtPoints, when: np.datetime64, pressure: Array) -> dict[str, Array]:
        """Return the species of the files (level, ...) [mol/mol] at points whose layers have a pressure [Pa]."""
        rest = self._rest.at(pressure)
        return {name: values + rest[self._species.index(name)] for name, values in points.at(when).items()}

    def origins(self) -> dict[str, str]:
        """Return the source of each species of the files."""
        found = {}
        for name in self.names:
            rest = self.model.mixtures[name].rest and self._rest.provenance[name]
            found[name] = self.model.origin(name) + (f"; {rest}" if rest else "")
        return found

    def note(self, profiles: BoundaryProfiles) -> str:
        """Return a sentence with the species of the files, of the profiles, and without inflow."""
        filled, zero = self._others(profiles)
        parts = [f"{len(self.names)} species from {self.model.title}: {listed(self.names, 40)}"]
        parts += [f"{len(filled)} from the profiles: {listed(filled)}"] if filled else []
        parts += [f"{len(zero)} without inflow: {listed(zero)}"] if zero else []
        return "; ".join(parts)

    def table(self, profiles: BoundaryProfiles) -> Table:
        """Return the source of each species, those without inflow in one row."""
        filled, zero = self._others(profiles)
        origins = profiles.provenance | self.origins()
        rows: list[tuple[str, str]] = [(name, origins[name]) for name in (*self.names, *filled)]
        rows += [(listed(zero, len(zero)), "none: 0")] if zero else []
        return Table("Boundary concentrations", ("species", "source"), rows)

    def _others(self, profiles: BoundaryProfiles) -> tuple[list[str], list[str]]:
        """Return the species of the profiles, and those without inflow."""
        others = [name for name in self._species if name not in self.model.mixtures]
        there = np.asarray(profiles.at(np.array([1e4, 5e4, 1e5])).max(axis=-1))
        zero = [name for name in others if there[self._species.index(name)] == 0.0]
        return [name for name in others if name not in zero], zero


def outer_species(
    case: "Case", outputs: Sequence[ModelOutput], masses: dict[str, float | None], clean: BoundaryMap, key: str
) -> OuterSpecies:
    """Return the species of files in a case.

    clean   clean air in the species of the mechanism
    raises  CaseError for species that neither files nor profiles give, unless the case gives profiles
    """
    settings = case.boundary
    own = SourceMap() if settings.map is None else read_source_map(note_input(case.path(settings.map)))
    wanted = {name: mass for name, mass in masses.items() if name not in settings.values}
    model = OtherModel(outputs, wanted, clean, own, repeats=settings.repeat == "year", key=key)
    declared = {
        *clean.zero,
        *(name for name in wanted if clean.others and name not in {*clean.profile, *clean.uniform}),
    }
    missing = [name for name in wanted if name not in model.mixtures and name not in declared]
    if missing and "profiles" not in settings.model_fields_set:
        raise CaseError(
            f"{key}: {model.files} has no {listed(missing)}; give boundary.profiles for them, such as "
            f'"europe-summer", or "{ZERO}" for none'
        )
    rest = profiles_of(case, tuple(masses), model.rest(clean))
    return OuterSpecies(model, rest, tuple(masses))


def profiles_of(case: "Case", names: tuple[str, ...], clean: BoundaryMap) -> BoundaryProfiles:
    """Return the profiles of a case for clean air in its species."""
    settings = case.boundary
    name = settings.profiles  # a plain name for a shipped file, else a path
    return BoundaryProfiles(
        names, clean, scale=settings.scale,
        profile=case.path(name) if Path(name).suffix or len(Path(name).parts) > 1 else name,
        values={each: value.value for each, value in settings.values.items()},
    )  # fmt: skip


def open_outputs(paths: Iterable[Path]) -> list[ModelOutput]:
    """Return the content of netCDF files and of CSV files with columns of species."""
    return [_table(path) if path.suffix.lower() == ".csv" else ModelOutput.open(path) for path in paths]


def _table(path: Path) -> ModelOutput:
    """Return a CSV file as fields on levels: a column of pressures or heights, and one for each species."""
    import xarray as xr

    names, rows = read_columns(note_input(path), str(path))
    heads = {name: match.groups() if (match := _HEADING.fullmatch(name)) else (name, "") for name in names}
    (first, unit), *others = heads.values()
    is_profile = first in ("pressure", "height")
    if not is_profile and len(rows) > 1:
        raise DataError(f"{path}: several lines need a first column 'pressure [Pa]' or 'height [m]'")
    plain = is_profile and not any(unit for _, unit in others)
    columns = names[1:] if is_profile else names
    variables = {
        heads[name][0]: (("level",), [row.number(name) for row in rows], {"units": "ppm" if plain else heads[name][1]})
        for name in columns
    }
    places = [row.number(names[0], least=1e-3 if first == "pressure" else 0.0) for row in rows] if is_profile else [1e5]
    attributes = {"units": unit if is_profile else "Pa"}
    dataset = xr.Dataset(variables, {"level": ("level", places, attributes)}, {CONSTANT: not is_profile})
    return ModelOutput(dataset, str(path), path)


class FileBoundary:
    """Function of the seconds since the start that returns species of files at the lateral face cells of a grid.

    Parameters
    ----------
    species : OuterSpecies
        Species of the files.
    grid : Grid
        Grid of the whole area.
    air : Air
        Air along the lateral faces of the whole area at the start, which also holds in the cells beyond them.
    start : datetime64
        Start of the case, UTC.
    length : float
        Length of the case [s].
    """

    def __init__(self, species: OuterSpecies, grid: Grid, air: Air, start: np.datetime64, length: float) -> None:
        self._species, self._start = species, start.astype("datetime64[ns]")
        pressure, temperature, surface = (
            np.stack([each, each], axis=-2) for each in (air.pressure, air.temperature, air.surface_pressure)
        )
        self._air = Air(pressure, temperature, surface, air.heights)
        species.model.check_covers(self._start, self._start + _nanoseconds(length))
        places = [cells_beyond(grid, number) for number in (1, 2)]
        species.model.check_places(*places[0])
        lon, lat = (np.stack(each) for each in zip(*places, strict=True))
        self._points = SpeciesAtPoints(species.model, lon, lat, self._air, self._start)

    def __call__(self, seconds: float) -> "xr.Dataset":
        """Return the species on level, cell and face at a time [s since the start]: of two cells beyond each face."""
        import xarray as xr

        found = self._species.at(self._points, self._start + _nanoseconds(seconds), self._air.pressure)
        return xr.Dataset({name: (("level", "cell", "face"), values) for name, values in found.items()})

    @property
    def gaps(self) -> str:
        """Note on layers beyond the levels of the files; empty without any."""
        return self._points.gaps(self._start)

    @property
    def interval(self) -> float:
        """Time between the records of the files [s]."""
        return self._species.model.interval


def air_at_faces(state: MetState, grid: Grid, subdomain: Subdomain) -> Air:
    """Return the air next to the lateral faces of the whole area, from the state of this rank's columns; collective."""

    def at_faces(field: Array) -> Array:
        sides = {"west": field[..., 0], "east": field[..., -1], "south": field[..., 0, :], "north": field[..., -1, :]}
        return subdomain.whole_faces(FaceCells(*field.shape[-2:]).join(sides))  # type: ignore[arg-type]

    surface = at_faces(state.surface_pressure[None])[0]
    return Air(at_faces(state.pressure), at_faces(state.temperature), surface, grid.level)


def in_cells(species: OuterSpecies, state: MetState, grid: Grid, start: np.datetime64) -> dict[str, Array]:
    """Return species of files (level, lat, lon) [mol/mol] in the columns of a grid at the start."""
    air = Air(state.pressure, state.temperature, state.surface_pressure, grid.level)
    species.model.check_covers(start, start)
    species.model.check_places(grid.lon, grid.lat)
    return species.at(SpeciesAtPoints(species.model, grid.lon, grid.lat, air), start, air.pressure)


def above(
    species: OuterSpecies, state: MetState, grid: Grid, subdomain: Subdomain, period: tuple[np.datetime64, float]
) -> dict[str, float]:
    """Return species of files [mol/mol] in the uppermost layer: means over the area and a period; collective.

    period  start, and length [s]
    """
    start, length = period
    top = slice(-1, None)
    air = Air(state.pressure[top], state.temperature[top], state.surface_pressure, grid.level[top])
    points = SpeciesAtPoints(species.model, grid.lon, grid.lat, air, start)
    total: dict[str, float] = dict.fromkeys(species.names, 0.0)
    for share in np.linspace(0.0, 1.0, _TOPS):
        for name, values in species.at(points, start + _nanoseconds(share * length), air.pressure).items():
            total[name] += float(subdomain.mean_over_columns(values[0])) / _TOPS
    return total


def _nanoseconds(seconds: float) -> np.timedelta64:
    return np.timedelta64(round(seconds * 1e9), "ns")

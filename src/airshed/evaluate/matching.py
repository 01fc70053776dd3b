"""Observations that some runs can be compared with: selected by species, area and period, with their stations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.core.errors import DataError
from airshed.core.text import listed, suggestion
from airshed.evaluate.observation_files import ObservationFiles
from airshed.evaluate.pairing import POLLUTANTS, selected
from airshed.evaluate.run_fields import RunFields, Window
from airshed.grid import Grid
from airshed.observations.observation import Observations
from airshed.observations.reading import FileSummary
from airshed.observations.selection import ObservationSelection, RejectedRow, SelectionRules
from airshed.observations.station import Station

_SPELLINGS: Final = {"PM25": "PM2.5", "PM2_5": "PM2.5", "ozone": "O3", "nitrogen dioxide": "NO2"}


@dataclass(frozen=True, eq=False)
class ComparableObservations:
    """Observations of species that all runs have, with their stations.

    stations  by identifier, as far as files or tables describe them
    absent    observed species that a run does not have
    """

    observations: Observations
    stations: Mapping[str, Station]
    absent: tuple[str, ...]
    rejected: tuple[RejectedRow, ...]
    files: tuple[FileSummary, ...]

    @property
    def classes(self) -> dict[str, str]:
        """Class of each station, such as "urban background"; "" where it is not known."""
        return {name: f"{station.area} {station.type}".strip() for name, station in self.stations.items()}

    def unscored(self, *, traffic: bool) -> frozenset[str]:
        """Return the stations that are shown, but not scored; with `traffic` all stations are scored."""
        return frozenset(name for name, station in self.stations.items() if station.type == "traffic" and not traffic)


def read_comparable(
    source: ObservationFiles, runs: Sequence[RunFields], window: Window, species: Sequence[str] = (),
    on_progress: Callable[[str], None] = lambda what: None,
) -> ComparableObservations:  # fmt: skip
    """Read the observations of some species within the common area of runs and a period.

    species  to compare; empty: all species that runs and observations have in common
    raises   DataError for unusable observations, and where none can be compared
    """
    selection = _selection(runs, window, species)
    observed, summaries = source.read(window, selection, on_progress)
    compared, absent = _comparable(observed, runs)
    return ComparableObservations(
        compared, selection.stations, absent, tuple(selection.rejected), tuple(summaries)
    )  # fmt: skip


def _comparable(observed: Observations, runs: Sequence[RunFields]) -> tuple[Observations, tuple[str, ...]]:
    """Return the observations of species that all runs have, and the other observed species."""
    common = set.intersection(*(set(run.species) for run in runs))
    compared = np.isin(observed.species, list(common)) & (observed.kind == "surface")
    absent = tuple(sorted(set(observed.species.tolist()) - common))
    if not compared.any():
        raise DataError(
            f"the observations are of {', '.join(absent)}, and {runs[0].path} has none of them; "
            f"it has {listed(sorted(common))}"
        )
    return selected(observed, compared), absent


def _selection(runs: Sequence[RunFields], window: Window, wanted: Sequence[str]) -> ObservationSelection:
    common = [name for name in runs[0].species if all(name in run.species for run in runs)]
    known = {name.casefold(): name for name in [*POLLUTANTS, *common]}
    for name in wanted:
        if _SPELLINGS.get(name, name).casefold() not in {each.casefold() for each in common}:
            raise DataError(f"{runs[0].path} has no species {name!r} to compare; {suggestion(name, common)}")
    chosen = [known[_SPELLINGS.get(name, name).casefold()] for name in wanted] or list(known.values())
    names = {spelling: name for spelling, name in _SPELLINGS.items() if name in chosen}
    area = _common_area(runs)
    length = float((window[1] - window[0]) / np.timedelta64(1, "s"))
    return ObservationSelection(area, length, chosen, SelectionRules(outside="skip", unknown="skip", names=names))


@dataclass(frozen=True)
class _CommonArea:
    """The area that some grids have in common."""

    grids: Sequence[Grid]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Minimum and maximum longitude, minimum and maximum latitude [degrees]."""
        ends = np.reshape([each.bounds for each in self.grids], (-1, 2, 2))
        (west, south), (east, north) = ends[:, :, 0].max(axis=0).tolist(), ends[:, :, 1].min(axis=0).tolist()
        return west, east, south, north

    def contains(self, lon: float, lat: float) -> bool:
        """Return whether a point [degrees] is in all grids."""
        return all(bool(each.contains(lon, lat)) for each in self.grids)


def _common_area(runs: Sequence[RunFields]) -> _CommonArea:
    """Return the area that all runs have in common; raise DataError without one."""
    area = _CommonArea([run.grid for run in runs])
    west, east, south, north = area.bounds
    if east <= west or north <= south:
        raise DataError(f"{listed([str(run.path) for run in runs])} have no area in common; compare them one by one")
    return area

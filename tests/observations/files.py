"""Files of observations for tests, and their observations."""

from pathlib import Path
from typing import Any

import numpy as np

from airshed.grid import Grid
from airshed.observations.observation import Observations
from airshed.observations.reading import FileSummary, read_observations
from airshed.observations.selection import ObservationSelection, SelectionRules
from airshed.observations.station import Station, StationTable

GRID = Grid.lonlat(np.linspace(-10.0, 20.0, 3), np.linspace(40.0, 60.0, 3), [0.0, 20.0])
SPECIES = ("O3", "NO2", "NO", "NOx", "SO2", "CO", "PM10")
STATIONS = StationTable([Station(name, "", 8.0, 50.0) for name in ("DENW095", "my1", "Opf_Balsberg", "StG_Stuelegg")])


class Read:
    """Result of reading a file: observations, rejected rows, and the summary."""

    def __init__(self, selection: ObservationSelection, summary: FileSummary) -> None:
        self.selection, self.summary = selection, summary

    @property
    def observations(self) -> Observations:
        return self.selection.observations()

    @property
    def rows(self) -> list[tuple[str, str, float, float, float]]:
        """Station, species, begin and end [h since the start], value of each observation."""
        of = self.observations
        columns = of.station, of.species, of.begin / 3600.0, of.end / 3600.0, of.value
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def hours(self) -> list[tuple[float, float]]:
        return [row[2:4] for row in self.rows]

    @property
    def rejected(self) -> dict[str, int]:
        return dict(self.selection.rejected_by_reason)


def read(
    folder: Path, content: str | bytes, start: str = "2022-08-31", days: float = 1.0, *, name: str = "file.csv",
    rules: SelectionRules | None = None, stations: StationTable | None = STATIONS, **options: Any,
) -> Read:  # fmt: skip
    """Read a file with this content; the window begins at ``start`` UTC."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    selection = ObservationSelection(GRID, days * 86400.0, SPECIES, rules or SelectionRules(outside="skip"))
    (summary,) = read_observations([path], np.datetime64(start), selection, stations=stations, **options)
    return Read(selection, summary)

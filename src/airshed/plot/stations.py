"""Observed values at stations on maps, in the unit and at the times of a run's fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.text import duration, listed
from airshed.evaluate.evaluation import Evaluation, evaluate
from airshed.plot.results import Results

_HOUR: Final = np.timedelta64(1, "h")


@dataclass(frozen=True, eq=False)
class Dots:
    """Stations with a value at one time: positions on the map, and values in the unit of the field."""

    x: Array
    y: Array
    values: Array


class Stations:
    """Observations of an evaluation at the scored stations.

    At a time a station has the mean over the interval that ends there, or the value of the instant. Means that are
    longer than an hour and than the interval of output are not shown.
    """

    def __init__(self, found: Evaluation, results: Results) -> None:
        of, start = found.matched.observations, found.matched.start.astype("datetime64[s]")
        self._of, self._units, self._results = of, found.matched.units, results
        self._begin, self._end = (start + np.round(each).astype("timedelta64[s]") for each in (of.begin, of.end))
        every = np.diff(results.times).min() if results.times.size > 1 else _HOUR
        self._fits = self._end - self._begin <= max(every, _HOUR)
        self._is_scored = ~np.isin(of.station, list(found.unscored))

    @classmethod
    def read(cls, results: Results, observations: Evaluation | str | Path | Sequence[str | Path]) -> Self:
        """Read files of observations, or take those of an evaluation.

        Raises DataError where none is of the area and the period of the run, and CaseError for a difference of runs.
        """
        if results.is_difference:
            raise CaseError("a difference of runs cannot show observations; leave out the observations")
        if not isinstance(observations, Evaluation):
            observations = evaluate(results.path, observations)
        return cls(observations, results)

    def check(self, fields: Sequence[str], times: Sequence[int]) -> None:
        """Raise DataError where no field has an observed value at any of some times (indices)."""
        if any(self.dots(field, time).values.size for field in fields for time in times):
            return
        spans = np.unique((self._end - self._begin) / np.timedelta64(1, "s")).tolist()
        raise DataError(
            f"there is no observation of {' or '.join(fields)} at the hours of the maps; the files have "
            f"{listed(list(self._units))} over {listed([duration(each) for each in spans], 3)}; "
            "give other hours or fields"
        )

    def dots(self, field: str, time: int) -> Dots:
        """Return the stations with an observed value of a field at a time (index); none for a layer aloft."""
        now, results = self._results.times[time], self._results
        here = (self._begin < now) & (now <= self._end) | (self._begin == now) & (self._end == now)
        rows = np.flatnonzero(here & self._fits & self._is_scored & (self._of.species == field))
        if rows.size == 0 or results.layer(field) > 0:
            return Dots(*np.zeros((3, 0)))
        lon, lat = self._of.lon[rows], self._of.lat[rows]
        cells = np.array([results.nearest(field, *place) for place in zip(lon, lat, strict=True)])
        values = results.observed(field, self._of.value[rows], self._units[field], time, cells)
        return Dots(*results.area.positions(lon, lat), values)

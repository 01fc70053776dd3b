"""Statistics of fields over time: means and extremes of all steps between two records of an output.

A mean is the integral of a field over the interval, by the trapezoidal rule, over the length of the interval: second
order in the step, and exact for linear changes. Values that hold for a whole step, such as fluxes, are weighted with
the length of the step instead. An extreme is that of the values at the ends of steps and at the start of the interval.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.alarm import INSTANT
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.fields import FieldView
from airshed.io.cf import Statistic
from airshed.io.output import OutputWriter
from airshed.parallel.domain import Domain
from airshed.runtime.model import OPTIONAL_PREFIX, SavedState

View = Callable[[str], FieldView | npt.NDArray[Any]]

_EXTREMES: Final[Mapping[str, np.ufunc]] = {"maximum": np.maximum, "minimum": np.minimum}
_STARTS: Final[Mapping[str, float]] = {"mean": 0.0, "maximum": -np.inf, "minimum": np.inf}
"""Value of the statistic before the first step."""


@dataclass
class Interval:
    """Accumulated statistic from the begin of an interval to a time [s].

    so_far  integral or extreme of each field
    last    values at that time, for fields that do not hold for a whole step
    """

    begin: float
    seconds: float
    so_far: dict[str, Array]
    last: dict[str, Array]


class TimeStatistics:
    """Statistic of the fields of one output over the interval since its last record.

    Regular steps are added; a provisional step is added if a record of this output is due at its end. Before a
    provisional step the statistics are copied: the run continues from that copy, and a restart contains it.
    """

    def __init__(self, name: str, statistic: Statistic, writer: OutputWriter, domain: Domain) -> None:
        if domain.tiling is None and domain.held != domain.box:
            raise CaseError(
                f'output {name}: statistic = "{statistic}" needs the order of cells in restarts, which this model does '
                "not give (Domain.tiling)"
            )
        self._name, self._statistic = name, statistic
        self._writer, self._domain = writer, domain
        self._interval: Interval | None = None
        self._before: Interval | None = None
        self._spare: dict[str, Array] = {}

    @property
    def is_counting(self) -> bool:
        """Return whether steps are added; False in a spin-up."""
        return self._interval is not None

    def add(self, seconds: float, view: View, *, provisional: bool) -> None:
        """Add the state at the end of a step, and write a record if one is due.

        provisional  whether the model returns to the state before this step
        """
        due = self._writer.is_due(seconds)
        if not due and (provisional or self._interval is None):
            return
        values = {
            spec.name: self._writer.keep(spec, view(spec.name), self._spare.pop(spec.name, None))
            for spec in self._writer.fields
        }
        if self._interval is not None:
            interval = self._continued(self._interval, seconds, provisional=provisional)
            self._extend(interval, seconds, values)
            if not due:
                return
            self._writer.write_kept(seconds, self._result(interval))
        self._interval = self._started(seconds, values)

    def change(self, view: View) -> None:
        """Continue from the present values after a change of the state between two steps."""
        self._interval, self._before = self._before or self._interval, None
        if self._interval is not None:
            for spec in self._writer.fields:
                if not spec.over_step:
                    values = self._interval.last[spec.name] = self._writer.keep(spec, view(spec.name))
                    self._update_extreme(self._interval.so_far[spec.name], values)

    def _continued(self, interval: Interval, seconds: float, *, provisional: bool) -> Interval:
        """Return the interval that a step extends; before a provisional step a copy is stored."""
        if not provisional:
            self._before = None
        elif self._before is None:
            self._before = deepcopy(interval)
        elif seconds <= interval.seconds + INSTANT:  # this provisional step is repeated
            interval = deepcopy(self._before)
        return interval

    def _started(self, seconds: float, values: dict[str, Array]) -> Interval:
        so_far = {name: np.full(each.shape, _STARTS[self._statistic]) for name, each in values.items()}
        last = {spec.name: values[spec.name] for spec in self._writer.fields if not spec.over_step}
        for name, each in last.items():
            self._update_extreme(so_far[name], each)
        return Interval(seconds, seconds, so_far, last)

    def _extend(self, interval: Interval, seconds: float, values: dict[str, Array]) -> None:
        """Add a step with its end time and the values there."""
        step = seconds - interval.seconds
        for name, now in values.items():
            so_far, last = interval.so_far[name], interval.last.get(name)
            if self._statistic in _EXTREMES:
                self._update_extreme(so_far, now)
            elif last is None:
                so_far += step * now
            else:
                last += now
                last *= 0.5 * step
                so_far += last
            self._spare[name] = now
            if last is not None:
                interval.last[name], self._spare[name] = now, last
        interval.seconds = seconds

    def _update_extreme(self, so_far: Array, values: Array) -> None:
        if self._statistic in _EXTREMES:
            _EXTREMES[self._statistic](so_far, values, out=so_far)

    def _result(self, interval: Interval) -> dict[str, Array]:
        """Return the statistic of each field at the end of an interval; overwrites its integrals."""
        if self._statistic == "mean":
            for each in interval.so_far.values():
                each /= interval.seconds - interval.begin
        return interval.so_far

    def save(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return the tiled arrays and the plain values of the last regular step for :meth:`restore`."""
        interval = self._before or self._interval
        if interval is None:
            return {}, {}
        arrays = {f"{part}.{name}": each for part in ("so_far", "last") for name, each in vars(interval)[part].items()}
        tiled = {f"{self._prefix}{key}": self._domain.tiled(each) for key, each in arrays.items()}
        return tiled, {f"{self._prefix}times": [interval.begin, interval.seconds]}

    def restore(self, saved: SavedState) -> None:
        """Continue from a restart, which any number of ranks may have written."""
        times = saved.metadata.get(f"{self._prefix}times")
        if times is not None:
            names = [spec.name for spec in self._writer.fields]
            lasting = [spec.name for spec in self._writer.fields if not spec.over_step]
            so_far, last = self._restored(saved, "so_far", names), self._restored(saved, "last", lasting)
            self._interval = Interval(times[0], times[1], so_far, last)

    def _restored(self, saved: SavedState, part: str, names: list[str]) -> dict[str, Array]:
        parts = {name: saved.part(f"{self._prefix}{part}.{name}", self._domain.held) for name in names}
        return {name: np.array(self._domain.field_of(each), np.float64, order="C") for name, each in parts.items()}

    @property
    def _prefix(self) -> str:
        return f"{OPTIONAL_PREFIX}output.{self._name}."

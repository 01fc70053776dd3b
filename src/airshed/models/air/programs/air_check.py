"""Check of the state for mixing ratios above 1 mol/mol or not finite.

Transport and mixing create no new maxima, so that the maximum mixing ratio grows at most by E / A, emission over air
of a cell. The state is checked when this bound approaches one, and each hour: an ordinary step has no extra cost.
"""

from math import inf, nan
from typing import Final

import numpy as np

from airshed.core.errors import NumericalError
from airshed.core.text import duration
from airshed.kernels.backend import Stepper
from airshed.models.air.assembly import Parts
from airshed.models.air.emissions.sources import PackedSources
from airshed.models.air.programs.context import words_for_cell
from airshed.process.context import Source

MOST: Final = 1.0 + 1e-9
"""Maximum mixing ratio [mol/mol], with a margin for rounding."""

_NEAR: Final = 0.5
_AT_LEAST_EVERY: Final = 3600.0


class AirCheck:
    """Check of the packed state after steps; collective, each rank checks its own columns."""

    def __init__(self, parts: Parts, stepper: Stepper, sources: PackedSources) -> None:
        self._parts, self._stepper, self._sources = parts, stepper, sources
        self._period, self._growth = nan, 0.0
        self.forget()

    def forget(self) -> None:
        """Check the state after the next step, after it was changed from outside."""
        self._bound, self._due = inf, -inf

    def after(self, begin: float, end: float) -> None:
        """Raise NumericalError if the state is invalid after steps from `begin` to `end` [s]."""
        self._bound += (end - begin) * self._greatest_growth(0.5 * (begin + end))
        if self._bound <= _NEAR and end < self._due:
            return
        most = self._stepper.kernel.largest(self._stepper.state.q)
        if not most <= MOST:
            self._refuse(end)
        self._bound, self._due = most, end + _AT_LEAST_EVERY

    def _greatest_growth(self, seconds: float) -> float:
        """Return the maximum E / A of all cells in the emission period of a time [1/s]."""
        period = self._sources.begin_of(seconds)
        if period != self._period:
            packed, _ = self._sources.at(seconds)
            air = self._stepper.layout.memory.fetch(self._stepper.state.air)[:, :, None, : packed.shape[3]]
            growth = np.divide(packed, air, out=np.zeros_like(packed), where=air > 0.0)
            self._period, self._growth = period, float(growth.max(initial=0.0))
        return self._growth

    def _refuse(self, seconds: float) -> None:
        """Raise NumericalError for the cell with the maximum mixing ratio, if the columns of this rank are invalid."""
        layout, names = self._stepper.layout, self._parts.network.names
        values = np.array([layout.unpack(self._stepper.state.q[:, :, number]) for number in range(len(names))])
        wrong = np.where(np.isfinite(values), values, inf)
        if wrong.max(initial=0.0) <= MOST:
            return
        number, level, row, column = (int(index) for index in np.unravel_index(wrong.argmax(), wrong.shape))
        value, cell = values[number, level, row, column], words_for_cell(self._parts.grid, row, column, level)
        amount = f"is {value:.3g} mol/mol, more than all air," if np.isfinite(value) else "is no longer finite"
        cause = self._cause(names[number], (level, row, column), seconds)
        raise NumericalError(f"{names[number]} {amount} in {cell} at {duration(seconds)}; {cause}")

    def _cause(self, name: str, cell: tuple[int, int, int], seconds: float) -> str:
        """Return the largest source of a species in a cell, and a remedy."""
        rates = [
            (_rate_in(source, name, cell, seconds), getattr(source, "kind", "sources"))
            for source in self._parts.own_sources
        ]
        rate, kind = max(rates, default=(0.0, ""))
        if rate > 0.0:
            return f"{kind} emit {rate:.3g} mol/s of it there: reduce the rate, or distribute it over more cells"
        return "nothing is emitted there: check initial and boundary values, rates and processes"


def _rate_in(source: Source, name: str, cell: tuple[int, int, int], seconds: float) -> float:
    """Return the emission rate of a species by a source into a cell [mol/s], just before a time."""
    level, row, column = cell
    if name not in source.species or level >= source.levels:
        return 0.0
    return float(source.rate(float(np.nextafter(seconds, -inf)))[source.species.index(name), level, row, column])

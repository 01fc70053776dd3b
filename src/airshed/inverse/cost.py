"""Costs: numbers made of mixing ratios at some times of a run, and their gradients on the columns of a rank."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from airshed.core.alarm import INSTANT
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.reverse.area import Area
from airshed.kernels.host import AnyArray

Fields = Callable[[str], Array]
"""Returns the mixing ratio of a species [mol/mol] (level, lat, lon)."""

See = Callable[[int, Array], None]
"""Callback for the fields (species, level, lat, lon) [mol/mol] of a time, by its number."""

Force = Callable[[int], Array]
"""Returns the gradient of a cost by those fields, for the number of a time."""


class Cost(Protocol):
    """A differentiable function of mixing ratios at some times of a run.

    times  [s] since the start of the case, rising; steps end there
    """

    @property
    def times(self) -> Sequence[float]:
        """See above."""
        ...

    def see(self, seconds: float, fields: Fields) -> None:
        """Store the mixing ratios at one of the times; called once for each, forward in time."""
        ...

    @property
    def value(self) -> float:
        """The number, once all times were seen."""
        ...

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """The derivative by the mixing ratios at one of the times, of species that count: (level, lat, lon)."""
        ...


def times_of(cost: Cost, end: float) -> list[float]:
    """Return the times [s] of a cost; raises CaseError unless they rise, within a case that ends at `end`."""
    times = [float(each) for each in cost.times]
    rise = all(second - first > 2.0 * INSTANT for first, second in pairwise(times))
    if not times or not rise or not 0.0 <= times[0] <= times[-1] <= end:
        raise CaseError(f"a cost is to have times that rise within the case, 0 to {end:g} s, not {times[:4]}")
    return times


def time_at(times: Iterable[float], seconds: float) -> float | None:
    """Return the one of a cost's times at which a step ends; two times count as one as they do for the clock."""
    return next((time for time in times if abs(time - seconds) <= INSTANT), None)


def observe(cost: Cost, seconds: float, fields: Fields) -> bool:
    """Evaluate a cost at the end of a step, if that is one of its times; return whether it is."""
    time = time_at(cost.times, seconds)
    if time is not None:
        cost.see(time, fields)
    return time is not None


def add_gradient(cost: Cost, seconds: float, area: Area, names: Sequence[str], adjoint: AnyArray) -> None:
    """Add the derivative of a cost to the packed adjoint of the mixing ratios, if a time of the cost is here.

    names  of the species of the adjoint;  raises CaseError for a derivative by another field, or of another shape
    """
    time = time_at(cost.times, seconds)
    if time is None:
        return
    shape = (adjoint.shape[3], area.subdomain.decomposition.rows, area.subdomain.decomposition.columns)
    for name, values in cost.gradient(time).items():
        if name not in names or np.shape(values) != shape:
            raise CaseError(
                f"the gradient of the cost at {time:g} s has {name} with the shape {np.shape(values)}; "
                f"it is to have species with that of the grid, {shape}"
            )
        adjoint[:, :, names.index(name)] += area.own(values, padding="constant")


class CostOfFunction:
    """The cost of a function at one time: it is given species by name and returns a number and its derivatives.

        cost = CostOfFunction(86400.0, ["O3"], lambda q: (q["O3"][0].mean(), {"O3": weights}))

    seconds   [s] since the start of the case
    species   that it is given, each (level, lat, lon) [mol/mol]
    """

    def __init__(
        self, seconds: float, species: Sequence[str],
        function: Callable[[Mapping[str, Array]], tuple[float, Mapping[str, Array]]],
    ) -> None:  # fmt: skip
        self.times, self._species, self._function = [float(seconds)], list(species), function
        self.value = float("nan")
        self._gradient: Mapping[str, Array] = {}

    def see(self, seconds: float, fields: Fields) -> None:
        """See :class:`Cost`."""
        value, self._gradient = self._function({name: fields(name) for name in self._species})
        self.value = float(value)

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """See :class:`Cost`."""
        return self._gradient

"""Cost functions of the mixing ratios at some times of a run, and their gradients on the columns of a rank."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from airshed.core.alarm import INSTANT
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import duration
from airshed.inverse.reverse.area import Area
from airshed.kernels.host import AnyArray

Fields = Callable[[str], Array]
"""Returns the mixing ratio of a species [mol/mol] (level, lat, lon)."""

OnFields = Callable[[int, Array], None]
"""Callback for the fields (species, level, lat, lon) [mol/mol] at the n-th time."""

AdjointForcing = Callable[[int], Array]
"""Function that returns the gradient of a cost with respect to the fields at the n-th time: the adjoint forcing."""


class Cost(Protocol):
    """Differentiable function of the mixing ratios at some times of a run."""

    @property
    def times(self) -> Sequence[float]:
        """Times [s] since the start of the case, in ascending order; steps end at these times."""
        ...

    def observe(self, seconds: float, fields: Fields) -> None:
        """Evaluate the mixing ratios at one of the times; called once for each time, forward in time."""
        ...

    @property
    def value(self) -> float:
        """Value of the cost after all times were observed."""
        ...

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return the gradient with respect to the mixing ratios at one of the times, by species: (level, lat, lon)."""
        ...


def cost_times(cost: Cost, end: float) -> list[float]:
    """Return the times [s] of a cost; raises CaseError unless they ascend within a case that ends at `end`."""
    times = [float(each) for each in cost.times]
    rise = all(second - first > 2.0 * INSTANT for first, second in pairwise(times))
    if not times or not rise or not 0.0 <= times[0] <= times[-1] <= end:
        raise CaseError(f"the times of a cost must ascend within the case, 0 to {duration(end)}; they are {times[:4]}")
    return times


def time_at(times: Iterable[float], seconds: float) -> float | None:
    """Return the time of a cost at which a step ends, None if there is none; the tolerance is that of the clock."""
    return next((time for time in times if abs(time - seconds) <= INSTANT), None)


def observe_at(cost: Cost, seconds: float, fields: Fields) -> bool:
    """Evaluate a cost at the end of a step if it is one of its times; return True if it is."""
    time = time_at(cost.times, seconds)
    if time is not None:
        cost.observe(time, fields)
    return time is not None


def add_gradient(cost: Cost, seconds: float, area: Area, names: Sequence[str], adjoint: AnyArray) -> None:
    """Add the gradient of a cost to the packed adjoint of the mixing ratios if this is a time of the cost.

    names  names of the species of the adjoint

    Raises CaseError for the gradient by another field, or of another shape.
    """
    time = time_at(cost.times, seconds)
    if time is None:
        return
    shape = (adjoint.shape[3], area.subdomain.decomposition.rows, area.subdomain.decomposition.columns)
    for name, values in cost.gradient(time).items():
        if name not in names or np.shape(values) != shape:
            raise CaseError(
                f"the gradient of the cost at {duration(time)} has {name} with the shape {np.shape(values)}; "
                f"return species of the mechanism with the shape of the grid, {shape}"
            )
        adjoint[:, :, names.index(name)] += area.own(values, padding="constant")


class CostOfFunction:
    """Cost from a function of mixing ratios at one time.

    Parameters
    ----------
    seconds : float
        Time [s] since the start of the case.
    species : sequence of str
        Species that the function reads, each (level, lat, lon) [mol/mol].
    function : callable
        Receives the mixing ratios by species. Returns the value and its gradient by species, each (level, lat, lon).

    Examples
    --------
    >>> cost = CostOfFunction(86400.0, ["O3"], lambda q: (q["O3"][0].mean(), {"O3": weights}))
    """

    def __init__(
        self, seconds: float, species: Sequence[str],
        function: Callable[[Mapping[str, Array]], tuple[float, Mapping[str, Array]]],
    ) -> None:  # fmt: skip
        self.times, self._species, self._function = [float(seconds)], list(species), function
        self.value = float("nan")
        self._gradient: Mapping[str, Array] = {}

    def observe(self, seconds: float, fields: Fields) -> None:
        """Evaluate the function; see :class:`Cost`."""
        value, self._gradient = self._function({name: fields(name) for name in self._species})
        self.value = float(value)

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return the gradient that the function returned; see :class:`Cost`."""
        return self._gradient

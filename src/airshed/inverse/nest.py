"""Gradients through a nest: the adjoint of its boundary and initial state as a cost of the outer run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.backward import Adjoints
from airshed.inverse.cost import Cost, Fields
from airshed.inverse.gradient import DEFAULT, Gradient, Options, gradient
from airshed.kernels.boundary import cells_of
from airshed.models.air.boundary.outer import OuterRun, points_beyond
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel

_SECOND: Final = np.timedelta64(1, "s")


class NestCost:
    """Linear cost of an outer run, whose weights are the sensitivities of the cost of a nest to each record it reads.

        J = sum over records r and species s of < w_rs, q_s(t_r) >

    The weights w are the adjoints of the nest at its boundary and its start, times the transpose of the interpolation.

    weights  (level, y, x) of the outer grid, by time [s since the first record, the start of the outer run] and species
    """

    def __init__(self, weights: Mapping[float, Mapping[str, Array]]) -> None:
        self._weights = dict(sorted(weights.items()))
        self._value = 0.0

    @property
    def times(self) -> Sequence[float]:
        """Times of the records [s]."""
        return list(self._weights)

    @property
    def value(self) -> float:
        """Value of the linear cost."""
        return self._value

    def observe(self, seconds: float, fields: Fields) -> None:
        """Add the part of a record; see :class:`airshed.inverse.cost.Cost`."""
        self._value += sum(float(np.sum(each * fields(name))) for name, each in self._weights[seconds].items())

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return the weights of a record; see :class:`airshed.inverse.cost.Cost`."""
        return self._weights[seconds]


def cost_of_outer_run(adjoints: Adjoints, model: AirModel) -> NestCost:
    """Return the cost of the outer run whose gradient is that of a nest through its boundary and its initial state.

    Parameters
    ----------
    adjoints
        Adjoints of the cost of the nest.
    model
        Model of the nest, with `boundary.run` in its case.

    Returns
    -------
    NestCost
        Cost for :func:`airshed.inverse.gradient` of the outer case.

    Raises
    ------
    CaseError
        For a case without `boundary.run`.
    """
    case, grid, names = model.case, model.whole, model.network.names
    if case.boundary.run is None:
        raise CaseError(f"{case.name} is no nest: it has no boundary.run")
    outer = OuterRun(case.path(case.boundary.run), names, "boundary.run")
    rows = [names.index(name) for name in outer.species]
    weights: dict[int, Array] = {}

    def add(when: np.datetime64, values: Array, spread: Callable[[Array], Array]) -> None:
        for number, share in outer.records_at(when):
            weights[number] = weights.get(number, 0.0) + share * spread(values[rows])

    spread = outer.grid.transposed(*points_beyond(grid), grid.level)
    start = case.start.astype("datetime64[ns]")
    for seconds, found in adjoints.boundary.items():
        of_cells = np.stack(list(cells_of(found, len(names))), axis=2)
        add(start + np.timedelta64(round(seconds * 1e9), "ns"), of_cells, spread)
    if case.initial.run is not None:
        add(start, adjoints.initial, outer.grid.transposed(grid.lon, grid.lat, grid.level))
    times = {number: float((outer.times[number] - outer.times[0]) / _SECOND) for number in weights}
    return NestCost({times[number]: dict(zip(outer.species, each, strict=True)) for number, each in weights.items()})


def gradient_through_nest(
    nest: Case, outer: Case, cost: Cost | Callable[[AirModel], Cost], *, options: Options = DEFAULT
) -> tuple[Gradient, Gradient]:
    """Return the gradients of a cost of a nest by the inputs of the nest, and by those of its outer run.

    Parameters
    ----------
    nest
        Case with `boundary.run`, the folder of the finished outer run.
    outer
        Case of the outer run; it is run once more, with its adjoint.
    cost
        Cost of the nest, or a function that returns it for a model.
    options
        Options of both gradients.

    Returns
    -------
    tuple of Gradient
        Of the nest and of the outer run. Both contribute to the total derivative by inputs that they share.

    Examples
    --------
    >>> inner, outer = gradient_through_nest(airshed.load_case("cologne"), airshed.load_case("west-europe"), cost)
    >>> outer.adjoints.sources
    """
    models: list[AirModel] = []

    def with_model(model: AirModel) -> Cost:
        models.append(model)
        return cost(model) if callable(cost) else cost

    found = gradient(nest, with_model, options=options)
    return found, gradient(outer, cost_of_outer_run(found.adjoints, models[0]), options=options)

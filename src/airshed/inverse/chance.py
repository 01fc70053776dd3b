"""Directions and costs at random, by which derivatives are verified."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from airshed.inverse.cost import Fields
from airshed.inverse.direction import Direction
from airshed.inverse.recording import Recording
from airshed.kernels.operators import Member

Array = npt.NDArray[np.float64]


class WeightedSum:
    """The sum of all mixing ratios at one time, each with a weight; see :class:`airshed.inverse.cost.Cost`.

    weights  by species, each (level, lat, lon)
    """

    def __init__(self, seconds: float, weights: Mapping[str, Array]) -> None:
        self.times: Sequence[float] = [seconds]
        self._weights, self.value = weights, float("nan")

    def see(self, seconds: float, fields: Fields) -> None:
        """Sum up."""
        self.value = float(sum(np.sum(each * fields(name)) for name, each in self._weights.items()))

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return the weights."""
        return self._weights


def random_cost(recorded: Recording, seed: int, change: Array | None = None) -> WeightedSum:
    """Return the sum of all mixing ratios at the end of a recording, over the mean of the species, with weights 0.5-1.

    So that all species count alike, however rare.

    change  (species, level, lat, lon) [mol/mol] by whose mean a species is divided where that is greater
    """
    random = np.random.default_rng(seed)
    q = recorded.area.whole(recorded.levels[-1].q)
    sizes = np.abs(q if change is None else np.maximum(q, np.abs(change))).mean(axis=(1, 2, 3))
    cells = q[0].size
    weights = {
        name: random.uniform(0.5, 1.0, q.shape[1:]) / (cells * size)
        for name, size in zip(recorded.network.names, sizes, strict=True)
        if size > 0.0
    }
    return WeightedSum(recorded.steps[-1].end, weights)


def random_direction(recorded: Recording, seed: int = 0, *, zeros: bool = False) -> Direction:
    """Return changes of all inputs of a recording, of -1 to 1 times what each is.

    zeros  whether what is zero changes too: by up to a tenth of the mean of the array; mixing ratios by a tenth of the
           mean of their species at the end, since a species that lives for a nanosecond is to stay as rare as it is
    """
    random, whole = np.random.default_rng(seed), recorded.area.whole
    means = np.abs(whole(recorded.levels[-1].q)).mean(axis=(1, 2, 3))

    def change(values: Array, mean: Array | float | None = None) -> Array:
        if mean is None:
            mean = np.abs(values).mean() if values.size else 0.0
        size = np.where(values == 0.0, 0.1 * mean if zeros else 0.0, values)
        return np.asarray(random.uniform(-1.0, 1.0, values.shape) * size)

    def change_of_ratios(values: Array) -> Array:
        return change(values, means.reshape(-1, *[1] * (values.ndim - 1)))

    first: dict[float, Array] = {}
    for step in recorded.formula_steps if recorded.constants.emitted else ():
        for begin, _ in step.emission:
            if begin not in first and step.forcing.column is not None:
                first[begin] = change(np.abs(whole(step.forcing.column.emission)))
    constants = recorded.constants
    boundary = {seconds: change_of_ratios(each) for seconds, each in recorded.boundary.items()}
    fields = {
        name: [allowed(recorded.members[name], change(whole(each))) for each in instants]
        for name, instants in recorded.instants.items()
    }
    return Direction(
        change_of_ratios(whole(recorded.first.q)), first, change_of_ratios(constants.profile),
        change_of_ratios(constants.top),
        random.uniform(-1.0, 1.0, len(recorded.network.reactions)),
        {name: change(each) for name, each in recorded.numbers().items()}, fields, boundary,
    )  # fmt: skip


def allowed(member: Member, change: Array) -> Array:
    """Return a change that a field may have: none at the edges, and a matrix brings what it takes."""
    if member.shape == "west faces":
        change[..., [0, -1]] = 0.0
    if member.shape == "south faces":
        change[..., [0, -1], :] = 0.0
    if member.shape == "matrix":
        levels = np.arange(len(change))
        change[levels, levels] = 0.0
        change[levels, levels] = -change.sum(axis=1)
    return change

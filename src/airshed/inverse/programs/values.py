"""Values of the executors of derivatives, and the derivative of a sum of values.

A sum with coefficients c of values with mixing ratios q and air A [mol] is

    A' = sum c_i A_i,      w = sum c_i A_i q_i / A',      q' = max(w, 0)

so that the share of a mixing ratio q_i in q' is c_i A_i / A' where w >= 0, and zero elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.inverse.programs.steps import Observer
from airshed.kernels.host import AnyArray
from airshed.kernels.step.data import Level, State, StateAndChanges
from airshed.models.air.programs.forward import add_amounts


@dataclass(frozen=True)
class SumShares:
    """Derivative of a sum.

    shares      of each value's mixing ratios, [lat][block][1][level][W]
    is_positive where the sum is not clipped, shape of the mixing ratios
    """

    shares: list[AnyArray]
    is_positive: npt.NDArray[np.bool_]


class StateValues:
    """Mixing ratios and air of a state as values of a program; the observer receives the result of each sum."""

    observer: Observer | None = None

    def __init__(self, state: State) -> None:
        self._state = state

    def copy(self) -> Level:
        """Return a copy of the newest level."""
        return Level(self._state.q.copy(), self._state.air.copy())

    def put(self, value: Level) -> None:
        """Replace the newest level."""
        self._state.q[...], self._state.air[...] = value.q, value.air

    def add_up(self, coefficients: Sequence[float], values: Sequence[Level]) -> SumShares:
        """Replace the newest level by a sum."""
        q = self._state.q
        shares = _add_up(self._state, coefficients, values)
        if self.observer is not None:
            self.observer(None, q, q, None)
        return shares


@dataclass(frozen=True)
class LevelWithChange:
    """Level, and the change of its mixing ratios."""

    level: Level
    change: AnyArray


class TangentValues:
    """Mixing ratios and air of a state, with their changes, as values of a program."""

    def __init__(self, states: StateAndChanges) -> None:
        self._states, self._values = states, StateValues(states.state)

    def copy(self) -> LevelWithChange:
        """Return a copy of the newest level and its change."""
        return LevelWithChange(self._values.copy(), self._states.changes.q.copy())

    def put(self, value: LevelWithChange) -> None:
        """Replace the newest level and its change."""
        self._values.put(value.level)
        self._states.changes.q[...] = value.change

    def add_up(self, coefficients: Sequence[float], values: Sequence[LevelWithChange]) -> SumShares:
        """Replace the newest level and its change by a sum and its tangent."""
        found = _add_up(self._states.state, coefficients, [each.level for each in values])
        change = self._states.changes.q
        change[...] = 0.0
        for share, value in zip(found.shares, values, strict=True):
            change += share * value.change
        change[~found.is_positive] = 0.0
        return found


class AdjointValues:
    """Adjoint of the mixing ratios of a value, in place."""

    def __init__(self, x: AnyArray) -> None:
        self._x = x

    def copy(self) -> AnyArray:
        """Return a copy of the adjoint."""
        return self._x.copy()

    def put(self, value: AnyArray | None) -> None:
        """Replace the adjoint; None is zero."""
        self._x[...] = 0.0 if value is None else value

    def accumulate(self, value: AnyArray) -> None:
        """Add to the adjoint."""
        self._x += value

    def split(self, coefficients: Sequence[float], record: SumShares) -> list[AnyArray]:
        """Return the adjoint of each value of a sum."""
        after = np.where(record.is_positive, self._x, 0.0)
        return [share * after for share in record.shares]


def _add_up(state: State, coefficients: Sequence[float], values: Sequence[Level]) -> SumShares:
    add_amounts(state, coefficients, [(each.q, each.air) for each in values])
    is_positive = state.q >= 0.0
    np.maximum(state.q, 0.0, out=state.q)
    pairs = zip(coefficients, values, strict=True)
    return SumShares([each * (value.air / state.air)[:, :, None] for each, value in pairs], is_positive)

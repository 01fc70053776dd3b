"""Steps of Strang splitting taken once more, with all that is between their parts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.air.cell_chemistry import Air, CellChemistry
from airshed.air.repeated_chemistry import integrate_again
from airshed.air.schemes.added import Added
from airshed.air.schemes.taken import Both, Carried, Reacted, SplitTaken
from airshed.kernels.backend import Stepper
from airshed.kernels.chemistry import AcceptedSteps
from airshed.kernels.memory import AnyArray, aligned_copy
from airshed.kernels.step.data import Level, State

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReactedAgain:
    """Half a step of chemistry: its air, and the steps that counted."""

    part: Reacted
    air: Air
    record: AcceptedSteps


@dataclass(frozen=True)
class CarriedAgain:
    """What moved species: the levels before, between and after its stages, and the tendency of the last stage."""

    part: Carried
    levels: list[Level]
    tendency: AnyArray


@dataclass(frozen=True)
class BothAgain:
    """Two whose changes were added up: their parts, and where the sum came out as zero or more.

    of_columns, of_moved, of_first  what a mixing ratio after each, and before both, counts in the sum
    """

    columns: list[ReactedAgain | CarriedAgain]
    moved: CarriedAgain
    kept: npt.NDArray[np.bool_]
    of_columns: AnyArray
    of_moved: AnyArray
    of_first: AnyArray


class Again:
    """Takes steps once more.

    moving, columns  advance one state: by all that moves species, or along planes and along columns
    """

    def __init__(
        self, moving: Stepper, columns: Stepper | None, chemistry: CellChemistry | None, density_factor: Array
    ) -> None:
        self._moving, self._columns, self.chemistry, self._density_factor = moving, columns, chemistry, density_factor

    def take(self, first: Level, taken: SplitTaken) -> list[ReactedAgain | CarriedAgain | BothAgain]:
        """Take a step from a level; return what is between its parts, in their order."""
        state = self._moving.state
        state.q[...], state.air[...] = first.q, first.air
        return [self._both(part) if isinstance(part, Both) else self._one(part) for part in taken.parts]

    def _both(self, part: Both) -> BothAgain:
        added = Added(self._moving.state)
        columns = [self._one(each) for each in part.columns]
        added.begin_again()
        moved = self._carry(part.moved)
        kept = added.add_up() >= 0.0
        return BothAgain(columns, moved, kept, *shares_of(added, self._moving.state))

    def _one(self, part: Reacted | Carried) -> ReactedAgain | CarriedAgain:
        return self._react(part) if isinstance(part, Reacted) else self._carry(part)

    def _react(self, part: Reacted) -> ReactedAgain:
        state, chemistry = self._moving.state, self.chemistry
        assert chemistry is not None
        air = part.air.with_density(state.air * self._density_factor)
        record = integrate_again(chemistry, part.integrated, air, state.q, state.q_other, state.tendency)
        state.q, state.q_other = state.q_other, state.q
        return ReactedAgain(part, air, record)

    def _carry(self, part: Carried) -> CarriedAgain:
        stepper, state = self._moving, self._moving.state
        if part.apart:
            assert self._columns is not None
            stepper = self._columns
        levels = [Level(aligned_copy(state.q), aligned_copy(state.air))]
        for stage in part.stages:
            stepper.advance([stage.forcing])
            levels.append(Level(aligned_copy(state.q), aligned_copy(state.air)))
        return CarriedAgain(part, levels, aligned_copy(state.tendency))

    def close(self) -> None:
        """End the threads."""
        self._moving.close()
        if self._columns is not None:
            self._columns.close()
        if self.chemistry is not None:
            self.chemistry.solver.close()


def shares_of(added: Added, state: State) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return what mixing ratios after the first, after the second, and before both count in a sum that was added up."""
    of_columns, of_moved, of_first = (
        air[:, :, None] / state.air[:, :, None] for air in (added.between, added.after, added.before)
    )
    return of_columns, of_moved, of_first

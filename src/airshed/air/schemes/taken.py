"""Steps as they were taken, with all that they were given: what repeats them, and takes them back, goes by these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.air.cell_chemistry import Air
from airshed.air.repeated_chemistry import Integrated
from airshed.kernels.memory import AnyArray, aligned_copy
from airshed.kernels.step.data import Pair, StepForcing

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Taken:
    """A step by one formula, as it was taken; of a splitting, a stage of what moves species.

    emission  the periods of sources by their beginnings [s], and the share that each has in the step's emission
    """

    begin: float
    end: float
    forcing: StepForcing
    emission: tuple[tuple[float, float], ...]

    @property
    def stages(self) -> "Sequence[Taken]":
        """Itself."""
        return (self,)

    def with_forcing(self, make: "Callable[[Taken], StepForcing]") -> "Taken":
        """Return it with what a function makes of what it was given."""
        return replace(self, forcing=make(self))

    def lasting(self) -> "Taken":
        """Return it with a sun of its own: steps to come write where that was."""
        step = self.forcing
        if step.column is None:
            return self
        return replace(self, forcing=replace(step, column=replace(step.column, sun=aligned_copy(step.column.sun))))


@dataclass(frozen=True)
class AirBetween:
    """What chemistry is told of the air of cells but for its density: at both ends of an interval of the forcing.

    weight  where between the ends;  sun  then, see :class:`airshed.air.cell_chemistry.Air`
    """

    temperature: Pair
    water: Pair
    parameters: Pair
    weight: float
    sun: AnyArray

    def with_density(self, density: AnyArray) -> Air:
        """Return all of it; density: [molecules cm-3] as in `Air`."""
        temperature, water, parameters = (self._at(each) for each in (self.temperature, self.water, self.parameters))
        return Air(temperature, water, density, parameters, self.sun)

    def _at(self, pair: Pair) -> Array:
        start, end = pair
        return np.asarray((1.0 - self.weight) * start + self.weight * end, np.float64)


@dataclass(frozen=True)
class Reacted:
    """Half a step of chemistry."""

    air: AirBetween
    integrated: Integrated

    @property
    def stages(self) -> Sequence[Taken]:
        """None."""
        return ()

    def with_forcing(self, make: Callable[[Taken], StepForcing]) -> "Reacted":
        """Return itself."""
        return self


@dataclass(frozen=True)
class Carried:
    """What moved species between chemistry: stages of the one-step formula, two of them a piece.

    apart  whether along columns alone, where vertical transport is split from horizontal
    """

    stages: tuple[Taken, ...]
    apart: bool

    def with_forcing(self, make: Callable[[Taken], StepForcing]) -> "Carried":
        """Return it with what a function makes of what its stages were given."""
        return replace(self, stages=tuple(stage.with_forcing(make) for stage in self.stages))


@dataclass(frozen=True)
class Both:
    """Two that start from one state and whose changes are added up, see :class:`airshed.air.schemes.added.Added`.

    columns  chemistry, and what moves species along columns where that is split off;  moved  all else
    """

    columns: tuple[Reacted | Carried, ...]
    moved: Carried

    @property
    def stages(self) -> Sequence[Taken]:
        """The stages of all that moved species."""
        return [*(stage for part in self.columns for stage in part.stages), *self.moved.stages]

    def with_forcing(self, make: Callable[[Taken], StepForcing]) -> "Both":
        """Return it with what a function makes of what its stages were given."""
        return Both(tuple(part.with_forcing(make) for part in self.columns), self.moved.with_forcing(make))


@dataclass(frozen=True)
class SplitTaken:
    """A step of a splitting: its parts in their order."""

    begin: float
    end: float
    parts: tuple[Reacted | Carried | Both, ...]

    @property
    def stages(self) -> Sequence[Taken]:
        """The stages of all that moved species."""
        return [stage for part in self.parts for stage in part.stages]

    def with_forcing(self, make: Callable[[Taken], StepForcing]) -> "SplitTaken":
        """Return it with what a function makes of what its stages were given."""
        return replace(self, parts=tuple(part.with_forcing(make) for part in self.parts))

    def lasting(self) -> "SplitTaken":
        """Return itself: it has a sun of its own."""
        return self


class TakenStep(Protocol):
    """A step of any scheme as it was taken, from `begin` to `end` [s]."""

    @property
    def begin(self) -> float:
        """See above."""
        ...

    @property
    def end(self) -> float:
        """See above."""
        ...

    @property
    def stages(self) -> Sequence[Taken]:
        """The steps by one formula that it was made of."""
        ...

    def with_forcing(self, make: Callable[[Taken], StepForcing]) -> "TakenStep":
        """Return it with what a function makes of what each of its stages was given."""
        ...

    def lasting(self) -> "TakenStep":
        """Return what stays as it is when further steps are taken."""
        ...


Note = Callable[[TakenStep], None]
"""Is told of a step."""

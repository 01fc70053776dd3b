"""What moves species between two steps of chemistry: transport, vertical mixing, emission and deposition.

It advances by the one-step formula of ``program.weights`` through the compiled step of a mechanism without reactions,
in as many pieces as the Courant number asks for: all of it together, or horizontal transport apart from what acts along
columns. Every species moves by itself, and without vertical transport every level does. Air is advanced by the same
fluxes, so that a uniform mixing ratio stays uniform; after one of two parts it differs from the given air by the
divergence of that part, after both by round-off, since the formula is exact for fluxes that are linear in time.

The formula is of second order, so that it cannot be positive at every step (Bolley & Crouzeix 1978): of a layer that
mixes fast, or whose content is lost fast, the second stage takes more than there is. Where that makes more than
:data:`MOST_CLIPPED` of a species, the stage is made again, by backward Euler along columns: first order, positive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.air.forcing import Forcing
from airshed.air.light import PackedLight
from airshed.air.schemes.taken import Taken
from airshed.air.sources import PackedSources
from airshed.core.report import Table
from airshed.kernels.backend import Stepper
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import TERMS, ColumnForcing, Directions, StepForcing
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import GAMMA, StageWeights, one_step_weights

Array = npt.NDArray[np.float64]

MOST_CLIPPED: Final = 1e-5
"""Of a species, what the second stage of a piece may add by clipping; where it is more, that stage is made again."""


def without_reactions(network: ReactionNetwork, species: slice = slice(None)) -> ReactionNetwork:
    """Return the species of a network alone, or some of them, for what moves them."""
    return replace(network, name=f"{network.name}-moved", species=network.species[species], reactions=())


def used_lanes(layout: Layout) -> Array:
    """Return 1 for each lane that holds a column, else 0, (block, 1, W)."""
    lanes = np.arange(layout.blocks * layout.width).reshape(layout.blocks, 1, layout.width) < layout.columns
    return lanes.astype(np.float64)


def sums_of(packed: AnyArray, amounts: Array) -> Array:
    """Return sums over cells, (block, species): mixing ratios [lat][block][species][level][W] times air [mol]."""
    columns = amounts.reshape(amounts.shape[0] * amounts.shape[1], -1, 1)
    blocks = packed.reshape(len(columns), packed.shape[2], columns.shape[1])
    # block by block, the way they lie in memory, in double
    return np.asarray(np.matmul(blocks.astype(np.float64, copy=False), columns)[..., 0])


@dataclass(frozen=True)
class Moved:
    """One stage of the formula: weights, sums (term, species) for budgets, and the emission [mol/s] (species,).

    Sums of levels that move each by itself are (term, species, level).

    taken  the stage with what it was given; None where nobody asked for that
    """

    weights: StageWeights
    sums: Array
    emission: Array
    taken: Taken | None = None


class Moving(Protocol):
    """Moves the species of the state from one time to another [s], both inside one interval of the forcing.

    waited  [s] that it took on other ranks; None for what is done here
    """

    @property
    def waited(self) -> float | None:
        """See above."""
        ...

    def tables(self) -> list[Table]:
        """Return what there is to report of it."""
        ...

    def start(self, begin: float, end: float) -> None:
        """Take the mixing ratios of the state as they are now, which stay so until they may be replaced."""
        ...

    def finish(self, begin: float, end: float) -> list[Moved]:
        """Replace mixing ratios and air of the state by the moved ones; return what its stages did."""
        ...

    def reload(self) -> None:
        """Take the air of the state, which comes from a restart."""
        ...

    def close(self) -> None:
        """Give free what moving holds."""
        ...


class Mover:
    """Moves the packed state of a :class:`Stepper` without reactions here and now, where its kernel goes.

    light     of the columns, for processes that ask for it; None where none does
    emitted   numbers of the species of `sources`, which horizontal transport alone does not ask
    courant   largest sum of Courant numbers of a piece of transport, over the directions in which it goes
    any_rank  whether something holds for any rank that moves some of the species
    tells     whether stages are told with what they were given
    """

    tells = False

    def __init__(
        self, stepper: Stepper, forcing: Forcing, sources: PackedSources, light: PackedLight | None, *,
        emitted: Sequence[int], courant: float, any_rank: Callable[[bool], bool] = bool,
    ) -> None:  # fmt: skip
        self._any_rank = any_rank
        self.stepper, self.forcing, self.sources, self._light = stepper, forcing, sources, light
        self._emitted, self._courant = list(emitted), courant
        self._species, self._shape = len(stepper.kernel.network.species), stepper.kernel.shape
        self._dark = stepper.layout.zeros(2)

    waited: float | None = None

    def tables(self) -> list[Table]:
        """Return nothing."""
        return []

    def start(self, begin: float, end: float) -> None:
        """Nothing is to be prepared."""

    def finish(self, begin: float, end: float) -> list[Moved]:
        """Move the state; return what the stages did."""
        return [moved for start, step in self.pieces(begin, end) for moved in self._move_once(start, step)]

    def reload(self) -> None:
        """Nothing is kept beside the state."""

    def close(self) -> None:
        """Nothing is held but the stepper, which is its owner's."""

    def pieces(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Return the beginnings and lengths [s] of the pieces of a move."""
        count = max(1, ceil((end - begin) * self._outflow_rate(begin) / self._courant - 1e-9))
        step = (end - begin) / count
        return [(begin + number * step, step) for number in range(count)]

    def emission(self, begin: float, step: float) -> tuple[AnyArray, Array]:
        """Return the packed emission of a piece, and that of each species [mol/s] in the whole area."""
        packed, totals = self.sources.at(begin + 0.5 * step)
        emission = np.zeros(self._species)
        emission[self._emitted] = totals
        return packed, emission

    def emitted(self, begin: float, step: float) -> Array:
        """Return what is emitted of each species [mol/s] in a piece: nothing where no column is solved."""
        return self.emission(begin, step)[1] if self._shape.vertical else np.zeros(self._species)

    def _outflow_rate(self, seconds: float) -> float:
        """The largest sum of outflow over air content of any cell of the whole area [1/s], where transport goes."""
        directions: dict[tuple[bool, bool], Directions] = {(True, False): "horizontal", (False, True): "vertical"}
        return self.forcing.outflow_rate(seconds, directions.get((self._shape.horizontal, self._shape.vertical), "all"))

    def _move_once(self, begin: float, step: float) -> list[Moved]:
        inside, middle, end = begin + 0.5 * step, begin + GAMMA * step, begin + step
        packed, emission = self.emission(begin, step) if self._shape.vertical else (None, np.zeros(self._species))
        state, weights = self.stepper.state, one_step_weights(step)

        def stage(start: float, until: float, weights: StageWeights) -> Moved:
            column = None if packed is None else self._column(until, inside, packed)
            forcing = StepForcing(weights, self.forcing.transport_within(start, inside), column)
            sums = self.stepper.step(weights, forcing.transport, column)
            return Moved(weights, sums, emission, self._taken(start, until, inside, forcing))

        first = stage(begin, middle, weights[0])
        if packed is None:
            return [first, stage(middle, end, weights[1])]
        kept = state.tendency.copy(), state.air_tendency.copy()
        second = stage(middle, end, weights[1])
        if self._any_rank(self._clips_much(second.sums)):
            state.rotate()  # the levels before the second stage, of which the older one is not asked any more
            state.tendency[...], state.air_tendency[...] = kept
            second = stage(middle, end, one_step_weights(step, again=True)[1])
        return [first, second]

    def _clips_much(self, sums: Array) -> bool:
        """Whether more of a species was made by clipping than :data:`MOST_CLIPPED` of what there is."""
        clipped = sums[TERMS.index("clipped")]
        if not clipped.any():
            return False
        state, used = self.stepper.state, used_lanes(self.stepper.layout)
        return bool(np.any(clipped > MOST_CLIPPED * self.stepper.total(sums_of(state.q, state.air * used))))

    def _taken(self, begin: float, end: float, inside: float, forcing: StepForcing) -> Taken | None:
        if not self.tells:
            return None
        emission = () if forcing.column is None else ((self.sources.begin_of(inside), 1.0),)
        taken = Taken(begin, end, forcing, emission)
        return taken if self._light is None else taken.lasting()

    def _column(self, seconds: float, inside: float, emission: AnyArray) -> ColumnForcing:
        interval = self.forcing.interval(self.forcing.index_at(inside))
        weight, light = interval.weight(seconds), self._light
        sun = self._dark if light is None else light.at([seconds], interval.pair("cloud"), [weight])[0]
        return ColumnForcing(
            interval.pair("temperature"), interval.pair("water"), weight, emission, sun,
            fields=interval.fields(self.forcing.processes.implicit_fields), numbers=self.forcing.processes.changed,
        )  # fmt: skip

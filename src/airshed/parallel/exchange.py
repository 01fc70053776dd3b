"""Communication between transport and chemistry ranks: orders, mixing ratios, air, sums, times."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.groups import Groups
from airshed.parallel.redistribution import Plan, Redistribution, make_plan, measure
from airshed.parallel.redistribution.costs import Prediction, predict, predictions
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.mover import messages_of
from airshed.parallel.waiting import all_of

Array = npt.NDArray[np.float64]

MOVE: Final = 0.0
RELOAD: Final = 1.0
END: Final = 2.0


@dataclass
class Times:
    """Times of all steps so far [s], and their number.

    out, back  redistributions, from the last rank's arrival to the end, without waiting
    moving     of the slowest transport rank
    """

    steps: int = 0
    out: float = 0.0
    back: float = 0.0
    moving: float = 0.0


class Exchange:
    """All communication of this rank between the two groups; every rank makes one, at the same time.

    layout    of the packed state of the whole area
    apart     whether transport ranks hold single levels; their air is then updated before each move
    strategy  of the redistribution: "auto" for the one with the shortest predicted time
    line      cost of a message between two ranks
    predicted [s] of redistributions to the transport ranks and back
    wall      [s] spent here so far, with waiting for the other group
    Raises CaseError if there are not enough ranks for a strategy.
    """

    def __init__(
        self, groups: Groups, decomposition: Decomposition, layout: Layout, species: int, levels: int,
        strategy: str = "auto", *, apart: bool = False,
    ) -> None:  # fmt: skip
        self.groups, self.apart, self.times, self.wall = groups, apart, Times(), 0.0
        self._pairs = (species, levels) if apart else (species,)
        self._messages = messages_of(groups.world)
        rows, blocks, dtype = layout.rows, layout.blocks, layout.dtype
        rest = species, levels, layout.width
        if groups.moves:
            own = groups.mine(species, levels, apart=apart)
            self._own = (own.species, own.levels) if apart else (own.species,)
        columns = groups.columns(decomposition, blocks, rest, dtype)
        planes = groups.planes(rows, blocks, rest, dtype, apart=apart)
        costs = measure(self._messages, columns, planes)
        there = _chosen(columns, planes, predictions(columns, planes, costs), strategy)
        back = there.plan.inverse()
        self.plan: Plan = there.plan
        self.predicted = there.seconds, predict(back, costs).seconds
        self.line = costs.within
        self._there, self._back = (Redistribution(self._messages, plan) for plan in (there.plan, back))
        tiles = groups.columns(decomposition, blocks, rest[1:], dtype)
        plans = [make_plan(tiles, held) for held in groups.air(rows, blocks, rest, dtype, apart=apart)]
        self._air_there = [Redistribution(self._messages, plan) for plan in plans]
        self._air_back = Redistribution(self._messages, plans[0].inverse())
        self._spent = [0.0, 0.0]

    def close(self) -> None:
        """Free the communicator of the messages; all ranks do."""
        self._messages.close()

    def order(self, what: float, begin: float = 0.0, end: float = 0.0) -> None:
        """Send the next order to the transport ranks; the first rank does, the others need not."""
        handle = self.groups.world.handle
        if handle is None or self.groups.same or self.groups.world.rank != 0:
            return
        for rank in self.groups.transport:
            handle.Send(np.array([what, begin, end]), rank)

    def next_order(self) -> tuple[float, float, float]:
        """Return the next order with its interval; sleeps while waiting for it."""
        handle, order = self.groups.world.handle, np.empty(3)
        assert handle is not None
        all_of([handle.Irecv(order, 0)])
        what, begin, end = order.tolist()
        return what, begin, end

    def to_transport(
        self, columns: AnyArray | None, planes: AnyArray | None, air: AnyArray | None, air_there: AnyArray | None
    ) -> None:
        """Redistribute mixing ratios, and air if levels are apart, from tiles to planes; None for what is not here."""
        began = time.perf_counter()
        self._there(columns, planes)
        self._spent[0] = self._there.seconds
        if self.apart:
            self.load_air(air, air_there)
        self.wall += time.perf_counter() - began

    def to_chemistry(
        self, planes: AnyArray | None, columns: AnyArray | None, air_there: AnyArray | None, air: AnyArray | None
    ) -> None:
        """Redistribute mixing ratios, and the air of the ranks with the first species, to tiles."""
        began = time.perf_counter()
        self._back(planes, columns)
        self._spent[1] = self._back.seconds
        self._air_back(self._held(air_there, self._air_there[0]), air)
        self.wall += time.perf_counter() - began

    def load_air(self, air: AnyArray | None, air_there: AnyArray | None) -> None:
        """Send the air of tiles to all transport ranks."""
        for bring in self._air_there:
            bring(air, self._held(air_there, bring))

    def share_sums(self, stages: int, terms: int, mine: Sequence[Array] | None, moving: float = 0.0) -> Array:
        """Return the sums (stage, term, species) of all transport ranks, on all ranks; each gives those of its planes.

        Where levels are apart they are (stage, term, species, level).
        Where all but one have zeros, integers of the same bits add up exactly. Times go with them.
        """
        began = time.perf_counter()
        sums = np.zeros((stages, terms, *self._pairs))
        if mine is not None:
            sums[(..., *self._own)] = np.stack(mine)
        times = np.zeros((self.groups.world.size, 3))
        times[self.groups.world.rank] = *self._spent, moving
        bits = np.concatenate([sums.ravel(), times.ravel()]).view(np.int64)
        found = self.groups.world.total(bits).view(np.float64)
        self._add_times(found[sums.size :].reshape(times.shape))
        self.wall += time.perf_counter() - began
        return found[: sums.size].reshape(sums.shape)

    def _add_times(self, times: Array) -> None:
        """Reduce times over ranks: the rank that came last to a redistribution did not wait."""
        out, back, _ = times.min(axis=0).tolist()
        self.times.steps += 1
        self.times.out, self.times.back = self.times.out + out, self.times.back + back
        self.times.moving += float(times[:, 2].max())

    def _held(self, air_there: AnyArray | None, bring: Redistribution) -> AnyArray | None:
        """The air of a rank of TRANS, where it is one of those that a redistribution brings it to."""
        return air_there if self.groups.world.rank in bring.plan.target.ranks else None


def _chosen(source: Distribution, target: Distribution, found: list[Prediction], strategy: str) -> Prediction:
    """The fastest of all, or of one strategy."""
    fitting = [each for each in found if strategy in ("auto", each.plan.strategy)]
    if not fitting:
        raise CaseError(
            f'parallel.groups.strategy = "{strategy}" needs two ranks in both groups; '
            f"there are {len(source.ranks)} and {len(target.ranks)}"
        )
    return fitting[0]

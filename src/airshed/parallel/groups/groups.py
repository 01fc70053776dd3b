"""Two groups of ranks, one for transport and one for chemistry.

A chemistry rank holds a tile of whole columns. A transport rank holds some species in the whole area, on all levels or,
if levels are distributed, on some of them. This follows the two machines of Segall et al. (Environmental modeling on
the C90-T3D heterogeneous system). The two distributions of the packed mixing ratios [lat][block][species][level][W] are
input to ``parallel.redistribution``.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import counted, there_are
from airshed.parallel.communicator import Communicator, free, split
from airshed.parallel.decomposition import Decomposition, even_cuts
from airshed.parallel.redistribution import Distribution


@dataclass(frozen=True)
class Planes:
    """Planes of one rank: some species on some levels."""

    species: slice
    levels: slice

    @property
    def work(self) -> int:
        """Work of advection in planes: the air of a level, with its fluxes, counts as one species."""
        return int(self.species.stop - self.species.start + 1) * int(self.levels.stop - self.levels.start)


def most_ranks(species: int, levels: int, split_levels: bool) -> int:
    """Return the largest number of ranks for the planes; levels that are not distributed stay on one rank."""
    return species * levels if split_levels else species


@cache  # for each application of a formula
def cut_planes(species: int, levels: int, ranks: int, *, split_levels: bool) -> tuple[tuple[Planes, ...], ...]:
    """Return the planes of all ranks: spans of species, each divided into spans of levels, one per rank.

    The partition minimises the work of the busiest rank. Among equal partitions it has the most spans of species, as
    all levels of a species are contiguous in memory.

    split_levels   whether levels can be on different ranks; otherwise each span of species has one rank
    raises  ValueError for more ranks than :func:`most_ranks`
    """
    fewest = 1 if split_levels else ranks
    possible = [_cut(species, levels, ranks, groups) for groups in range(min(species, ranks), fewest - 1, -1)]
    fitting = [cut for cut in possible if cut is not None]
    if not fitting:
        raise ValueError(f"{ranks} ranks cannot share {species} species x {levels} levels")
    return min(fitting, key=lambda cut: max(each.work for span in cut for each in span))


def _cut(species: int, levels: int, ranks: int, spans: int) -> tuple[tuple[Planes, ...], ...] | None:
    """Return a partition into so many spans of species, sized by their ranks; None if there are too few levels."""
    members = [after - before for before, after in pairwise(even_cuts(ranks, spans))]
    if max(members) > levels:
        return None
    edges = [species * before // ranks for before in accumulate(members, initial=0)]
    if len(set(members)) == 1:
        edges = list(even_cuts(species, spans))
    if any(first == last for first, last in pairwise(edges)):
        return None
    return tuple(
        tuple(Planes(slice(*numbers), slice(*pair)) for pair in pairwise(even_cuts(levels, count)))
        for numbers, count in zip(pairwise(edges), members, strict=True)
    )


Members = int | Literal["same"]
GroupName = Literal["transport", "chemistry"]


@dataclass(frozen=True)
class Groups:
    """Ranks of both groups; those of chemistry come first and include rank 0 of the world.

    world      all ranks
    chemistry, transport  rank numbers of both groups, disjoint or identical
    own        communicator of this rank's group
    """

    world: Communicator
    chemistry: tuple[int, ...]
    transport: tuple[int, ...]
    own: Communicator

    @classmethod
    def of(cls, world: Communicator, transport: Members, chemistry: int) -> Self | None:
        """Return the groups of the given sizes; None if both are 0. Collective.

        transport  "same" puts every rank in both groups
        Raises CaseError if the sizes do not add up to the number of ranks.
        """
        if transport == 0 and chemistry == 0:
            return None
        everybody = tuple(range(world.size))
        if transport == "same":
            if chemistry not in (0, world.size):
                raise CaseError(
                    f'parallel.groups.chemistry = {chemistry}, but with transport = "same" all {world.size} ranks have '
                    "chemistry; leave it out"
                )
            return cls(world, everybody, everybody, world)
        _check(world.size, transport, chemistry)
        own = split(world, int(world.rank >= chemistry))
        return cls(world, everybody[:chemistry], everybody[chemistry:], own)

    def close(self) -> None:
        """Free the communicator of the group; collective, without communication afterwards."""
        free(self.own, self.world)

    @property
    def by_name(self) -> dict[GroupName, tuple[int, ...]]:
        """Rank numbers of both groups."""
        return {"transport": self.transport, "chemistry": self.chemistry}

    @property
    def same(self) -> bool:
        """True if every rank is in both groups."""
        return self.chemistry == self.transport

    @property
    def transports(self) -> bool:
        """True on a transport rank."""
        return self.world.rank in self.transport

    def own_planes(self, species: int, levels: int, *, split_levels: bool) -> Planes:
        """Return the planes of this rank."""
        everything = [planes for span in self._cut(species, levels, split_levels) for planes in span]
        return everything[self.transport.index(self.world.rank)]

    def gather_sums(self, sums: npt.NDArray[np.float64], species: int, levels: int) -> npt.NDArray[np.float64]:
        """Return sums (term, species) of all transport ranks from those of their species; collective.

        With distributed levels the sums are (term, species, level). Integers of the same bits add exactly if all ranks
        but one have zeros.
        """
        pairs = (species, levels)[: sums.ndim - 1]
        own = self.own_planes(species, levels, split_levels=sums.ndim == 3)
        whole = np.zeros((len(sums), *pairs))
        whole[(slice(None), own.species, own.levels)[: sums.ndim]] = sums
        return self.own.total(whole.ravel().view(np.int64)).view(np.float64).reshape(whole.shape)

    def columns(
        self, decomposition: Decomposition, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike
    ) -> Distribution:
        """Return the distribution over chemistry ranks of a packed array: [lat][block] and the remaining axes."""
        parts = {
            rank: (slice(*tile.rows), slice(*tile.blocks), *(slice(length) for length in rest))
            for rank, tile in zip(self.chemistry, decomposition.tiles(), strict=True)
        }
        return Distribution((decomposition.rows, blocks, *rest), parts, dtype)

    def planes(
        self, rows: int, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike, *, split_levels: bool
    ) -> Distribution:
        """Return the distribution over transport ranks of a packed array: all columns of some species and levels."""
        species, levels, width = rest
        everything = [planes for span in self._cut(species, levels, split_levels) for planes in span]
        parts = {
            rank: (slice(rows), slice(blocks), each.species, each.levels, slice(width))
            for rank, each in zip(self.transport, everything, strict=True)
        }
        return Distribution((rows, blocks, *rest), parts, dtype)

    def air(
        self, rows: int, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike, *, split_levels: bool
    ) -> list[Distribution]:
        """Return the distributions of the packed air of the levels of `rest`, for each span of species."""
        species, levels, width = rest
        ranks = iter(self.transport)
        return [
            Distribution(
                (rows, blocks, levels, width),
                {next(ranks): (slice(rows), slice(blocks), each.levels, slice(width)) for each in span},
                dtype,
            )
            for span in self._cut(species, levels, split_levels)
        ]

    def check_species(self, species: int, levels: int, *, split_levels: bool) -> None:
        """Raise CaseError if there are more transport ranks than parts of the species and levels.

        Levels cannot be distributed if vertical mixing couples all of them in the same step.
        """
        most = most_ranks(species, levels, split_levels)
        if len(self.transport) <= most:
            return
        what = f"{species} species in {levels} levels" if split_levels else f"{species} species"
        why = "each of which stays on one rank" if not split_levels else "each level of each on one rank"
        remedy = (
            f"start at most {most}, or leave out parallel.groups" if self.same else
            f"set parallel.groups.transport to at most {most}, and give the other ranks to chemistry"
        )  # fmt: skip
        more = "" if split_levels else '; levels are distributed as well with transport.vertical = "with chemistry"'
        raise CaseError(
            f"parallel.groups: {len(self.transport)} ranks cannot share the transport of {what}, {why}; {remedy}{more}"
        )

    def refuse_changes(self, names: Collection[str]) -> None:
        """Raise CaseError for changed parameters of processes, which transport ranks do not receive."""
        if names:
            raise CaseError(f"{', '.join(names)} cannot change while ranks are in groups (parallel.groups)")

    def _cut(self, species: int, levels: int, split_levels: bool) -> tuple[tuple[Planes, ...], ...]:
        self.check_species(species, levels, split_levels=split_levels)
        return cut_planes(species, levels, len(self.transport), split_levels=split_levels)


def _check(ranks: int, transport: int, chemistry: int) -> None:
    if transport == 0 or chemistry == 0:
        missing, other = ("transport", "chemistry") if transport == 0 else ("chemistry", "transport")
        raise CaseError(
            f"parallel.groups gives ranks to {other} alone; give {missing} some too, or leave out both for no groups"
        )
    if transport + chemistry != ranks:
        raise CaseError(
            f"parallel.groups requires {counted(transport, 'rank')} for transport and {chemistry} for chemistry, "
            f"but {there_are(ranks)}; start {transport + chemistry} (airshed run CASE -n {transport + chemistry})"
        )

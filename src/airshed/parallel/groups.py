"""Two groups of ranks, one for each phase of a run: what moves air and species, and what chemistry does to cells.

CHEM holds tiles of whole columns, TRANS some species in the whole area each, with all their levels: what Segall et al.
(Environmental modeling on the C90-T3D heterogeneous system) run on two machines. The two distributions of the packed
mixing ratios [lat][block][species][level][W] are data for ``parallel.redistribution``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Self, cast

import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.words import counted, there_are
from airshed.parallel.communicator import Alone, Communicator, MpiRanks
from airshed.parallel.decomposition import Decomposition, even_cuts
from airshed.parallel.redistribution import Distribution

if TYPE_CHECKING:
    from mpi4py import MPI

Members = int | Literal["same"]


@dataclass(frozen=True)
class Groups:
    """Which ranks of a world have which phase; chemistry's come first, and rank 0 of the world is theirs.

    world      all ranks
    chemistry, transport  the numbers of the ranks of both groups, apart from each other or the same
    own        the communicator of the group that this rank is in
    """

    world: Communicator
    chemistry: tuple[int, ...]
    transport: tuple[int, ...]
    own: Communicator

    @classmethod
    def of(cls, world: Communicator, transport: Members, chemistry: int) -> Self | None:
        """Return the groups of so many ranks; None where both numbers are 0. All ranks call this together.

        transport  "same" lets every rank have both phases
        Raises CaseError where the numbers do not add up to the ranks that there are.
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
        assert world.handle is not None
        moves = world.rank >= chemistry
        part = cast("MPI.Intracomm", world.handle.Split(int(moves), world.rank))
        own: Communicator = MpiRanks(part)
        if own.size == 1:
            part.Free()
            own = Alone()
        return cls(world, everybody[:chemistry], everybody[chemistry:], own)

    def close(self) -> None:
        """Give the communicator of the group back to MPI; all its ranks do, and do not speak to each other any more."""
        if self.own is not self.world and self.own.handle:  # a communicator that was given back is false
            self.own.handle.Free()

    @property
    def same(self) -> bool:
        """Whether every rank has both phases."""
        return self.chemistry == self.transport

    @property
    def moves(self) -> bool:
        """Whether this rank moves species."""
        return self.world.rank in self.transport

    def species(self, count: int) -> slice:
        """Return the numbers of the species that this rank moves, of so many."""
        return self._cut(count)[self.transport.index(self.world.rank)]

    def columns(
        self, decomposition: Decomposition, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike
    ) -> Distribution:
        """Return who of CHEM holds what of a packed array of so many blocks in a row, [lat][block] and the rest."""
        parts = {
            rank: (slice(*tile.rows), slice(*tile.blocks), *(slice(length) for length in rest))
            for rank, tile in zip(self.chemistry, decomposition.tiles(), strict=True)
        }
        return Distribution((decomposition.rows, blocks, *rest), parts, dtype)

    def planes(self, rows: int, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike) -> Distribution:
        """Return who of TRANS holds what of a packed array: all columns of some of `rest[0]` species."""
        columns = (slice(rows), slice(blocks))
        parts = {
            rank: (*columns, numbers, *(slice(length) for length in rest[1:]))
            for rank, numbers in zip(self.transport, self._cut(rest[0]), strict=True)
        }
        return Distribution((rows, blocks, *rest), parts, dtype)

    def first_of_transport(self, rows: int, blocks: int, rest: Sequence[int], dtype: npt.DTypeLike) -> Distribution:
        """Return the distribution that leaves a whole array with the first rank of TRANS: that of the air."""
        shape = (rows, blocks, *rest)
        return Distribution(shape, {self.transport[0]: tuple(slice(length) for length in shape)}, dtype)

    def check_species(self, count: int) -> None:
        """Raise CaseError where so many species are fewer than the ranks that move them: a species stays in one piece.

        Its levels cannot be shared out, since vertical mixing couples all of them at once.
        """
        if len(self.transport) <= count:
            return
        remedy = (
            f"start at most {count}, or leave out parallel.groups" if self.same else
            f"set parallel.groups.transport to at most {count}, and give the other ranks to chemistry"
        )  # fmt: skip
        raise CaseError(
            f"parallel.groups: {len(self.transport)} ranks cannot share the transport of {count} species, "
            f"each of which stays on one rank; {remedy}"
        )

    def _cut(self, species: int) -> list[slice]:
        self.check_species(species)
        cuts = even_cuts(species, len(self.transport))
        return [slice(*pair) for pair in pairwise(cuts)]


def _check(ranks: int, transport: int, chemistry: int) -> None:
    if transport == 0 or chemistry == 0:
        missing, other = ("transport", "chemistry") if transport == 0 else ("chemistry", "transport")
        raise CaseError(
            f"parallel.groups gives ranks to {other} alone; give {missing} some too, or leave out both for no groups"
        )
    if transport + chemistry != ranks:
        raise CaseError(
            f"parallel.groups wants {counted(transport, 'rank')} for transport and {chemistry} for chemistry, "
            f"but {there_are(ranks)}; start {transport + chemistry} (airshed run CASE -n {transport + chemistry})"
        )

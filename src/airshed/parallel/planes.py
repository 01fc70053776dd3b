"""Partition of species and levels for transport ranks: one rectangle of whole planes for each rank."""

from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

from airshed.parallel.decomposition import even_cuts


@dataclass(frozen=True)
class Planes:
    """The planes of one rank: some species in some levels."""

    species: slice
    levels: slice

    @property
    def work(self) -> int:
        """The work of moving them, in planes: the air of a level, with its fluxes, counts as one species."""
        return int(self.species.stop - self.species.start + 1) * int(self.levels.stop - self.levels.start)


def most_ranks(species: int, levels: int, apart: bool) -> int:
    """Return the largest number of ranks for so many planes; levels that are not apart stay on one rank."""
    return species * levels if apart else species


@cache  # for each application of a formula
def cut_planes(species: int, levels: int, ranks: int, *, apart: bool) -> tuple[tuple[Planes, ...], ...]:
    """Return the planes of all ranks: spans of species, each with one rank for each of its spans of levels.

    The partition minimises the work of the busiest rank; of equal ones it has the most spans of species, as all levels
    of a species are contiguous in memory.
    apart  whether levels can be on different ranks; else each span of species has one rank

    Raises ValueError for more ranks than :func:`most_ranks`.
    """
    fewest = 1 if apart else ranks
    possible = [_cut(species, levels, ranks, groups) for groups in range(min(species, ranks), fewest - 1, -1)]
    fitting = [cut for cut in possible if cut is not None]
    if not fitting:
        raise ValueError(f"{ranks} ranks cannot share {species} species x {levels} levels")
    return min(fitting, key=lambda cut: max(each.work for span in cut for each in span))


def _cut(species: int, levels: int, ranks: int, spans: int) -> tuple[tuple[Planes, ...], ...] | None:
    """A partition into so many spans of species, sized by their ranks; None if there are too few levels."""
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

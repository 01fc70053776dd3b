"""Cuts species and levels into one rectangle for each rank that moves them along whole planes."""

from dataclasses import dataclass
from itertools import accumulate, pairwise

from airshed.parallel.decomposition import even_cuts


@dataclass(frozen=True)
class Planes:
    """What one rank moves: the planes of some species in some levels."""

    species: slice
    levels: slice

    @property
    def work(self) -> int:
        """What moving them takes, in planes: the air of a level, with its fluxes, takes about as much as a species."""
        return int(self.species.stop - self.species.start + 1) * int(self.levels.stop - self.levels.start)


def most_ranks(species: int, levels: int, apart: bool) -> int:
    """Return how many ranks can share so many planes; levels that are not apart from each other stay on one rank."""
    return species * levels if apart else species


def cut_planes(species: int, levels: int, ranks: int, *, apart: bool) -> list[list[Planes]]:
    """Return what ranks move: spans of species, each with one rank for each of its own spans of levels.

    The rank with most work has as little as it can; of cuts that are alike in that, the one with most spans of
    species is taken, since all levels of a species lie one after the other in memory.
    apart  whether levels move each by itself; else each span of species has one rank

    Raises ValueError for more ranks than :func:`most_ranks`.
    """
    fewest = 1 if apart else ranks
    possible = [_cut(species, levels, ranks, groups) for groups in range(min(species, ranks), fewest - 1, -1)]
    fitting = [cut for cut in possible if cut is not None]
    if not fitting:
        raise ValueError(f"{ranks} ranks cannot share {species} species x {levels} levels")
    return min(fitting, key=lambda cut: max(each.work for span in cut for each in span))


def _cut(species: int, levels: int, ranks: int, spans: int) -> list[list[Planes]] | None:
    """So many spans of species, each with species for its ranks; None where there are too few levels."""
    members = [after - before for before, after in pairwise(even_cuts(ranks, spans))]
    if max(members) > levels:
        return None
    edges = [species * before // ranks for before in accumulate(members, initial=0)]
    if len(set(members)) == 1:
        edges = list(even_cuts(species, spans))
    if any(first == last for first, last in pairwise(edges)):
        return None
    return [
        [Planes(slice(*numbers), slice(*pair)) for pair in pairwise(even_cuts(levels, count))]
        for numbers, count in zip(pairwise(edges), members, strict=True)
    ]

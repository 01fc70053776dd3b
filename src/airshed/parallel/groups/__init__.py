"""Transport and chemistry on two groups of ranks, see docs/how-to/parallel.md."""

from airshed.parallel.groups.exchange import Allgather, Exchange, LevelSelection, allgather_cuts
from airshed.parallel.groups.groups import Groups, Planes, cut_planes, most_ranks

__all__ = ["Allgather", "Exchange", "Groups", "LevelSelection", "Planes", "allgather_cuts", "cut_planes", "most_ranks"]

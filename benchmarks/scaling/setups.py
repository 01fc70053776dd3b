"""The measured setups: the unchanged case, half the spacing, and every second layer."""

from collections.abc import Sequence
from itertools import pairwise

from airshed.core.errors import CaseError
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.models.air.case import Case
from airshed.parallel.decomposition import Decomposition
from benchmarks.scaling.measure import Setup

SMALL, LARGE, THIN = "small", "large", "thin"


def setups(name: str, ranks: Sequence[int]) -> dict[str, list[Setup]]:
    """Return the setups by size: unchanged, four times the columns, half the layers; raises CaseError.

    The setup with half the layers, on one and two ranks, separates the cost of a column from that of its cells.
    """
    if sorted(set(ranks)) != list(ranks) or ranks[0] != 1:
        raise CaseError(f"--ranks {','.join(map(str, ranks))}: give increasing numbers from 1 on, such as 1,2,4")
    case = Case.load(name)
    check_shared(name, ranks)
    layers = ", ".join(f'"{top.text}"' for top in case.grid.layers[1::2])
    changes = {SMALL: (), LARGE: (_finer(case),), THIN: (f"grid.layers=[{layers}]",)}
    chosen = {SMALL: ranks, LARGE: ranks, THIN: [each for each in ranks if each <= 2]}
    return {
        size: [Setup(name, size_of(name, changes[size]), each, changes[size]) for each in chosen[size]]
        for size in (SMALL, LARGE, THIN)
    }


def check_shared(name: str, ranks: Sequence[int]) -> None:
    """Raise CaseError before the start where a case has too few columns for a number of ranks."""
    _, rows, columns = Case.load(name).make_grid().shape
    for each in ranks:
        Decomposition.of(rows, columns, WIDTH, each)


def size_of(name: str, overrides: Sequence[str]) -> str:
    """Return the size of a grid as text: columns from west to east, from south to north, layers."""
    levels, rows, columns = Case.load(name, overrides).make_grid().shape
    return f"{columns} x {rows} x {levels}"


def halves(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of numbers of ranks whose second is twice the first."""
    return [(few, many) for few, many in pairwise(ranks) if many == 2 * few]


def _finer(case: Case) -> str:
    lon, lat = (0.5 * each.value for each in (case.grid.spacing.lon, case.grid.spacing.lat))
    return f'grid.spacing={{ lon = "{lon!r} deg", lat = "{lat!r} deg" }}'

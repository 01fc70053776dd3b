"""Where the time of a run went."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from airshed.core.report import Cell, Table
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.domain import Domain
from airshed.runtime.model import Model, Timings

Array = npt.NDArray[np.float64]
_SUMS = "sums over ranks"


def wall_time(model: Model, spent: Mapping[str, float], sums: float, written: str) -> Table:
    """Return a table of wall times [s]: of threads their mean, of ranks their mean; all ranks ask together.

    spent    preparation, "forcing and steps", output and restarts
    sums     of the steps' time, what this rank waited for in sums over ranks
    written  what there is to say of files
    """
    timings, domain = model.timings(), model.domain
    parts = dict(timings.parts)
    if not domain.alone:
        parts[_SUMS] = sums
    rest = {"forcing and control": max(spent["forcing and steps"] - sum(parts.values()), 0.0)}
    rows = {name: spent[name] for name in ("preparation", "output and restarts")} | rest | parts
    mean = domain.total(np.array([list(rows.values())])) / domain.ranks.size
    total = max(float(mean.sum()), 1e-9)
    cells: list[tuple[Cell, ...]] = [
        (name, seconds, round(100.0 * seconds / total, 1)) for name, seconds in zip(rows, mean.tolist(), strict=True)
    ]
    notes = [] if domain.alone else [f"mean of {domain.ranks.size} ranks; {_imbalance(domain, timings, mean, rows)}"]
    notes += timings.notes
    note = "; ".join([*notes, written] if written else notes)
    return Table("Wall time", ("process", "time [s]", "share [%]"), [*cells, ("total", total, 100.0)], note)


def waited_for_sums(model: Model) -> float:
    """Return the time [s] that this rank has spent in sums over ranks so far, also outside of steps."""
    ranks = model.domain.ranks
    return ranks.wait if isinstance(ranks, MpiRanks) else 0.0


def _imbalance(domain: Domain, timings: Timings, mean: Array, rows: Mapping[str, float]) -> str:
    """By how much the busiest rank computed longer than all did in the mean."""
    own = np.array([name not in (*timings.waiting, _SUMS) for name in rows])
    mine = float(np.array(list(rows.values()))[own].sum())
    return f"imbalance {100.0 * (domain.greatest(mine) / float(mean[own].sum()) - 1.0):.1f} %"

"""Runs on a cluster, simulated with the costs that were measured here."""

from dataclasses import dataclass

from airshed.kernels.cpu.pipeline import WIDTH
from airshed.parallel.decomposition import Decomposition
from benchmarks.scaling.model import Disk, Load, Machine, Network

CLUSTER = Network(latency=2e-6, bandwidth=10e9)
"""Assumed of a cluster: what InfiniBand and its like have had for years; one rank for each core, none shares a link."""
FILE_SYSTEM = 5e9
"""Assumed of its parallel file system, all ranks together [byte/s]."""

_PREDICTED = ((64, 64), (256, 256), (1024, 1024))
MOST = 10_000


@dataclass(frozen=True)
class Prediction:
    """A simulated run; times of a step [s], of a simulated hour [s] without and with a record of all species.

    gathered  the record is written by one rank while all wait;  behind  by all ranks, while they compute
    """

    grid: str
    ranks: int
    columns: int
    step: float
    communication: float
    speedup: float
    hour: float
    gathered: float
    behind: float


def predictions(machine: Machine, levels: int, species: int, written: float, steps: float) -> list[Prediction]:
    """Return runs on a cluster, on grids of several sizes, up to 10,000 ranks; `steps` are those of an hour."""
    found = []
    for rows, columns in _PREDICTED:
        alone = machine.step(Load.of(Decomposition.of(rows, columns, WIDTH, 1), levels, species)).total
        cells = rows * columns * levels
        for ranks in _rising(rows * columns // (2 * WIDTH)):
            load = Load.of(Decomposition.of(rows, columns, WIDTH, ranks), levels, species)
            parts = machine.step(load, CLUSTER)
            hour = parts.total * steps
            slow = Disk(4.0 * species, written).wait(cells, hour, behind=False)
            fast = Disk(4.0 * species, FILE_SYSTEM).wait(cells, hour, behind=True)
            found.append(
                Prediction(
                    f"{columns} x {rows} x {levels}", ranks, load.columns, parts.total,
                    (parts.halo + parts.sums) / parts.total, alone / parts.total, hour, hour + slow, hour + fast,
                )
            )  # fmt: skip
    return found


def _rising(most: int) -> list[int]:
    powers = [2**power for power in range(14) if 2**power <= min(most, MOST)]
    return [*powers, MOST] if most >= MOST else powers

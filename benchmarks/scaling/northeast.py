"""A region of the size simulated by a Cray C90 and a T3D in 1995: a day of the north-eastern USA.

Segall, Walker, Steenkiste and Russell give 4.7 MB for their array C (species x layers x nodes). They aim at 24 hours of
the region in 15 minutes on both machines together. 4.7 MB are 587 500 numbers of 8 bytes. With 35 species and five
layers, which are assumed because the paper does not give them, this is about 3 360 nodes. The grid here has 60 x 56
columns of five layers, with the air and emission of the synthetic benchmark and all 66 species: 1.9 times as many
numbers. A second grid has 18 layers.
"""

import time
from typing import Any, Final

from airshed.core.report import Cell, Table
from airshed.grid.grid import DEFAULT_LAYER_TOPS
from airshed.kernels.host import usable_cores
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation

THEIR_BYTES: Final = 4.7e6
THEIR_MINUTES: Final = 15.0
LON, LAT = (-85.0, -67.0), (36.0, 46.08)
TOWN = (-76.0, -73.0), (40.0, 42.0)
COLUMNS = (60, 56)
FIVE = (50.0, 200.0, 600.0, 1500.0, 3000.0)
_HOURS = 2.0
_DAY = 24.0


def region(case: str, tops: tuple[float, ...]) -> Case:
    """Return a case over the north-eastern USA with these layers, derived from the synthetic one."""
    data: dict[str, Any] = Case.load(case).to_dict()
    spacing = [(edges[1] - edges[0]) / count for edges, count in zip((LON, LAT), COLUMNS, strict=True)]
    data["grid"] = {
        "area": {"lon": list(LON), "lat": list(LAT)},
        "spacing": {"lon": f"{spacing[0]!r} deg", "lat": f"{spacing[1]!r} deg"},
        "layers": [f"{top:g} m" for top in tops],
    }
    for source, box in zip(data["emissions"]["area"], ((LON, LAT), TOWN), strict=True):
        source["lon"], source["lat"] = list(box[0]), list(box[1])
    data["time"] |= {"start": "2022-07-01T12:00:00Z", "length": f"{_HOURS:g} h"}
    data["run"]["threads"] = usable_cores()
    return Case.from_dict(data)


def northeast(case: str) -> Table:
    """Measure hours of such a region on all cores, and return the time of a day [s]."""
    rows: list[tuple[Cell, ...]] = []
    for tops in (FIVE, DEFAULT_LAYER_TOPS):
        with Simulation(region(case, tops)) as simulation:
            simulation.step()  # fills caches
            done, began = simulation.seconds, time.perf_counter()
            simulation.run()
            taken = (time.perf_counter() - began) * _DAY * 3600.0 / (simulation.seconds - done)
            cells, species = simulation.model.domain.cells, len(simulation.model.network.species)
        rows.append((
            f"{COLUMNS[0]} x {COLUMNS[1]} x {len(tops)}", species, cells * species * 8.0 / 1e6, taken,
            THEIR_MINUTES * 60.0 / taken,
        ))  # fmt: skip
    columns = ("grid", "species", "C [MB]", "24 hours take [s]", "faster than 15 minutes by")
    note = (
        f"the array C of the paper has {THEIR_BYTES / 1e6:g} MB; here on {usable_cores()} cores, without output, "
        f"from {_HOURS:g} hours "
        "of daylight after the first step"
    )
    return Table("A region of the size of the north-eastern USA", columns, rows, note)

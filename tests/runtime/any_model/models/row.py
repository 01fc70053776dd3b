"""A row of ponds without neighbours, which ranks divide: each has its depth, by a chaotic map."""

from typing import Any, Literal

import numpy as np

from airshed.case.case import RunCase
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.settings import Whole, setting
from airshed.grid.axes import Axes, Coordinate
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.runtime.model import PlainModel, SavedState, Snapshot
from airshed.runtime.registry import BuiltModel, ModelKind


class RowCase(RunCase):
    """A case of it."""

    model: Literal["row"] = "row"
    ponds: Whole = setting(7, "How many there are.", ge=1)


class Row(PlainModel):
    """h <- 3.99 h (1 - h) in each step of 100 s; two layers of water, of which the lower one has half the depth."""

    def __init__(self, case: RowCase, ranks: Communicator) -> None:
        super().__init__()
        pond = Coordinate("pond", np.arange(case.ponds, dtype=float), {"long_name": "number of the pond"})
        west = Coordinate("lon", 5.0 + pond.values, {"units": "degrees_east"}, dims=("pond",))
        layer = Coordinate("layer", np.array([0.5, 1.5]), {"units": "m"}, bounds=np.array([[0.0, 1.0], [1.0, 2.0]]))
        self.domain = Domain.even(Axes((layer, pond, west), divided=("pond",)), ranks)
        water = FieldSpec("water", ("layer", "pond"), "m", "Water in a layer")
        self.fields = FieldRegistry([FieldSpec("depth", ("pond",), "m", "Depth", valid=(0.0, 1.0)), water])
        self.depth = self.domain.box.of(np.linspace(0.1, 0.9, case.ponds)).copy()

    def longest_step(self, until: float) -> float:
        return 100.0

    def step_to(self, seconds: float) -> None:
        self.depth = 3.99 * self.depth * (1.0 - self.depth)

    def view(self, name: str) -> Any:
        return self.depth if name == "depth" else np.stack([self.depth, 0.5 * self.depth])

    def save(self) -> Snapshot:
        return Snapshot({"depth": self.depth}, {}, self._moment())

    def restore(self, saved: SavedState) -> None:
        self.depth = saved.part("depth", self.domain.held)
        self._set_moment(saved)


def build(case: RowCase, ranks: Communicator, check: Any) -> BuiltModel:
    check(ranks)
    return BuiltModel(Row(case, ranks))


KIND = ModelKind(RowCase, build)

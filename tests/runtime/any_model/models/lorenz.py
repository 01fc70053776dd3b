"""The three equations of Lorenz: a model without space, as another package brings it."""

from typing import Any, Literal

import numpy as np

from airshed.case.case import RunCase
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.settings import Number, setting
from airshed.grid.axes import Axes
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.runtime.model import PlainModel, SavedState, Snapshot
from airshed.runtime.registry import BuiltModel, ModelKind


class LorenzCase(RunCase):
    """A case of it."""

    model: Literal["lorenz"] = "lorenz"
    rho: Number = setting(28.0, "How strongly it is heated.", unit="1", ge=0.0)


class Lorenz(PlainModel):
    """dx/dt = 10 (y - x), dy/dt = x (rho - z) - y, dz/dt = x y - 8/3 z, in seconds."""

    def __init__(self, case: LorenzCase, ranks: Communicator) -> None:
        super().__init__()
        self.domain, self._rho, self.state = Domain.even(Axes(), ranks), case.rho, np.array([1.0, 1.0, 1.0])
        self.fields = FieldRegistry([FieldSpec(name, (), "1", f"Lorenz's {name}", settable=True) for name in "xyz"])

    def longest_step(self, until: float) -> float:
        return 0.011

    def step_to(self, seconds: float) -> None:
        x, y, z = self.state
        tendency = [10.0 * (y - x), x * (self._rho - z) - y, x * y - 8.0 / 3.0 * z]
        self.state = self.state + (seconds - self.seconds) * np.array(tendency)

    def view(self, name: str) -> Any:
        return np.array(self.state["xyz".index(name)])

    def set(self, name: str, value: Any) -> None:
        self.state = np.where([each == name for each in "xyz"], float(value), self.state)

    def save(self) -> Snapshot:
        return Snapshot({}, {"state": self.state}, self._moment())

    def restore(self, saved: SavedState) -> None:
        self.state = saved.whole["state"]
        self._set_moment(saved)


def build(case: LorenzCase, ranks: Communicator, check: Any) -> BuiltModel:
    check(ranks)
    return BuiltModel(Lorenz(case, ranks))


KIND = ModelKind(LorenzCase, build)

"""One box of air: a mechanism alone, under conditions that are constants or formulas in time."""

from airshed.air.box.conditions import BoxConditions
from airshed.air.box.integrate import BoxRun, integrate_box

__all__ = ["BoxConditions", "BoxRun", "integrate_box"]

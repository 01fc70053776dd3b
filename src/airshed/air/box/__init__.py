"""Boxes of air: a mechanism alone, under conditions that are constants, formulas or columns of files in time."""

from airshed.air.box.conditions import BoxConditions
from airshed.air.box.failure import ChemistryFailure, Stopped, replay_conditions
from airshed.air.box.integrate import BoxRun, integrate_box
from airshed.air.box.states import CellStates, load_states, states_of

__all__ = [
    "BoxConditions",
    "BoxRun",
    "CellStates",
    "ChemistryFailure",
    "Stopped",
    "integrate_box",
    "load_states",
    "replay_conditions",
    "states_of",
]

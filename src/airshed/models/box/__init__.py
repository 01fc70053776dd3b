"""Boxes of air: a mechanism alone, under conditions that are constants, formulas or columns of files in time.

Reading order: ``conditions`` (the case), ``forcing`` (its values at any time), ``model`` (the model of the runtime),
``rosenbrock`` and ``gauss_seidel`` (the kinds of `cells` stages), ``run`` (`airshed box`).
"""

from airshed.models.box.conditions import BoxConditions
from airshed.models.box.states import CellStates, load_states, states_of

__all__ = [
    "BoxConditions",
    "CellStates",
    "load_states",
    "states_of",
]

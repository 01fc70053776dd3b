"""Box model: a mechanism without transport, with conditions from constants, formulas or columns of files.

Reading order: ``conditions`` (the case), ``forcing`` (its values at any time), ``model`` (the model of the runtime),
``rosenbrock`` and ``gauss_seidel`` (the kinds of `cells` stages), ``run`` (`airshed box`).
"""

from airshed.models.box.conditions import BoxConditions
from airshed.models.box.states import CellStates, load_states, states_from_dataset

__all__ = [
    "BoxConditions",
    "CellStates",
    "load_states",
    "states_from_dataset",
]

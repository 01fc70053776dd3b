"""Process declarations, operator kinds, and the discovery of processes.

The file of a process uses ``declaration``, ``kinds`` and ``updates``; ``context`` is the part of the case that it
receives; ``discovery`` finds it. ``bound_process`` and ``processes`` convert declarations to operators and forcing
inputs, ``points`` to the step of a point model, ``cell_updates`` to a stage of cells of the air-quality model.
``settable`` lists numbers that can be changed during a run. ``vertical`` has vertical air fluxes, Courant numbers,
weights on unequal layers, and turbulent exchange.
"""

from airshed.process.declaration import Process
from airshed.process.kinds import (
    at_instant,
    choice,
    choice_or_quantity,
    column_matrix,
    exchange,
    face_exchange,
    face_flux,
    loss,
    need,
    number,
    per_species,
    quantity,
    reactions,
    releases,
    setting,
    settling,
    source,
    switch,
    weather,
)
from airshed.process.updates import flux, state, update

__all__ = [
    "Process", "at_instant", "choice", "choice_or_quantity", "column_matrix", "exchange", "face_exchange",
    "face_flux", "flux", "loss", "need", "number", "per_species", "quantity", "reactions", "releases", "setting",
    "settling", "source", "state", "switch", "update", "weather",
]  # fmt: skip

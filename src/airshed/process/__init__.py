"""Process declarations, operator kinds, and the discovery of processes.

A process's file uses ``declaration``, ``kinds`` and ``updates``; ``context`` is the part of the case that it receives;
``discovery`` finds it. ``bound`` and ``processes`` convert declarations to operators and forcing inputs, ``points`` to
the step of a model of points, ``cell_updates`` to a stage of cells of the air; ``settable`` lists numbers that can be
set. ``vertical``: vertical air flux, Courant numbers, weights on unequal layers, turbulent exchange.
"""

from airshed.process.declaration import Process
from airshed.process.kinds import (
    at_instant,
    choice,
    choice_or_quantity,
    column_matrix,
    declared,
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
    sinking,
    source,
    switch,
    weather,
)
from airshed.process.updates import flux, state, update

__all__ = [
    "Process", "at_instant", "choice", "choice_or_quantity", "column_matrix", "declared", "exchange", "face_exchange",
    "face_flux", "flux", "loss", "need", "number", "per_species", "quantity", "reactions", "releases", "sinking",
    "source", "state", "switch", "update", "weather",
]  # fmt: skip

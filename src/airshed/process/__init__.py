"""What a process is: its declaration, the kinds of what it does, and how it is found.

``declaration``, ``kinds`` and ``updates`` are what a process's file uses, ``context`` is what it is given of the case;
``discovery`` finds it. ``bound`` and ``processes`` make of it what kernels and forcing request, ``points`` the step of
a model of points, ``cell_updates`` a stage of cells of the air, ``settable`` the numbers that can be set. ``vertical``
has the vertical air flux, Courant numbers, weights on unequal layers and turbulent exchange.
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

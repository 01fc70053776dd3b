"""Where the wall time of a model's steps went, by what computed and what waited."""

from typing import Final

from airshed.air.strang import Strang
from airshed.air.two_groups.remote_transport import RemoteTransport
from airshed.kernels.backend import Stepper

_NEIGHBOURS, _ELSEWHERE, _BALANCE = "waiting for neighbours", "transport on other ranks", "balance of chemistry"

WAITING: Final = (_NEIGHBOURS, _ELSEWHERE, _BALANCE)
"""Parts in which a rank does not compute."""


def wall(stepper: Stepper, strang: Strang | None) -> dict[str, float]:
    """Return the wall time of the parts of all steps so far [s]; what threads share as their mean."""
    steppers = [stepper, *([] if strang is None or strang.vertical is None else [strang.vertical.stepper])]
    parts = {name: sum(each.seconds[name] for each in steppers) / stepper.threads for name in stepper.seconds}
    if strang is not None and strang.chemistry is not None:
        parts["chemistry of cells"] = strang.chemistry.wall
        if strang.chemistry.balance is not None:
            parts[_BALANCE] = strang.chemistry.balance.wait
    if strang is not None and isinstance(strang.moving, RemoteTransport):
        parts[_ELSEWHERE] = strang.moving.exchange.wall
    return parts | ({} if stepper.neighbours is None else {_NEIGHBOURS: stepper.waited})


def wall_notes(strang: Strang | None) -> list[str]:
    """Return what there is to say of it: how work was balanced; all ranks ask together."""
    balance = None if strang is None or strang.chemistry is None else strang.chemistry.balance
    return [] if balance is None else [balance.summary()]

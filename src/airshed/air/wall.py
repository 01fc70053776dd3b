"""Where the wall time of a model's steps went, by what computed and what waited."""

from typing import Final

from airshed.kernels.backend import Stepper

NEIGHBOURS, ELSEWHERE, BALANCE = "waiting for neighbours", "transport on other ranks", "balance of chemistry"

WAITING: Final = (NEIGHBOURS, ELSEWHERE, BALANCE)
"""Parts in which a rank does not compute."""


def of_stepper(stepper: Stepper, *others: Stepper) -> dict[str, float]:
    """Return the wall time [s] of the parts of all steps so far, of a stepper and of others on the same threads.

    What threads share counts as their mean.
    """
    parts = {name: sum(each.seconds[name] for each in (stepper, *others)) / stepper.threads for name in stepper.seconds}
    return parts | ({} if stepper.neighbours is None else {NEIGHBOURS: stepper.waited})

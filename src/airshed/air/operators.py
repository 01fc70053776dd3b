"""Vertical mixing and dry deposition as operators of the compiled step."""

from collections.abc import Sequence
from typing import Final

from airshed.formula import trace
from airshed.kernels.step.operators import Operator, OperatorField

FIELDS: Final = ("exchange", "deposition")
"""Packed fields of an instant that they read."""

DEPOSITED: Final = "deposited"


def mixing() -> Operator:
    """Return the exchange of air by turbulence [mol/s]."""
    return Operator("mixing", "exchange", trace(lambda exchange: exchange).outputs, fields=(OperatorField("exchange"),))


def dry_deposition(species: Sequence[int]) -> tuple[Operator, ...]:
    """Return what the ground takes of some species, by conductances [mol/s]; nothing where there are none."""
    if not species:
        return ()
    rate = trace(lambda deposition, air: deposition / air).outputs
    fields = (OperatorField("deposition", "ground", species=True),)
    return (Operator("dry_deposition", "loss", rate, tuple(species), fields, ground=True, term=DEPOSITED),)


def operators(deposited: Sequence[int]) -> tuple[Operator, ...]:
    """Return all operators of a case."""
    return mixing(), *dry_deposition(deposited)

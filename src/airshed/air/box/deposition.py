"""What the ground takes out of boxes, as an operator of the compiled step."""

from collections.abc import Sequence

from airshed.formula import trace
from airshed.kernels.step.operators import Operator, OperatorField


def dry_deposition(species: Sequence[int]) -> tuple[Operator, ...]:
    """Return the loss of some species to the ground, by conductances [mol/s]; nothing where there are none."""
    if not species:
        return ()
    rate = trace(lambda deposition, air: deposition / air).outputs
    fields = (OperatorField("deposition", "ground", species=True),)
    return (Operator("dry_deposition", "loss", rate, tuple(species), fields, ground=True, term="deposited"),)

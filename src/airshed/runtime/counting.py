"""Counts the work of a compiled step: operations and bytes for one cell and step, from the generated code itself."""

from typing import Final

from airshed.kernels.pipeline import MechanismKernel

FACE: Final = 17
"""Operations of one limited face flux: 2 differences, 3 for the smooth slope, 4 minima and maxima, 2 bounds, 2 sums,
the flux, 3 choices by the direction of flow."""

TRANSPORT: Final = 3 * FACE + 6 + 7 + 4
"""Operations of transport per species: three faces, their divergence, the two-step right-hand side, the start."""

ELIMINATION: Final = 19
"""Operations per species and sweep besides P and L: elimination with a reciprocal, substitution, budget sums."""

EXPONENTIAL: Final = 34
"""Operations of one vector exponential."""

STATE_PASSES: Final = 5
"""How often the step moves a state array between memory and core: q read, the other level and the tendency read and
written."""

FORCING_FIELDS: Final = 2 * 6 + 6
"""Fields without species that the step moves: six at two ends of an interval; air, tendencies: read and written."""


def operations_per_cell(kernel: MechanismKernel, sweeps: int) -> float:
    """Return the floating-point operations of one cell in one step."""
    species = len(kernel.network.species)
    chemistry = kernel.source.operations + species * ELIMINATION
    return species * TRANSPORT + sweeps * chemistry + len(kernel.source.table.functions) * EXPONENTIAL


def bytes_per_cell(kernel: MechanismKernel) -> float:
    """Return the bytes that one cell must move between memory and core in one step, if caches keep all they can."""
    size = 8 if kernel.shape.precision == "double" else 4
    return float(size * (len(kernel.network.species) * STATE_PASSES + FORCING_FIELDS))

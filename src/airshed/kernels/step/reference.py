"""Reference implementation of ``Stepper.step`` in plain NumPy: the same inputs, the same state.

It also computes the tangent by complex steps. Inputs are x + i h d with a tiny h; the imaginary
part of the result over h is the derivative in the direction d, to round-off. Selections compare real parts.

source  Squire & Trapp 1998, SIAM Rev. 40, 110-112
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.column.reference import (
    Column,
    Implicit,
    OperatorInputs,
    air_of_cells,
    column_rates,
    explicit_tendency,
    gauss_seidel,
    not_below_zero,
    rate_constants,
)
from airshed.kernels.operators import Operator
from airshed.kernels.transport.reference import AirFluxes, BoundaryValues, air_tendency, transport
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import StageWeights


@dataclass(frozen=True)
class Fields:
    """State between two steps: time level n, and the values of level n-1 that the formula reads.

    q, q_previous [mol/mol] and tendency [mol/s] of level n-1: (species, level, lat, lon)
    air, air_previous [mol] and air_tendency [mol/s] of level n-1: (level, lat, lon)
    """

    q: Array
    q_previous: Array
    tendency: Array
    air: Array
    air_previous: Array
    air_tendency: Array


@dataclass(frozen=True)
class StepSetup:
    """Constants of a step; names as in :class:`airshed.kernels.step.arguments.StepConstants`.

    order     species in the order of a sweep;  density_factor  (level, lat, lon) [1/mol];  vertical_weights  (level, 4)
    numbers   values of the numbers of operators, each (species,) or (1,)
    factors   on the rates of reactions (reaction,)
    """

    network: ReactionNetwork
    order: Sequence[int]
    boundary: BoundaryValues
    density_factor: Array
    vertical_weights: Array
    thickness: Array
    emitted: Sequence[int]
    families: Sequence[str]
    sweeps: int
    oxygen: float
    nitrogen: float
    operators: tuple[Operator, ...] = ()
    own_terms: tuple[str, ...] = ()
    numbers: Mapping[str, Array] = field(default_factory=dict)
    factors: Array | float = 1.0


@dataclass(frozen=True)
class StepResult:
    """State after a step, and its sums: budget terms (term, species) of the kernel; imbalance (family,) [mol/s].

    turnover  chemical production plus loss (species,) [mol/s]; 0 from the compiled step
    """

    fields: Fields
    sums: Array
    imbalance: Array
    turnover: Array | float = 0.0


def step(
    setup: StepSetup, fields: Fields, weights: StageWeights, air_fluxes: AirFluxes, column: Column,
    explicit: Mapping[str, Array],
) -> StepResult:  # fmt: skip
    """Advance the state by one step; explicit: fields of operators that act at time level n.

        A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g [column terms at n+1]

    T is the tendency of transport by the air fluxes at n, if advection is an operator, and of the other explicit
    operators. The air content A follows from the same formula with q = 1 and only the air fluxes.
    """
    w = weights
    if not any(each.kind == "face_flux" for each in setup.operators):
        air_fluxes = AirFluxes(*map(np.zeros_like, vars(air_fluxes).values()))
    change = air_tendency(air_fluxes)
    air = w.c0 * fields.air + w.c1 * fields.air_previous + w.t0 * change + w.t1 * fields.air_tendency
    moved = transport(fields.q, air_fluxes, setup.boundary, setup.vertical_weights)
    reading = OperatorInputs(explicit, setup.numbers, {})
    tendency = moved.tendency + explicit_tendency(setup.operators, reading, fields.q)
    content = w.c0 * fields.air * fields.q + w.c1 * fields.air_previous * fields.q_previous
    content = content + w.t0 * tendency + w.t1 * fields.tendency
    start = not_below_zero(w.s0 * fields.q + w.s1 * fields.q_previous)
    relative_density = air * setup.density_factor
    k = rate_constants(setup.network, column, relative_density, setup.oxygen, setup.nitrogen)
    k = k * np.reshape(setup.factors, (-1, 1, 1, 1))
    cells = air_of_cells(
        column.temperature, column.water, air, relative_density, setup.thickness, (column.secant, column.light)
    )
    implicit = column_rates(
        setup.operators, setup.own_terms, OperatorInputs(column.fields, setup.numbers, cells), air.shape
    )
    solved = gauss_seidel(
        setup.network, Implicit(k, air, content, start, w.g, column.emission, implicit),
        order=setup.order, sweeps=setup.sweeps, emitted=setup.emitted, families=setup.families,
    )  # fmt: skip
    after = Fields(solved.q, fields.q, tendency, air, fields.air, change)
    sums = np.stack([moved.inflow, moved.outflow, solved.chemistry, solved.clipped, *solved.by_operators])
    return StepResult(after, sums, solved.imbalance, solved.turnover)

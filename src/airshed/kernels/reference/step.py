"""One whole time step in plain NumPy: the twin of ``Stepper.step``, the same inputs in and the same state out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.kernels.reference.column import Column, gauss_seidel, rate_constants
from airshed.kernels.reference.transport import AirFluxes, Outside, air_tendency, transport
from airshed.kernels.step_data import TwoStepWeights
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fields:
    """The state between two steps, level n and what the formula needs of level n-1.

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
class Box:
    """What stays the same from step to step; names as in :class:`airshed.kernels.stepper.Stepper`.

    order  species in the order of a sweep;  density_factor  (level, lat) [1/mol];  vertical_weights  (level, 4)
    """

    network: ReactionNetwork
    order: Sequence[int]
    outside: Outside
    density_factor: Array
    vertical_weights: Array
    deposited: Sequence[int]
    emitted: Sequence[int]
    families: Sequence[str]
    sweeps: int
    oxygen: float
    nitrogen: float


@dataclass(frozen=True)
class Stepped:
    """The state after a step, and its sums: (term, species) in the order of TERMS; imbalance (family,) [mol/s].

    turnover  chemical production plus loss (species,) [mol/s]; only the twin tells it, else 0
    """

    fields: Fields
    sums: Array
    imbalance: Array
    turnover: Array | float = 0.0


def step(box: Box, fields: Fields, weights: TwoStepWeights, air_fluxes: AirFluxes, column: Column) -> Stepped:
    """Advance the state by one step.

        A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g [column terms at n+1]

    with transport T by the air fluxes at n, and the air content A by the same formula with q = 1.
    """
    w = weights
    change = air_tendency(air_fluxes)
    air = w.c0 * fields.air + w.c1 * fields.air_previous + w.t0 * change + w.t1 * fields.air_tendency
    moved = transport(fields.q, air_fluxes, box.outside, box.vertical_weights)
    content = w.c0 * fields.air * fields.q + w.c1 * fields.air_previous * fields.q_previous
    content = content + w.t0 * moved.tendency + w.t1 * fields.tendency
    start = np.maximum(w.s0 * fields.q + w.s1 * fields.q_previous, 0.0)
    relative_density = air * box.density_factor[:, :, None]
    k = rate_constants(box.network, column, relative_density, box.oxygen, box.nitrogen)
    solved = gauss_seidel(
        box.network, k, column, air, content, start, w.g,
        order=box.order, sweeps=box.sweeps, deposited=box.deposited, emitted=box.emitted, families=box.families,
    )  # fmt: skip
    after = Fields(solved.q, fields.q, moved.tendency, air, fields.air, change)
    sums = np.stack([moved.inflow, moved.outflow, solved.deposited, solved.chemistry, solved.clipped])
    return Stepped(after, sums, solved.imbalance, solved.turnover)

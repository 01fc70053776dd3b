"""Strang splitting: chemistry for half a step, transport and column terms for the whole, chemistry for the other half.

Transport and column advance by ``process.one_step`` through the compiled step of a mechanism without reactions, in as
many pieces as the Courant number asks for; chemistry by a Rosenbrock method with its own steps in every cell. Second
order (Strang 1968, SIAM J. Numer. Anal. 5, 506-517). Chemistry comes last, since the fastest process should: what is
emitted is then in balance with it where a step ends (Sportisse 2000, J. Comput. Phys. 161, 140-168).
"""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.air.forcing import Forcing
from airshed.air.light import Light
from airshed.air.sources import PackedSources
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.kernels.chemistry import CellSteps, ChemistrySolver, Place
from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.step_arguments import TERMS
from airshed.kernels.stepper import ColumnForcing, Stepper
from airshed.mechanism.network import ReactionNetwork
from airshed.process.one_step import GAMMA, one_step_weights

Array = npt.NDArray[np.float64]

_FIRST_STEP = 0.01
"""Part of an interval that is tried as the first step of chemistry in a cell that nothing is known of."""


def without_reactions(network: ReactionNetwork) -> ReactionNetwork:
    """Return the species of a network alone, for what moves them."""
    return replace(network, name=f"{network.name}-moved", reactions=())


@dataclass
class Air:
    """What cells of the packed state need to know of their air, see :class:`ChemistryStep`."""

    temperature: AnyArray
    water: AnyArray
    density: AnyArray
    parameters: AnyArray | None


class ChemistryStep:
    """Chemistry of all cells of the packed state over one interval.

    followed  species behind those of the state that count atoms which the mechanism makes or loses
    """

    def __init__(self, solver: ChemistrySolver, layout: Layout, levels: int, followed: int) -> None:
        self.solver, self.layout, self.levels = solver, layout, levels
        width, species = layout.width, len(solver.kernel.network.species) - followed
        self.packs = layout.rows * layout.blocks * levels
        self.place = Place(
            levels, layout.blocks, layout.last_lanes, species * levels * width, width, levels * width,
            mixing_ratios=True,
        )  # fmt: skip
        self.steps = CellSteps.zeros(self.packs, width)
        self.extra = aligned_zeros((self.packs, followed, width), layout.dtype)
        self._inputs = aligned_zeros((layout.rows, layout.blocks, levels, solver.inputs, width), np.float64)

    def advance(
        self, q: AnyArray, result: AnyArray, clipped: AnyArray, air: Air, sun: AnyArray, seconds: float
    ) -> None:
        """Integrate mixing ratios q over an interval [s], under the air of its middle, into `result`."""
        self._fill(air, sun)
        if not self.steps.step.any():
            self.steps.step[...] = _FIRST_STEP * seconds
        inputs = self._inputs.reshape(self.packs, 1, *self._inputs.shape[-2:])
        self.solver.advance(q, result, self.place, inputs, self.steps, 0.0, seconds, clipped=clipped, extra=self.extra)

    def _fill(self, air: Air, sun: AnyArray) -> None:
        inputs, light = self._inputs, sun[:, :, None]
        inputs[..., 0, :] = air.temperature
        inputs[..., 2, :] = air.density
        inputs[..., 1, :] = air.density * air.temperature * (1e6 * BOLTZMANN)
        inputs[..., 3, :] = OXYGEN_FRACTION * air.density
        inputs[..., 4, :] = NITROGEN_FRACTION * air.density
        inputs[..., 5, :] = air.water * air.density
        inputs[..., 6, :] = np.where(light[..., 1, :] > 0.0, 1.0 / light[..., 0, :], 0.0)
        inputs[..., 7, :] = light[..., 0, :]
        inputs[..., 8, :] = light[..., 1, :]
        if air.parameters is not None:
            inputs[..., 9:, :] = np.moveaxis(air.parameters, 2, 3)


class Strang:
    """Advances the packed state of a :class:`Stepper` without reactions, and its chemistry, by Strang splitting.

    emitted         numbers of the species of `sources`
    density_factor  (level, lat) number density of air per mole in a cell [molecules cm-3 mol-1]
    courant         largest sum of Courant numbers of a piece of transport
    """

    def __init__(
        self, stepper: Stepper, chemistry: ChemistryStep, forcing: Forcing, sources: PackedSources, light: Light, *,
        emitted: list[int], density_factor: Array, courant: float,
    ) -> None:  # fmt: skip
        self.stepper, self.chemistry = stepper, chemistry
        self._forcing, self._sources, self._light, self._courant = forcing, sources, light, courant
        self._emitted, self._species = emitted, len(stepper.kernel.network.species)
        layout = stepper.layout
        self._density_factor = density_factor.T[:, None, :, None]
        lanes = np.arange(layout.blocks * layout.width).reshape(layout.blocks, layout.width) < layout.columns
        self._in_use = lanes[:, None, :].astype(np.float64)
        self._sun = layout.zeros(2)

    def step(self, begin: float, end: float, budget: Budget) -> Array:
        """Advance from `begin` to `end` [s], inside one interval of the forcing; return what chemistry made [mol]."""
        middle = 0.5 * (begin + end)
        first = self._react(begin, middle, budget)
        self._move(begin, end, budget)
        return first + self._react(middle, end, budget)

    def _move(self, begin: float, end: float, budget: Budget) -> None:
        """Transport, vertical mixing, emission and deposition."""
        rate = self._forcing.interval(self._forcing.index_at(begin)).outflow_rate
        pieces = max(1, ceil((end - begin) * rate / self._courant - 1e-9))
        step = (end - begin) / pieces
        for number in range(pieces):
            self._move_once(begin + number * step, step, budget)

    def _move_once(self, begin: float, step: float, budget: Budget) -> None:
        packed, totals = self._sources.at(begin + 0.5 * step)
        emission = np.zeros(self._species)
        emission[self._emitted] = totals
        starts, ends = (begin, begin + GAMMA * step), (begin + GAMMA * step, begin + step)
        for weights, start, end in zip(one_step_weights(step), starts, ends, strict=True):
            transport = self._forcing.transport_within(start, begin + 0.5 * step)
            column = self._column(end, begin + 0.5 * step, packed)
            sums = self.stepper.step(weights, transport, column)
            budget.add(weights, dict(zip(TERMS, sums, strict=True)), emission, np.zeros_like(budget.imbalance))

    def _column(self, seconds: float, inside: float, emission: AnyArray) -> ColumnForcing:
        interval = self._forcing.interval(self._forcing.index_at(inside))
        pairs = {name: interval.pair(name) for name in ("temperature", "water", "exchange", "deposition")}
        return ColumnForcing(**pairs, weight=interval.weight(seconds), emission=emission, sun=self._sun)

    def _react(self, begin: float, end: float, budget: Budget) -> Array:
        """Chemistry; returns the change of the amount of each species [mol]."""
        middle, state = 0.5 * (begin + end), self.stepper.state
        interval = self._forcing.interval(self._forcing.index_at(middle))
        weight = interval.weight(middle)
        fields = {name: _between(interval.pair(name), weight) for name in ("temperature", "water", "cloud")}
        self._sun[:, :, 0], self._sun[:, :, 1] = self._light.secant_and_factor(middle, fields["cloud"])
        air = Air(fields["temperature"], fields["water"], state.air * self._density_factor, None)
        self.chemistry.advance(state.q, state.q_other, state.tendency, air, self._sun, end - begin)
        amounts = state.air * self._in_use
        change = self._sum(state.q_other, amounts) - self._sum(state.q, amounts)
        clipped = self._sum(state.tendency, amounts)
        state.q, state.q_other = state.q_other, state.q
        budget.add_chemistry(change - clipped, clipped, self._imbalance(amounts))
        return change

    def _imbalance(self, amounts: Array) -> Array:
        """Atoms [mol] that the mechanism's own reactions made in the last interval, of each family."""
        layout, extra = self.stepper.layout, self.chemistry.extra
        packed = extra.reshape(layout.rows, layout.blocks, self.chemistry.levels, -1, layout.width)
        made = self._sum(np.moveaxis(packed, 3, 2), amounts)
        return np.asarray(made[0::2] - made[1::2])

    def _sum(self, packed: AnyArray, amounts: Array) -> Array:
        """Sum of mixing ratios [lat][block][species][level][W] times amounts of air, (species,), row after row."""
        rows = [np.einsum("bslw,blw->s", row.astype(np.float64), air) for row, air in zip(packed, amounts, strict=True)]
        return np.asarray(np.sum(rows, axis=0))


def _between(pair: tuple[AnyArray, AnyArray], weight: float) -> Array:
    start, end = pair
    return np.asarray((1.0 - weight) * start + weight * end, np.float64)

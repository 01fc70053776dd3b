"""Strang splitting: chemistry for half a step, transport and column terms for the whole, chemistry for the other half.

Transport and column advance by ``process.one_step`` through the compiled step of a mechanism without reactions, in as
many pieces as the Courant number asks for; chemistry by a Rosenbrock method with its own steps in every cell. Second
order (Strang 1968, SIAM J. Numer. Anal. 5, 506-517). Chemistry comes last, since the fastest process should: what is
emitted is then in balance with it where a step ends (Sportisse 2000, J. Comput. Phys. 161, 140-168).
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.air.cell_chemistry import Air, CellChemistry
from airshed.air.forcing import Forcing
from airshed.air.light import Light
from airshed.air.sources import PackedSources
from airshed.kernels.layout import AnyArray
from airshed.kernels.step_arguments import TERMS
from airshed.kernels.stepper import ColumnForcing, Stepper
from airshed.mechanism.network import ReactionNetwork
from airshed.process.one_step import GAMMA, one_step_weights

Array = npt.NDArray[np.float64]


def without_reactions(network: ReactionNetwork) -> ReactionNetwork:
    """Return the species of a network alone, for what moves them."""
    return replace(network, name=f"{network.name}-moved", reactions=())


class Strang:
    """Advances the packed state of a :class:`Stepper` without reactions, and its chemistry, by Strang splitting.

    chemistry       None where nothing reacts
    emitted         numbers of the species of `sources`
    density_factor  (level, lat) number density of air per mole in a cell [molecules cm-3 mol-1]
    courant         largest sum of Courant numbers of a piece of transport
    total           sums over the first axis, of all ranks
    """

    def __init__(
        self, stepper: Stepper, chemistry: CellChemistry | None, forcing: Forcing, sources: PackedSources,
        light: Light, *, emitted: list[int], density_factor: Array, courant: float,
        total: Callable[[Array], Array],
    ) -> None:  # fmt: skip
        self.stepper, self.chemistry = stepper, chemistry
        self._forcing, self._sources, self._light, self._courant = forcing, sources, light, courant
        self._total = total
        self._emitted, self._species = emitted, len(stepper.kernel.network.species)
        layout = stepper.layout
        self._density_factor = density_factor.T[:, None, :, None]
        lanes = np.arange(layout.blocks * layout.width).reshape(layout.blocks, 1, layout.width) < layout.columns
        self._in_use = lanes.astype(np.float64)
        self._sun = layout.zeros(2)

    def step(self, begin: float, end: float, budget: Budget) -> Array:
        """Advance from `begin` to `end` [s], inside one interval of the forcing; return what chemistry made [mol]."""
        if self.chemistry is None:
            self._move(begin, end, budget)
            return np.zeros(self._species)
        middle = 0.5 * (begin + end)
        first = self._react(self.chemistry, begin, middle, budget, half=0)
        self._move(begin, end, budget)
        return first + self._react(self.chemistry, middle, end, budget, half=1)

    def save(self) -> dict[str, AnyArray]:
        """Return what :meth:`restore` needs: the steps that chemistry is to try first, [lat][block][half][level][W]."""
        return {} if self.chemistry is None else {"first": np.moveaxis(self._first(self.chemistry), 0, 2)}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over what was saved."""
        if self.chemistry is not None:
            self._first(self.chemistry)[...] = np.moveaxis(arrays["first"], 2, 0)

    def _first(self, chemistry: CellChemistry) -> Array:
        """The steps to try first, as the state lies: a view."""
        layout = self.stepper.layout
        return chemistry.first.reshape(2, layout.rows, layout.blocks, chemistry.levels, layout.width)

    def close(self) -> None:
        """End the threads of the chemistry."""
        if self.chemistry is not None:
            self.chemistry.solver.close()

    def _move(self, begin: float, end: float, budget: Budget) -> None:
        """Transport, vertical mixing, emission and deposition."""
        rate = self._forcing.outflow_rate(begin)
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

    def _react(self, chemistry: CellChemistry, begin: float, end: float, budget: Budget, *, half: int) -> Array:
        """Chemistry; returns the change of the amount of each species [mol]."""
        state = self.stepper.state
        chemistry.advance(state.q, state.q_other, state.tendency, self._air(0.5 * (begin + end)), begin, end, half=half)
        amounts = state.air * self._in_use
        followed = chemistry.extra.reshape(*amounts.shape[:3], chemistry.extra.shape[1], amounts.shape[3])
        packed = state.q_other, state.q, state.tendency, np.moveaxis(followed, 3, 2)
        sums = self._total(np.concatenate([_sums(each, amounts) for each in packed], axis=1))
        after, before, clipped, made = np.split(sums, np.cumsum([self._species] * 3))
        change = after - before
        state.q, state.q_other = state.q_other, state.q
        budget.add_chemistry(change - clipped, clipped, made[0::2] - made[1::2])
        return change

    def _air(self, seconds: float) -> Air:
        interval = self._forcing.interval(self._forcing.index_at(seconds))
        weight, pair = interval.weight(seconds), interval.pair
        cloud = _between(pair("cloud"), weight)
        self._sun[:, :, 0], self._sun[:, :, 1] = self._light.secant_and_factor(seconds, cloud)
        fields = (_between(pair(name), weight) for name in ("temperature", "water", "parameters"))
        temperature, water, parameters = fields
        return Air(temperature, water, self.stepper.state.air * self._density_factor, parameters, self._sun)


def _sums(packed: AnyArray, amounts: Array) -> Array:
    """Sums over the cells of a block: mixing ratios [lat][block][species][level][W] times air, (block, species)."""
    columns = amounts.reshape(amounts.shape[0] * amounts.shape[1], -1, 1)
    blocks = packed.reshape(len(columns), packed.shape[2], columns.shape[1])
    # block by block, the way they lie in memory, in double
    return np.asarray(np.matmul(blocks.astype(np.float64, copy=False), columns)[..., 0])


def _between(pair: tuple[AnyArray, AnyArray], weight: float) -> Array:
    start, end = pair
    return np.asarray((1.0 - weight) * start + weight * end, np.float64)

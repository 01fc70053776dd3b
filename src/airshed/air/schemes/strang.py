"""Strang splitting: chemistry for half a step, transport and column terms for the whole, chemistry for the other half.

Transport and column advance by ``schemes.moving``, chemistry by a Rosenbrock method with its own steps in every cell.
Second order (Strang 1968, SIAM J. Numer. Anal. 5, 506-517). Chemistry comes last, since the fastest process should:
what is emitted is then in balance with it where a step ends (Sportisse 2000, J. Comput. Phys. 161, 140-168).

Where vertical transport, mixing, emission and deposition V are split from horizontal transport H, a step is C V H V C
with halves of C and V: all between two H acts along columns.

Concurrent, transport M starts from the state before the first half of chemistry C, so that both can run at once on
different ranks, and what each changes is added up, as amounts, before the second half:

    A w = A_M M q(n) + A(n) (C q(n) - q(n)),      A = A_M = A(n+1),      q(n+1) = C max(w, 0)

With vertical transport split off, V C is in the place of the first C, C V in that of the second, H in that of M, and

    A w = A_H H q(n) + A_V V C q(n) - A(n) q(n),      A = A_H + A_V - A(n)

Transport then acts on a state that is half a step of chemistry too early: first order. What is made to be zero is
counted as clipped, so that budgets close; a uniform mixing ratio stays uniform.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.air.cell_chemistry import Air, CellChemistry, CellCounts
from airshed.air.repeated_chemistry import Integrated, integrate_again, without_states
from airshed.air.schemes.added import Added
from airshed.air.schemes.moving import Moved, Mover, Moving, sums_of, used_lanes
from airshed.air.schemes.scheme import BALANCE, ELSEWHERE, Given, Kept, Setup, of_stepper
from airshed.air.schemes.taken import AirBetween, Both, Carried, Note, Reacted, SplitTaken
from airshed.air.stepping import number_per_mole
from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.memory import aligned_copy
from airshed.parallel.balance import Balance

Array = npt.NDArray[np.float64]


class Strang:
    """Advances a packed state without reactions, and its chemistry; satisfies ``schemes.scheme.Scheme``.

    chemistry  None where nothing reacts
    moving     what moves the species of the state
    vertical   what moves them along columns, where `moving` is horizontal transport alone
    lasting    it works on both time levels of the state within a step
    note       is told of each step when it is taken, once :meth:`tell` was asked for; None for nobody
    """

    lasting = 0
    note: Note | None = None

    def __init__(
        self, setup: Setup, chemistry: CellChemistry | None, moving: Moving, vertical: Mover | None = None
    ) -> None:
        self._setup, self.stepper = setup, setup.stepper
        self.chemistry, self.moving, self.vertical = chemistry, moving, vertical
        self._forcing, self._light, self._total = setup.forcing, setup.light, setup.parts.subdomain.total
        self._concurrent = setup.parts.case.chemistry.concurrent
        self._species = len(setup.stepper.kernel.network.species)
        self._earlier_counts = CellCounts().to_array()
        self._parts: list[Reacted | Carried | Both] = []
        self._lengths = False
        layout = setup.stepper.layout
        self.density_factor = number_per_mole(setup.parts.grid).T[:, None, :, None]  # [molecules cm-3] by mole
        self._in_use = used_lanes(layout)

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the longest one; transport is cut into pieces as the wind asks for."""
        time, parts = self._setup.parts.case.time, self._setup.parts
        if time.step != "auto":
            return time.step.value
        acts = bool(parts.network.reactions or parts.processes.terms)
        return time.longest.value if acts else min(until - seconds, SECONDS_PER_HOUR)

    def advance(self, begin: float, ends: Sequence[float]) -> Iterator[float]:
        """Make steps, one after the other; yield the end of each."""
        for end in ends:
            self._parts = []
            self.step(begin, end, self._setup.budget)
            self._setup.check_finite(self._setup.budget.amounts, end)
            if self.note is not None:
                self.note(SplitTaken(begin, end, tuple(self._parts)))
            yield end
            begin = end

    def tell(self, note: Note | None, *, lengths: bool = False) -> None:
        """Let somebody be told of each step when it is taken; nobody with None.

        lengths  whether chemistry is done twice, so that the lengths of its steps in each cell are told
        """
        self.note, self._lengths = note, lengths
        for each in (self.moving, self.vertical):
            if isinstance(each, Mover):
                each.tells = note is not None

    def step(self, begin: float, end: float, budget: Budget) -> None:
        """Advance from `begin` to `end` [s], inside one interval of the forcing."""
        middle = 0.5 * (begin + end)
        if self.chemistry is None:
            self._move(begin, middle, end, budget)
            return
        if self._concurrent:
            self._both(self.chemistry, begin, middle, end, budget)
            self._mix(middle, end, budget)
        else:
            self._react(self.chemistry, begin, middle, budget, half=0)
            self._move(begin, middle, end, budget)
        self._react(self.chemistry, middle, end, budget, half=1)

    def begin_anew(self) -> None:
        """Let chemistry guess its first steps: those of before are of another state."""
        if self.chemistry is not None:
            self.chemistry.first[...] = 0.0

    def set_outside(self, ghosts: Array, top: Array) -> None:
        """Change the mixing ratios outside the area and above it, where this rank moves species."""
        for stepper in (self.stepper, *([] if self.vertical is None else [self.vertical.stepper])):
            stepper.set_outside(ghosts, top)

    def keep(self) -> Kept:
        """Return the steps that chemistry is to try first, [lat][block][half][level][W], and what became of cells."""
        kept = Kept(numbers={"previous_step": None, "anew": 0})
        if self.chemistry is not None:
            kept.held["chemistry.first"] = np.moveaxis(self._first(self.chemistry), 0, 2)
            kept.whole["chemistry.counts"] = self._counts(self.chemistry)
        return kept

    def restore(self, given: Given, held: Box) -> None:
        """Take over what was kept."""
        if self.chemistry is not None:
            self._first(self.chemistry)[...] = np.moveaxis(given.part("chemistry.first", held), 2, 0)
            self._earlier_counts, self.chemistry.counts = given.whole["chemistry.counts"].copy(), CellCounts()
        self.moving.reload()

    def cell_counts(self) -> CellCounts | None:
        """Return what became of cells of all ranks; None where nothing reacts."""
        return None if self.chemistry is None else CellCounts(*self._counts(self.chemistry).tolist())

    def _counts(self, chemistry: CellChemistry) -> npt.NDArray[np.int64]:
        own = chemistry.counts.to_array()
        return np.asarray(self._earlier_counts + self._setup.parts.subdomain.ranks.total(own))

    @property
    def balance(self) -> Balance | None:
        """What lets other ranks do chemistry of this one; None where nothing does."""
        return None if self.chemistry is None else self.chemistry.balance

    def wall(self) -> dict[str, float]:
        """Return the wall time of the parts of all steps so far [s]."""
        parts = of_stepper(self.stepper, *([] if self.vertical is None else [self.vertical.stepper]))
        if self.chemistry is not None:
            parts["chemistry of cells"] = self.chemistry.wall
        if self.balance is not None:
            parts[BALANCE] = self.balance.wait
        return parts | ({} if self.moving.waited is None else {ELSEWHERE: self.moving.waited})

    def tables(self) -> list[Table]:
        """Return what phases on other ranks took."""
        return self.moving.tables()

    def _first(self, chemistry: CellChemistry) -> Array:
        """The steps to try first, as the state lies: a view."""
        layout = self.stepper.layout
        return chemistry.first.reshape(2, layout.rows, layout.blocks, chemistry.levels, layout.width)

    def close(self) -> None:
        """End the threads of the chemistry, and those who move species for others."""
        self.moving.close()
        if self.vertical is not None:
            self.vertical.stepper.close()
        if self.chemistry is not None:
            self.chemistry.solver.close()

    def _both(self, chemistry: CellChemistry, begin: float, middle: float, end: float, budget: Budget) -> None:
        """The first half along columns and the move from one state, added up."""
        state = self.stepper.state
        self.moving.start(begin, end)
        added = Added(state)
        self._react(chemistry, begin, middle, budget, half=0)
        self._mix(begin, middle, budget)
        columns = tuple(part for part in self._parts if not isinstance(part, Both))
        added.begin_again()
        self._parts = [Both(columns, self._follow(self.moving.finish(begin, end), budget))]
        sums = added.add_up()
        clipped = self._total(sums_of(np.maximum(-sums, 0.0), state.air * self._in_use))
        budget.add_chemistry(np.zeros(self._species), clipped, np.zeros_like(budget.imbalance))

    def _move(self, begin: float, middle: float, end: float, budget: Budget) -> None:
        self._mix(begin, middle, budget)
        self.moving.start(begin, end)
        self._parts.append(self._follow(self.moving.finish(begin, end), budget))
        self._mix(middle, end, budget)

    def _mix(self, begin: float, end: float, budget: Budget) -> None:
        if self.vertical is not None:
            self._parts.append(self._follow(self.vertical.finish(begin, end), budget, apart=True))

    def _follow(self, stages: list[Moved], budget: Budget, *, apart: bool = False) -> Carried:
        for each in stages:
            by_species = each.sums if each.sums.ndim == 2 else each.sums.sum(axis=2)
            terms = dict(zip(self.stepper.kernel.terms, by_species, strict=True)) | {"emitted": each.emission}
            budget.add(each.weights, terms, np.zeros_like(budget.imbalance))
        return Carried(tuple(each.taken for each in stages if each.taken is not None), apart)

    def _react(self, chemistry: CellChemistry, begin: float, end: float, budget: Budget, *, half: int) -> None:
        """Chemistry."""
        state, given = self.stepper.state, self._air(0.5 * (begin + end))
        air = given.with_density(state.air * self.density_factor)
        first = None if self.note is None else chemistry.first[half].copy()
        chemistry.advance(state.q, state.q_other, state.tendency, air, begin, end, half=half)
        if first is not None:
            self._tell(chemistry, given, air, Integrated(begin, end, half, first, chemistry.steps.accepted.copy()))
        amounts = state.air * self._in_use
        followed = chemistry.extra.reshape(*amounts.shape[:3], chemistry.extra.shape[1], amounts.shape[3])
        packed = state.q_other, state.q, state.tendency, np.moveaxis(followed, 3, 2)
        sums = self._total(np.concatenate([sums_of(each, amounts) for each in packed], axis=1))
        after, before, clipped, made = np.split(sums, np.cumsum([self._species] * 3))
        state.q, state.q_other = state.q_other, state.q
        budget.add_chemistry(after - before - clipped, clipped, made[0::2] - made[1::2])

    def _tell(self, chemistry: CellChemistry, given: AirBetween, air: Air, done: Integrated) -> None:
        """Take note of half a step of chemistry, whose result is in the place of the older mixing ratios."""
        if self._lengths:
            state = self.stepper.state
            record = integrate_again(chemistry, done, air, state.q, state.q_other, state.tendency)
            done = replace(done, lengths=without_states(record))
        self._parts.append(Reacted(replace(given, sun=aligned_copy(given.sun)), done))

    def _air(self, seconds: float) -> AirBetween:
        interval = self._forcing.interval(self._forcing.index_at(seconds))
        weight, pair = interval.weight(seconds), interval.pair
        sun = self._light.at([seconds], pair("cloud"), [weight])[0]
        return AirBetween(pair("temperature"), pair("water"), pair("parameters"), weight, sun)

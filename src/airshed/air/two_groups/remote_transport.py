"""Two phases on two groups of ranks: tiles whose species others move, and ranks that move species for others.

The same numbers as on ranks that do both: species, and levels where they are apart from each other, move independently,
each by the same compiled code, and the sums of budgets are exact.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import Parts, assemble
from airshed.air.case import Case
from airshed.air.case_weather import Given
from airshed.air.emissions.source import CombinedEmissions
from airshed.air.forcing import Collectives, Forcing, StepNeeds
from airshed.air.programs.context import Span, StoredRunnerState
from airshed.air.programs.forward import ELSEWHERE, ForwardExecutor
from airshed.air.programs.one_step import Mover, OneStepRunner, without_reactions
from airshed.air.programs.records import MoveRecord, StageRecord
from airshed.air.sources import PackedSources
from airshed.air.stepping import step_constants
from airshed.air.two_groups.shared_forcing import SharedForcing
from airshed.core.errors import CaseError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.backend import backend
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.operator_fields import of_some_species
from airshed.kernels.step.operators import Operator, OperatorField
from airshed.mechanism.network import ReactionNetwork
from airshed.parallel.allgather import Allgather, Wanted
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.exchange import END, MOVE, RELOAD, Exchange
from airshed.parallel.groups import Groups
from airshed.process.bound import HORIZONTAL
from airshed.process.processes import LIGHT, WEATHER, Processes
from airshed.program.stage import Stage
from airshed.program.weights import one_step_weights

Array = npt.NDArray[np.float64]


def make_exchange(parts: Parts, groups: Groups, layout: Layout) -> Exchange:
    """Return this rank's end of what the groups tell each other; all ranks of both make one together.

    layout  of some part of the area
    """
    _, rows, columns = parts.whole.shape
    settings = parts.case.parallel
    tiles = None if settings.tiles == "auto" else settings.tiles
    decomposition = Decomposition.of(rows, columns, layout.width, len(groups.chemistry), tiles)
    whole = Layout(rows, columns, layout.width, layout.dtype)
    species, levels = len(parts.network.species), parts.whole.shape[0]
    return Exchange(
        groups, decomposition, whole, species, levels, settings.groups.strategy, apart=parts.case.moves_planes
    )


class RemoteTransport(OneStepRunner):
    """Lets the ranks of TRANS move the species of this tile.

    mover  of this tile, which knows the pieces of a step and what is emitted in it
    here   what this rank moves for all tiles, where it is in both groups
    """

    def __init__(self, local: OneStepRunner, exchange: Exchange, here: "TransportedSpecies | None") -> None:
        super().__init__(local.context, local.mover)
        self.exchange, self._here = exchange, here

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Send the mixing ratios, and receive them moved."""
        ((begin, end),) = given
        self._start(begin, end)
        self._finish(begin, end)
        return [MoveRecord(())]

    def _start(self, begin: float, end: float) -> None:
        state = self.mover.stepper.state
        there = (None, None) if self._here is None else (self._here.q, self._here.air)
        self.exchange.order(MOVE, begin, end)
        self.exchange.to_transport(state.q, there[0], state.air, there[1])

    def _finish(self, begin: float, end: float) -> None:
        state = self.mover.stepper.state
        if self._here is None:
            self.exchange.to_chemistry(None, state.q, None, state.air)
        else:
            self._here.move(begin, end)
            self.exchange.to_chemistry(self._here.q, state.q, self._here.air, state.air)
        pieces = self.mover.pieces(begin, end)
        mine = (None, 0.0) if self._here is None else (self._here.sums, self._here.seconds)
        sums = iter(self.exchange.share_sums(3 * len(pieces), len(self.mover.stepper.kernel.terms), *mine))
        for start, step in pieces:
            emission, both = self.mover.emitted(start, step), [next(sums), next(sums)]
            weights = one_step_weights(step, again=bool(next(sums).any()))
            for each, own in zip(weights, both, strict=True):
                self.add_to_budget(each, own, emission)

    def restore(self, stored: StoredRunnerState, held: Box) -> None:
        """Send the air of a restart."""
        self.exchange.order(RELOAD)
        self.exchange.load_air(self.mover.stepper.state.air, None if self._here is None else self._here.air)

    def close(self) -> None:
        """Let the others end."""
        self.exchange.order(END)
        self.exchange.close()
        if self._here is not None:
            self._here.close()

    def wall(self) -> dict[str, float]:
        """Return the wall time of what other ranks did [s]."""
        return {ELSEWHERE: self.exchange.wall}

    def tables(self) -> list[Table]:
        """Return what both phases and the redistributions between them took so far."""
        exchange, times = self.exchange, self.exchange.times
        steps = max(times.steps, 1)
        rows = [
            ("moving species", None, times.moving / steps),
            ("redistribution to transport", exchange.predicted[0], times.out / steps),
            ("redistribution to chemistry", exchange.predicted[1], times.back / steps),
        ]
        groups, line = exchange.groups, exchange.line
        ranks = f"{len(groups.transport)} ranks move, {len(groups.chemistry)} react"
        note = f"{ranks}; {exchange.plan.name}: messages {1e6 * line.alpha:.3g} us + {1e9 * line.beta:.3g} ns/B"
        return [Table("Two groups", ("phase", "predicted [s/step]", "measured [s/step]"), rows, note)]


def transport_remotely(
    executor: ForwardExecutor, parts: Parts, meteorology: Given, groups: Groups, threads: int
) -> None:
    """Let the ranks of TRANS run the stage of transport."""
    key, local = next(
        (stage.key, executor.runners[stage.key]) for stage in executor.program.stages if "transport" in stage.operators
    )
    assert isinstance(local, OneStepRunner)
    exchange = make_exchange(parts, groups, local.mover.stepper.layout)
    here = TransportedSpecies(parts.case, meteorology, groups, threads, exchange) if groups.moves else None
    executor.runners[key] = RemoteTransport(local, exchange, here)


class TransportedSpecies:
    """Some species of a case in the whole area, with all their levels or some; what one rank of TRANS moves.

    Forcing and emission are made by several ranks together, each of its tile, which they tell each other.

    exchange  made here, unless this rank is in both groups and has one
    sums      (term, species) of both stages of each piece of the last move, or (term, species, level), and behind them
              ones where the second was made again, else zeros;  seconds  that it took
    """

    def __init__(
        self, case: Case, meteorology: Given, groups: Groups, threads: int, exchange: Exchange | None = None
    ) -> None:
        rows, columns = case.make_grid().shape[1:]
        self._gathering = Allgather(groups.own, rows, columns, backend().width)
        parts = self._parts = assemble(case, meteorology, self._gathering.ranks, any_tiles=True)
        own = groups.mine(len(parts.network.species), parts.grid.shape[0], apart=case.moves_planes)
        self.species, self.levels = own.species, own.levels
        network = without_reactions(parts.network, own.species)
        processes = parts.processes.only(HORIZONTAL) if case.moves_planes else parts.processes
        if processes.ask_for(LIGHT):
            raise CaseError("parallel.groups: a process reads the light in steps, which ranks that move species for "
                            'others do not know; take no groups, or transport.vertical = "with chemistry"')  # fmt: skip
        kernel = backend().compile_mechanism(
            network, own.levels.stop - own.levels.start, case.chemistry.precision,
            directions="horizontal" if case.moves_planes else "all",
            operators=tuple(of_some_species(each, own.species) for each in parts.processes.operators),
        )  # fmt: skip
        layout = kernel.layout(rows, columns)
        sources = () if case.moves_planes else parts.own_sources
        emitted = _some(CombinedEmissions(sources).species if sources else (), network)
        in_parts = self._shared_forcing(processes, emitted[0])
        tile = replace(layout, rows=parts.grid.shape[1], columns=parts.grid.shape[2])
        self._sources = PackedSources(
            sources, tile, parts.grid.shape[1:], parts.start, _told_elsewhere, in_parts.emission
        )
        self._forcing = self._make_forcing(tile, processes, in_parts)
        constants = step_constants(parts, (), own)
        self._stepper = kernel.stepper(layout, replace(constants, emitted=emitted[1]), threads=threads)
        air = tile.pack(self._forcing.instant(0).air)
        self._stepper.state.air[...] = self._gathering.whole([(air, own.levels)])[0]
        self._mover = Mover(
            self._stepper, self._forcing, self._sources, None, emitted=emitted[1], courant=case.time.courant,
            any_rank=lambda here: bool(groups.own.total(np.array([int(here)]))[0]),
        )  # fmt: skip
        self.exchange, self._own_exchange = exchange or make_exchange(parts, groups, layout), exchange is None
        self.sums: list[Array] = []
        self.seconds = 0.0

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of the species [mol/mol]."""
        return self._stepper.state.q

    @property
    def air(self) -> AnyArray:
        """The packed air of the levels in the whole area [mol]."""
        return self._stepper.state.air

    def move(self, begin: float, end: float) -> None:
        """Move the species from one time to another [s]."""
        began = time.perf_counter()
        self.sums = []
        for start, step in self._mover.pieces(begin, end):
            (_, first), (second, sums) = self._mover.move(start, step)
            again = np.full_like(sums, float(second.forcing.weights.c1 == 0.0))
            self.sums += [first, sums, again]
        self._forcing.read_ahead(begin, self._stepper.pool)
        self._sources.read_ahead(begin, self._stepper.pool)
        self.seconds = time.perf_counter() - began

    def run(self) -> None:
        """Move the species of the tiles of other ranks, whenever they want it, until they end."""
        while True:
            what, begin, end = self.exchange.next_order()
            if what == END:
                return
            if what == RELOAD:
                self.exchange.load_air(None, self.air)
                continue
            self.exchange.to_transport(None, self.q, None, self.air)
            self.move(begin, end)
            self.exchange.to_chemistry(self.q, None, self.air, None)
            self.exchange.share_sums(len(self.sums), len(self._stepper.kernel.terms), self.sums, self.seconds)

    def close(self) -> None:
        """End the threads, and the exchange that was made here, and close what is read."""
        self._stepper.close()
        self._parts.meteorology.close()
        if self._own_exchange:
            self.exchange.close()
        self._gathering.close()

    def _shared_forcing(self, processes: Processes, emitted: list[int]) -> SharedForcing:
        """What gathers the forcing, for the species and levels of this rank."""
        fluxes = {"flux_x": self.levels, "flux_y": self.levels}
        fluxes |= dict.fromkeys(("temperature", "water"), self.levels) if processes.ask_for(WEATHER) else {}
        fields = {field.name: self._wanted(each, field) for each in processes.operators for field in each.fields}
        upward = None if self._parts.case.moves_planes else self.levels
        return SharedForcing(self._gathering, fluxes, fields, upward, emitted)

    def _wanted(self, operator: Operator, field: OperatorField) -> Wanted:
        """What is wanted of a field: of its species, or levels, those of this rank; all of one that has neither."""
        if field.species:
            own = range(self.species.start, self.species.stop)
            return [slot for slot, number in enumerate(operator.species) if number in own]
        return slice(None) if field.shape == "ground" else self.levels

    def _make_forcing(self, tile: Layout, processes: Processes, in_parts: SharedForcing) -> Forcing:
        parts = self._parts
        return Forcing(
            parts.grid, tile, parts.meteorology, processes, lambda met, _: np.zeros((0, *parts.grid.shape)),
            StepNeeds(
                parts.begin, parts.sunlit_until, ("horizontal",) if parts.case.moves_planes else ("all",),
                self._sources.middles,
            ),
            Collectives(parts.subdomain.greatest, in_parts.interval),
        )  # fmt: skip


def _told_elsewhere(columns: Array) -> Array:
    """The sums of what is emitted, for which nobody asks here: ranks with chemistry have them for budgets."""
    return np.zeros(())


def _some(names: Sequence[str], network: ReactionNetwork) -> tuple[list[int], list[int]]:
    """The places of a network's species among names, and their numbers in the network."""
    there = [place for place, name in enumerate(names) if name in network.names]
    return there, [network.index(names[place]) for place in there]

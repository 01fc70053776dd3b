"""A program on two groups of ranks: chemistry ranks hold tiles of all species, transport ranks species of all tiles.

Both walk the same placed program, each the stages of its placement. The numbers are those of ranks that are all alike:
species, and levels where columns are apart, move independently, each by the same compiled code, and the sums of budgets
are exact.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import Parts, assemble
from airshed.air.budget import FAMILIES, Budget
from airshed.air.case import Case
from airshed.air.case_weather import Given
from airshed.air.emissions.source import CombinedEmissions
from airshed.air.forcing import StepNeeds
from airshed.air.light import PackedLight
from airshed.air.programs.context import AirContext, Span, StageRunner
from airshed.air.programs.forward import ELSEWHERE, ForwardExecutor, PackedValues
from airshed.air.programs.gathered import GatheredFields, GatheredForcing, GatheredSources
from airshed.air.programs.one_step import OneStepRunner, without_reactions
from airshed.air.programs.records import FormulaStep, StageRecord
from airshed.air.stepping import step_constants
from airshed.core.report import Table
from airshed.kernels.backend import backend
from airshed.kernels.layout import Layout
from airshed.kernels.step.data import StepConstants
from airshed.kernels.step.operator_fields import of_some_species
from airshed.parallel.allgather import Allgather, Wanted
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.exchange import Exchange
from airshed.parallel.groups import Groups
from airshed.parallel.planes import Planes
from airshed.process.bound import HORIZONTAL
from airshed.process.processes import LIGHT, WEATHER, Processes
from airshed.program.execute import walk_forwards
from airshed.program.placement import CHEMISTRY_RANKS, TRANSPORT_RANKS
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]


def transport_remotely(executor: ForwardExecutor, context: AirContext, meteorology: Given, groups: Groups) -> None:
    """Let the executor of a chemistry rank redistribute values, and run the stages of transport where it has both."""
    exchange = make_exchange(context.parts, groups, context.stepper.layout)
    here = None
    contexts = {CHEMISTRY_RANKS: context}
    if groups.transports:
        here = TransportRank(context.parts.case, meteorology, groups, context.stepper.threads, exchange)
        contexts |= {TRANSPORT_RANKS: here.context}
        executor.runners |= here.runners
        executor.values |= here.values
    first = next(number for number, stage in enumerate(executor.program.stages) if stage.kernel == "redistribute")
    executor.runners["redistribute"] = RedistributionRunner(exchange, contexts, first, here)


def make_exchange(parts: Parts, groups: Groups, layout: Layout) -> Exchange:
    """Return this rank's end of the communication between the groups; all ranks of both make one together.

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


class RedistributionRunner(StageRunner):
    """Moves a value, with its budget, between the groups.

    contexts  of the placements of this rank
    first     number of the stage with which a step begins on the transport ranks; None on these ranks
    here      the transport rank that this one is as well; None for one of chemistry alone
    """

    def __init__(
        self, exchange: Exchange, contexts: dict[str, AirContext], first: int | None = None,
        here: "TransportRank | None" = None,
    ) -> None:  # fmt: skip
        self._exchange, self._contexts, self._first, self._here = exchange, contexts, first, here

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Send or receive; the first redistribution of a step lets the transport ranks begin it."""
        if number == self._first:
            self._exchange.order(*given[0])
        source, target = (self._contexts.get(each) for each in stage.placements)
        before, after = (None if each is None else each.stepper.state for each in (source, target))
        move = self._exchange.to_transport if stage.placements[1] == TRANSPORT_RANKS else self._exchange.to_chemistry
        sender = source or target
        assert sender is not None
        numbers = move(before, after, sender.budget.copy())
        if target is not None:
            target.budget.put(numbers)
        return []

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the longest one, as for a stage of transport."""
        return next(iter(self._contexts.values())).longest_split_step(seconds, until)

    def wall(self) -> dict[str, float]:
        """Return the wall time of redistributions, and of waiting for the other group [s]."""
        return {ELSEWHERE: self._exchange.wall}

    def tables(self) -> list[Table]:
        """Return the times of transport, and of redistributions to and from it."""
        exchange, times = self._exchange, self._exchange.times
        count = max(times.count, 1)
        rows = [
            ("transport", None, times.moving / count),
            ("redistribution to transport", exchange.predicted[0], times.out / count),
            ("redistribution to chemistry", exchange.predicted[1], times.back / count),
        ]
        groups, line = exchange.groups, exchange.line
        ranks = f"{len(groups.transport)} transport ranks, {len(groups.chemistry)} chemistry ranks"
        note = f"{ranks}; {exchange.plan.name}: messages {1e6 * line.alpha:.3g} us + {1e9 * line.beta:.3g} ns/B"
        return [Table("Two groups", ("stage", "predicted [s]", "measured [s]"), rows, note)]

    def close(self) -> None:
        """Let the transport ranks end."""
        self._exchange.order()
        self._exchange.close()
        if self._here is not None:
            self._here.close()


class TransportRunner(OneStepRunner):
    """Runs the stages of transport on a transport rank; the sums of its species are those of all transport ranks."""

    def __init__(self, context: AirContext, groups: Groups, exchange: Exchange) -> None:
        super().__init__(context, context.stepper)
        self._groups, self._exchange = groups, exchange
        self._planes = len(context.parts.network.species), context.parts.whole.shape[0]

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the state by a stage, and prefetch the weather and emission that follow."""
        began, ((begin, _),) = time.perf_counter(), given
        records = super().run(number, stage, given)
        for each in (self.context.forcing, self.context.sources):
            each.read_ahead(begin, self.stepper.pool)
        self._exchange.moving += time.perf_counter() - began
        return records

    def move(self, begin: float, step: float) -> tuple[tuple[FormulaStep, Array], ...]:
        """Move the state over a piece, see :meth:`OneStepRunner.move`."""
        return tuple((each, self._groups.gather_sums(sums, *self._planes)) for each, sums in super().move(begin, step))

    def _clips_much(self, sums: Array) -> bool:
        """Return whether clipping made much of a species of any transport rank."""
        return bool(self._groups.own.total(np.array([int(super()._clips_much(sums))]))[0])


class TransportRank:
    """A transport rank: some species of a case in the whole area, with all their levels or some.

    Forcing and emission are made by several ranks together, each of its tile, and gathered.

    exchange  None for one of its own
    """

    def __init__(
        self, case: Case, meteorology: Given, groups: Groups, threads: int, exchange: Exchange | None = None
    ) -> None:
        rows, columns = case.make_grid().shape[1:]
        self._gathering = Allgather(groups.own, rows, columns, backend().width)
        parts = assemble(case, meteorology, self._gathering.ranks, any_tiles=True)
        self.program = case.program(parts.network)
        self.context = _make_context(parts, groups, threads, self._gathering)
        self._own_exchange = exchange is None
        self._exchange = exchange or make_exchange(parts, groups, self.context.stepper.layout)
        self.values = {TRANSPORT_RANKS: PackedValues(self.context)}
        runner = TransportRunner(self.context, groups, self._exchange)
        transport = [each for each in self.program.stages if each.placement == TRANSPORT_RANKS]
        self.runners: dict[str, StageRunner] = {each.key: runner for each in transport}

    def run(self) -> None:
        """Run the stages of transport of each step that the chemistry ranks make, until they end."""
        redistribution = RedistributionRunner(self._exchange, {TRANSPORT_RANKS: self.context})
        runners = self.runners | {"redistribute": redistribution}
        while (step := self._exchange.next_order()) is not None:
            given = [[stage.over(*step)] for stage in self.program.stages]
            walk_forwards(self.program, runners, self.values, given)

    def close(self) -> None:
        """End the threads, the exchange that was made here, and the input."""
        self.context.stepper.close()
        self.context.parts.meteorology.close()
        if self._own_exchange:
            self._exchange.close()
        self._gathering.close()


def _make_context(parts: Parts, groups: Groups, threads: int, gathering: Allgather) -> AirContext:
    """Return the context of the stages of transport: some species and levels in the whole area."""
    case, names = parts.case, parts.network.names
    own = groups.own_planes(len(names), parts.whole.shape[0], apart=case.moves_planes)
    network = without_reactions(parts.network, own.species)
    kernel = backend().compile_mechanism(
        network, own.levels.stop - own.levels.start, case.chemistry.precision,
        directions="horizontal" if case.moves_planes else "all",
        operators=tuple(of_some_species(each, own.species) for each in parts.processes.operators),
    )  # fmt: skip
    layout = kernel.layout(*parts.whole.shape[1:])
    tile = replace(layout, rows=parts.grid.shape[1], columns=parts.grid.shape[2])
    emitting = () if case.moves_planes else parts.own_sources
    emitted = CombinedEmissions(emitting).species if emitting else ()
    there = [place for place, name in enumerate(emitted) if name in network.names]
    sources = GatheredSources(
        gathering, there, emitting, tile, parts.grid.shape[1:], parts.start, parts.subdomain.total_over_columns
    )
    processes = parts.processes.only(HORIZONTAL) if case.moves_planes else parts.processes
    forcing = GatheredForcing(
        gathering, _gathered_fields(processes, own, upward=not case.moves_planes),
        parts.grid, tile, parts.meteorology, processes, lambda met, _: np.zeros((0, *parts.grid.shape)),
        StepNeeds(
            parts.begin, parts.sunlit_until, ("horizontal",) if case.moves_planes else ("all",), sources.middles
        ),
        parts.subdomain.greatest,
    )  # fmt: skip
    constants = _constants_of(own, step_constants(replace(parts, grid=parts.whole), ()))
    numbers = [network.index(emitted[place]) for place in there]
    stepper = kernel.stepper(layout, replace(constants, emitted=numbers), threads=threads)
    light = PackedLight(
        kernel, layout, parts.whole.lon, parts.whole.lat, case.time.start, clouds=case.photolysis.cloud
    )  # fmt: skip
    families = sum(element in parts.network.atoms for element in FAMILIES)
    return AirContext(parts, stepper, forcing, sources, light, Budget(len(names), families, parts.processes.terms))


def _gathered_fields(processes: Processes, own: Planes, *, upward: bool) -> GatheredFields:
    """Return the fields that transport reads of the whole area, for the species and levels of a rank."""
    fluxes: dict[str, Wanted] = {"flux_x": own.levels, "flux_y": own.levels}
    fluxes |= dict.fromkeys(("temperature", "water"), own.levels) if processes.ask_for(WEATHER) else {}
    fluxes |= {"cloud": slice(None)} if processes.ask_for(LIGHT) else {}
    fields: dict[str, Wanted] = {}
    for operator in processes.operators:
        mine = [slot for slot, number in enumerate(operator.species) if own.species.start <= number < own.species.stop]
        for each in operator.fields:
            of_ground: Wanted = slice(None) if each.shape == "ground" else own.levels
            fields[each.name] = mine if each.species else of_ground
    return GatheredFields(fluxes, fields, own.levels if upward else None)


def _constants_of(own: Planes, constants: StepConstants) -> StepConstants:
    """Return the constants of some species and levels."""
    thickness = constants.thickness
    return replace(
        constants, ghosts=constants.ghosts[own.species, own.levels], top=constants.top[own.species],
        density_factor=constants.density_factor[own.levels], vertical_weights=constants.vertical_weights[own.levels],
        thickness=None if thickness is None else thickness[own.levels],
    )  # fmt: skip

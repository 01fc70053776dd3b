"""Programs on two groups of ranks: chemistry ranks hold all species of a tile, transport ranks some of all tiles.

Both walk the same program, each the stages of its placement. Results are bitwise identical to those without groups:
the transport of a species, or of a level if levels are separate, is independent of other species, and sums of budgets
are exact.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.report import Table
from airshed.io.timeline import together
from airshed.kernels.backend import backend
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.operators import of_some_species
from airshed.kernels.step.arguments import StepConstants
from airshed.models.air.assembly import Parts, assemble
from airshed.models.air.budget import FAMILIES, Budget
from airshed.models.air.case import Case
from airshed.models.air.emissions.sources import CombinedEmissions, PackedSources
from airshed.models.air.forcing import Forcing, Instant, Interval
from airshed.models.air.light import PackedLight
from airshed.models.air.programs.context import AirContext, Span, StageRunner, step_constants
from airshed.models.air.programs.forward import ELSEWHERE, ForwardExecutor, PackedValues
from airshed.models.air.programs.one_step import OneStepRunner, without_reactions
from airshed.models.air.programs.records import FormulaStep, StageRecord
from airshed.models.air.weather.case_weather import Given
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.groups import Allgather, Exchange, Groups, LevelSelection, Planes
from airshed.process.bound_process import HORIZONTAL
from airshed.process.context import Source
from airshed.process.processes import LIGHT, WEATHER, Processes
from airshed.program.execute import walk_forwards
from airshed.program.placement import CHEMISTRY_RANKS, TRANSPORT_RANKS
from airshed.program.stage import Program, Stage

T = TypeVar("T")


@dataclass(frozen=True)
class GatheredFields:
    """Fields of a forcing that are gathered, with the levels or species of each.

    fluxes  packed fields of an instant, by name;  fields  fields of processes;  upward  upward air flux, None without
    """

    fluxes: Mapping[str, LevelSelection]
    fields: Mapping[str, LevelSelection]
    upward: LevelSelection | None

    def of(self, end: Instant) -> Iterator[tuple[AnyArray, LevelSelection]]:
        """Yield the fields of an instant."""
        for name, wanted in self.fluxes.items():
            yield getattr(end, name), wanted
        for name, wanted in self.fields.items():
            yield end.fields[name], wanted


class GatheredForcing(Forcing):
    """Forcing whose gathered fields cover the whole area; other fields cover a tile, and are not read."""

    def __init__(self, gathering: Allgather, wanted: GatheredFields, *forcing: Any, **options: Any) -> None:
        self._gathering, self._wanted = gathering, wanted
        self._gathered: dict[float, Instant] = {}
        super().__init__(*forcing, **options)

    def _complete(self, make: Callable[[], Interval]) -> Interval:
        """Return an interval with the gathered fields; an instant of the previous interval is not sent again."""
        # this rank's tile
        part = _on_all(self._gathering, make)
        ends = {end.seconds: end for end in (part.start, part.end)}
        new = {seconds: end for seconds, end in ends.items() if seconds not in self._gathered}

        # all tiles
        sent = [each for end in new.values() for each in self._wanted.of(end)]
        upward = [] if self._wanted.upward is None else [(flux, self._wanted.upward) for flux in part.flux_z]
        whole = iter(self._gathering.whole([*sent, *upward], self.layout.memory))
        for seconds, end in new.items():
            fluxes: dict[str, Any] = {name: next(whole) for name in self._wanted.fluxes}
            fields = {name: next(whole) for name in self._wanted.fields}
            self._gathered[seconds] = replace(end, **fluxes, fields=fields)

        # the interval between both instants
        self._gathered = {seconds: self._gathered[seconds] for seconds in ends}
        flux_z = (next(whole), next(whole)) if upward else part.flux_z
        start, end = self._gathered[part.start.seconds], self._gathered[part.end.seconds]
        return replace(part, start=start, end=end, flux_z=flux_z)


class GatheredSources(PackedSources):
    """Emission whose packed rates cover the whole area.

    emitted  indices of the transported species among those of the sources
    """

    def __init__(
        self, gathering: Allgather, emitted: list[int], sources: Sequence[Source], tile: Layout, *others: Any
    ) -> None:  # fmt: skip
        self._gathering, self._emitted, self._memory = gathering, emitted, tile.memory
        super().__init__(sources, tile, *others)

    def _complete(self, make: Callable[[], tuple[AnyArray, Array]]) -> tuple[AnyArray, Array]:
        packed, columns = _on_all(self._gathering, make)
        return self._gathering.whole([(packed, self._emitted)], self._memory)[0], columns


def _on_all(gathering: Allgather, make: Callable[[], T]) -> T:
    """Return the result of a function that all ranks call; an error on one rank is raised on all."""
    with together(gathering.ranks):
        part = make()
    return part


def transport_remotely(executor: ForwardExecutor, context: AirContext, meteorology: Given, groups: Groups) -> None:
    """Add redistributions to the executor of a chemistry rank; also transport, if the rank is in both groups."""
    exchange = make_exchange(context.parts, groups, context.stepper.layout)
    transport_rank = None
    contexts = {CHEMISTRY_RANKS: context}
    if groups.transports:
        transport_rank = TransportRank(context.parts.case, meteorology, groups, context.stepper.threads, exchange)
        contexts |= {TRANSPORT_RANKS: transport_rank.context}
        executor.runners |= transport_rank.runners
        executor.values |= transport_rank.values
    first = next(number for number, stage in enumerate(executor.program.stages) if stage.kernel == "redistribute")
    executor.runners["redistribute"] = RedistributionRunner(exchange, contexts, first, transport_rank)


def make_exchange(parts: Parts, groups: Groups, layout: Layout) -> Exchange:
    """Return the communication of this rank with the other group; collective over both groups.

    layout  of any part of the area
    raises  CaseError if ranks of a group have different devices
    """
    _, rows, columns = parts.whole.shape
    settings, widths = parts.case.parallel, pack_widths(parts.case, groups)
    tiles = None if settings.tiles == "auto" else settings.tiles
    decomposition = Decomposition.of(rows, columns, widths["chemistry"], len(groups.chemistry), tiles)
    whole = Layout(rows, columns, widths["transport"], layout.dtype)
    species, levels = len(parts.network.species), parts.whole.shape[0]
    return Exchange(
        groups, decomposition, whole, species, levels, settings.groups.strategy, split_levels=parts.case.moves_planes
    )


def pack_widths(case: Case, groups: Groups) -> dict[str, int]:
    """Return the columns in a pack of each group, which follow from its device; collective over both groups.

    Raises CaseError if ranks of a group have different devices, as "auto" allows.
    """
    own = [
        (name, backend(case.device_of(name)).width)
        for name, ranks in groups.by_name.items() if groups.world.rank in ranks
    ]  # fmt: skip
    found = {each for widths in groups.world.gather_all(own) for each in widths}
    for name in groups.by_name:
        if sum(each == name for each, _ in found) > 1:
            raise CaseError(
                f"only some ranks of {name} have a GPU: set parallel.groups.{name}_device to the device of all of them"
            )
    return dict(found)


class RedistributionRunner(StageRunner):
    """Runner that moves a value, with its budget, between the groups.

    contexts        contexts of the placements of this rank
    first           on chemistry ranks the index of the stage with which the transport ranks begin a step
    transport_rank  the transport rank of a process that is in both groups
    """

    def __init__(
        self, exchange: Exchange, contexts: dict[str, AirContext], first: int | None = None,
        transport_rank: "TransportRank | None" = None,
    ) -> None:  # fmt: skip
        self._exchange, self._contexts, self._first = exchange, contexts, first
        self._transport_rank = transport_rank

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Send or receive a value; the first redistribution of a step starts the step on the transport ranks."""
        if number == self._first:
            self._exchange.send_step(*given[0])
        source, target = (self._contexts.get(each) for each in stage.placements)
        before, after = (None if each is None else each.stepper.state for each in (source, target))
        move = self._exchange.to_transport if stage.placements[1] == TRANSPORT_RANKS else self._exchange.to_chemistry
        sender = source or target
        assert sender is not None
        numbers = move(before, after, sender.budget.copy())
        if target is not None:
            target.budget.put(numbers)
        return []

    def predicted(self, program: Program) -> float:
        """Return the predicted time of the redistributions of a step [s]."""
        there, back = self._exchange.predicted
        moves = [stage.placements[1] for stage in program.stages if stage.kernel == "redistribute"]
        return sum(there if target == TRANSPORT_RANKS else back for target in moves)

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the maximum one, as for a stage of transport."""
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
        case = next(iter(self._contexts.values())).parts.case
        ranks = ", ".join(
            f"{len(held)} {name} ranks on {case.device_of(name)}" for name, held in groups.by_name.items()
        )
        note = f"{ranks}; {exchange.plan.name}: messages {1e6 * line.alpha:.3g} us + {1e9 * line.beta:.3g} ns/B"
        return [Table("Two groups", ("stage", "predicted [s]", "measured [s]"), rows, note)]

    def close(self) -> None:
        """Stop the transport ranks."""
        self._exchange.send_step()
        self._exchange.close()
        if self._transport_rank is not None:
            self._transport_rank.close()


class TransportRunner(OneStepRunner):
    """Runner of the stages of transport on a transport rank; sums contain the species of all transport ranks."""

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
        """Advance the state over a piece, see :meth:`OneStepRunner.move`."""
        return tuple((each, self._groups.gather_sums(sums, *self._planes)) for each, sums in super().move(begin, step))

    def _clips_much(self, sums: Array) -> bool:
        """Return whether clipping added too much of a species on any transport rank."""
        return bool(self._groups.own.total(np.array([int(super()._clips_much(sums))]))[0])


class TransportRank:
    """Transport rank: some species of a case in the whole area, with all or some of their levels.

    Each rank computes forcing and emission of one tile; an all-gather distributes them.

    exchange  None to create one
    """

    def __init__(
        self, case: Case, meteorology: Given, groups: Groups, threads: int, exchange: Exchange | None = None
    ) -> None:
        rows, columns = case.make_grid().shape[1:]
        device = case.device_of("transport")
        self._gathering = Allgather(groups.own, rows, columns, backend(device).width)
        parts = assemble(case, meteorology, self._gathering.ranks, device=device, any_tiles=True)
        self.program = case.program(parts.network, updates=bool(parts.updates))
        self.context = _make_context(parts, groups, threads, self._gathering)
        self._own_exchange = exchange is None
        self._exchange = exchange or make_exchange(parts, groups, self.context.stepper.layout)
        self.values = {TRANSPORT_RANKS: PackedValues(self.context)}
        runner = TransportRunner(self.context, groups, self._exchange)
        transport = [each for each in self.program.stages if each.placement == TRANSPORT_RANKS]
        self.runners: dict[str, StageRunner] = {each.key: runner for each in transport}

    def run(self) -> None:
        """Run the stages of transport of each step of the chemistry ranks, until these end."""
        redistribution = RedistributionRunner(self._exchange, {TRANSPORT_RANKS: self.context})
        runners = self.runners | {"redistribute": redistribution}
        while (step := self._exchange.receive_step()) is not None:
            given = [[stage.over(*step)] for stage in self.program.stages]
            walk_forwards(self.program, runners, self.values, given)

    def close(self) -> None:
        """Stop the threads, and close the exchange and the input."""
        self.context.stepper.close()
        self.context.parts.meteorology.close()
        if self._own_exchange:
            self._exchange.close()
        self._gathering.close()


def _make_context(parts: Parts, groups: Groups, threads: int, gathering: Allgather) -> AirContext:
    """Return the context of the stages of transport: some species and levels in the whole area."""
    # code of these species and levels
    case, names = parts.case, parts.network.names
    own = groups.own_planes(len(names), parts.whole.shape[0], split_levels=case.moves_planes)
    network = without_reactions(parts.network, own.species)
    kernel = parts.backend.compile_mechanism(
        network, own.levels.stop - own.levels.start, case.chemistry.precision,
        directions="horizontal" if case.moves_planes else "all",
        operators=tuple(of_some_species(each, own.species) for each in parts.processes.operators),
    )  # fmt: skip

    # forcing and emission: those of a tile, gathered
    layout = kernel.layout(*parts.whole.shape[1:])
    tile = replace(layout, rows=parts.grid.shape[1], columns=parts.grid.shape[2])
    emitting = () if case.moves_planes else parts.own_sources
    emitted = CombinedEmissions(emitting).species if emitting else ()
    positions = [position for position, name in enumerate(emitted) if name in network.names]
    sources = GatheredSources(
        gathering, positions, emitting, tile, parts.grid.shape[1:], parts.start, parts.subdomain.total_over_columns
    )
    processes = parts.processes.only(HORIZONTAL) if case.moves_planes else parts.processes
    forcing = GatheredForcing(
        gathering, _gathered_fields(processes, own, upward=not case.moves_planes),
        parts.grid, tile, parts.meteorology, processes, lambda met, _: np.zeros((0, *parts.grid.shape)),
        parts.begin, sunlit_until=parts.sunlit_until, also=sources.middles, greatest=parts.subdomain.greatest,
        directions=("horizontal",) if case.moves_planes else ("all",),
    )  # fmt: skip

    # state and budget
    constants = _constants_of(own, step_constants(replace(parts, grid=parts.whole), ()))
    numbers = [network.index(emitted[position]) for position in positions]
    stepper = kernel.stepper(layout, replace(constants, emitted=numbers), threads=threads)
    light = PackedLight(
        kernel, layout, parts.whole.lon, parts.whole.lat, case.time.start, clouds=case.photolysis.cloud
    )  # fmt: skip
    families = sum(element in parts.network.atoms for element in FAMILIES)
    return AirContext(parts, stepper, forcing, sources, light, Budget(len(names), families, parts.processes.terms))


def _gathered_fields(processes: Processes, own: Planes, *, upward: bool) -> GatheredFields:
    """Return the fields of the whole area that the transport of some species and levels reads."""
    fluxes: dict[str, LevelSelection] = {"flux_x": own.levels, "flux_y": own.levels}
    fluxes |= dict.fromkeys(("temperature", "water"), own.levels) if processes.any_rate_reads(WEATHER) else {}
    fluxes |= {"cloud": slice(None)} if processes.any_rate_reads(LIGHT) else {}
    fields: dict[str, LevelSelection] = {}
    for operator in processes.operators:
        mine = [slot for slot, number in enumerate(operator.species) if own.species.start <= number < own.species.stop]
        for each in operator.fields:
            of_ground: LevelSelection = slice(None) if each.shape == "ground" else own.levels
            fields[each.name] = mine if each.species else of_ground
    return GatheredFields(fluxes, fields, own.levels if upward else None)


def _constants_of(own: Planes, constants: StepConstants) -> StepConstants:
    """Return the constants of some species and levels."""
    thickness = constants.thickness
    return replace(
        constants, profile=constants.profile[own.species, own.levels], top=constants.top[own.species],
        density_factor=constants.density_factor[own.levels], vertical_weights=constants.vertical_weights[own.levels],
        thickness=None if thickness is None else thickness[own.levels],
    )  # fmt: skip

"""The air-quality model: emission, transport, mixing, chemistry and deposition over a longitude-latitude box."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.fields import FieldView
from airshed.core.report import Report
from airshed.core.stages import begin_stage
from airshed.grid import Grid
from airshed.grid.box import Box
from airshed.kernels.backend import StepKernel
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import PackedView
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.assembly import Parts, assemble, initial_state
from airshed.models.air.budget import FAMILIES, Baseline, Budget
from airshed.models.air.case import Case
from airshed.models.air.emissions.biogenic import BiogenicEmissions
from airshed.models.air.emissions.sources import PackedSources
from airshed.models.air.fields import cell_values_of, weather_of_output
from airshed.models.air.forcing import Forcing
from airshed.models.air.light import PackedLight
from airshed.models.air.programs.air_check import AirCheck
from airshed.models.air.programs.cell_chemistry import CellCounts
from airshed.models.air.programs.context import AirContext, batch_size, make_halo, step_constants
from airshed.models.air.programs.forward import WAITING, directions_of, make_executor
from airshed.models.air.programs.groups import transport_remotely
from airshed.models.air.programs.one_step import without_reactions
from airshed.models.air.programs.step_times import StepTimes, device_table
from airshed.models.air.rates import RateFactors, open_rates
from airshed.models.air.repacked_state import in_packs
from airshed.models.air.report import summary
from airshed.models.air.weather import MetState
from airshed.models.air.weather.case_weather import Given
from airshed.models.air.weather.state import WINDS, winds
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.parallel.groups import Groups
from airshed.process.settable import Settable
from airshed.program.placement import check_devices
from airshed.program.stage import EVERYTHING
from airshed.runtime.model import CASE_HASH, BatchLimits, SavedState, Snapshot, Timings

if TYPE_CHECKING:
    import xarray as xr


_OF_BASELINE = ("amounts", "processes", "imbalance")


class AirModel:
    """Air-quality model of a case; implements :class:`airshed.runtime.model.Model`.

    The state is q [mol/mol] (species, level, lat, lon) at two time levels, advanced by the program of the case. Each
    rank stores its own columns; steps, budgets and the summary are collective.

    trials  times of trial steps on each device; empty if the case gives the device
    """

    def __init__(
        self, case: Case, meteorology: Given = None, initial: "xr.Dataset | None" = None, *, threads: int = 1,
        ranks: Communicator | None = None, groups: Groups | None = None, rate_factors: RateFactors | None = None,
    ) -> None:  # fmt: skip
        self.case = case
        self._groups, self._ranks_gone = groups, False
        self.parts: Parts = assemble(case, meteorology, ranks if groups is None else groups.own)
        if rate_factors is not None:
            self.parts.network = rate_factors.of(self.parts.network)
        self.subdomain = self.parts.subdomain
        self.network, self.grid = self.parts.network, self.parts.grid
        if groups is not None:
            groups.check_species(len(self.network.species), self.whole.shape[0], split_levels=case.moves_planes)
        self.settable = Settable(self.parts.processes)
        self.fields = self.parts.fields(self.settable.values())
        self.families = tuple(element for element in FAMILIES if element in self.network.atoms)
        self.program = case.program(self.network, updates=bool(self.parts.updates))
        self.backend = self.parts.backend
        check_devices(self.program, self.backend.devices)
        fused = self.program.stages[0].kernel == EVERYTHING
        begin_stage("compiling the chemistry")
        self.kernel = self._compiled(self.network if fused else without_reactions(self.network))
        _, rows, columns = self.grid.shape
        self.layout = self.kernel.layout(rows, columns)
        self.sources = PackedSources(
            self.parts.own_sources, self.layout, (rows, columns), self.parts.start, self.subdomain.total_over_columns
        )
        self._vegetation = [source for source in self.parts.sources if isinstance(source, BiogenicEmissions)]
        self.forcing = Forcing(
            self.grid, self.layout, self.parts.meteorology, self.parts.processes,
            partial(open_rates, self.parts.rate_check, self.parts.light), self.parts.begin,
            sunlit_until=self.parts.sunlit_until, also=self.sources.middles, greatest=self.subdomain.greatest,
            directions=("all", "horizontal", "vertical") if case.moves_planes else ("all",),
        )  # fmt: skip
        halo = make_halo(self.parts, self.layout) if groups is None else None
        batch = batch_size(self.parts, self.kernel) if fused and len(self.program.stages) == 1 else 1
        self.seconds, self.steps, self._looked_ahead_until = self.parts.begin, 0, -inf
        self._weather: tuple[float, MetState] | None = None
        self.constants = step_constants(self.parts, self.sources.species)
        self.stepper = self.kernel.stepper(
            self.layout, self.constants, threads=threads, batch=batch,
            neighbours=halo, total=self.parts.total(self.kernel),
        )  # fmt: skip
        self.budget = Budget(len(self.network.species), len(self.families), self.parts.processes.terms)
        light = PackedLight(
            self.kernel, self.layout, self.grid.lon, self.grid.lat, case.time.start, clouds=case.photolysis.cloud,
            times=batch,
        )  # fmt: skip
        self._check = AirCheck(self.parts, self.stepper, self.sources)
        context = AirContext(self.parts, self.stepper, self.forcing, self.sources, light, self.budget)
        self.executor = make_executor(self.program, context, self.families, threads=threads)
        if groups is not None:
            transport_remotely(self.executor, context, meteorology, groups)
        self.trials: Mapping[str, StepTimes] = {}
        self.own_fields: dict[str, AnyArray] = {} if self.executor.updates is None else self.executor.updates.fields
        begin_stage("setting the initial air")
        self._set_initial(initial)

    @property
    def whole(self) -> Grid:
        """The grid of the case."""
        return self.parts.whole

    @cached_property
    def domain(self) -> Domain:
        """The grid of the case, the ranks, and the columns of this rank, which the state stores in blocks."""
        subdomain = self.subdomain
        held = Box((subdomain.tile.rows, subdomain.tile.blocks))
        return Domain(
            self.whole.axes, subdomain.ranks, subdomain.window.box, held, self.parts.attributes,
            tiling=replace(self.layout, dtype=np.float64),
        )  # fmt: skip

    def next_change(self) -> float:
        """The next instant of the meteorology, change of the emission, or end of the spin-up [s]."""
        spun_up = 0.0 if self.seconds < 0.0 else inf  # budgets begin at the end of the spin-up
        return min(self.forcing.next_change(self.seconds), self.sources.next_change(self.seconds), spun_up)

    def longest_step(self, until: float) -> float:
        """Return the step [s] of the case, or the maximum stable one; raises NumericalError for an unstable step."""
        return self.executor.longest_step(self.seconds, until)

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance by steps that end at these increasing times, the last one not after :meth:`next_change`."""
        begin = self.seconds
        for end in self.executor.advance(begin, ends):
            # prefetch the forcing that follows the hour or interval of this step
            if self.seconds >= self._looked_ahead_until:
                middle = 0.5 * (self.seconds + end)
                for source in self._vegetation:
                    source.totals(middle)  # now, since its weather will be discarded
                self.forcing.read_ahead(self.seconds, self.stepper.pool)
                self.sources.read_ahead(self.seconds, self.stepper.pool)
                self._looked_ahead_until = self.next_change()
            self.seconds, self.steps = end, self.steps + 1
            if end == 0.0 and self.parts.begin < 0.0:
                self.begin_budget()
        self._check.after(begin, self.seconds)

    @property
    def batch_limits(self) -> BatchLimits:
        """Size of a step batch, and lifetime of views."""
        return BatchLimits(self.stepper.batch, self.executor.lasting)

    def begin_budget(self) -> None:
        """Start the budgets at the current time."""
        self.baseline = self.budget.begin(self.seconds, self.amounts())

    def mixing_ratios(self) -> Array:
        """The state (species, level, lat, lon) [mol/mol]."""
        return self.layout.unpack(self.stepper.state.q)

    def amounts(self) -> Array:
        """The amount of each species in the whole area [mol], (species,)."""
        self._check_ranks()
        air, unpack = self.layout.unpack(self.stepper.state.air), self.layout.unpack
        columns = [np.add.reduce(unpack(self._packed(name)) * air, axis=0) for name in self.network.names]
        return self.subdomain.total_over_columns(np.array(columns))

    def value(self, name: str) -> Array:
        """Return a field by its registered name: a species [mol/mol] (level, lat, lon), a process or weather field."""
        self.fields.select([name], where="field")
        if name in self.settable:
            return self.settable.value(name)
        if name in WINDS:
            return winds(self.weather(), self.grid)[name]
        weather = weather_of_output(name)
        return self.layout.unpack(self._packed(name)) if weather is None else getattr(self.weather(), weather)

    def view(self, name: str) -> FieldView | Array:
        """Return a field as :meth:`value` does, but a species as a view of the state."""
        self._check_ranks()
        self.fields.select([name], where="field")
        if name in self.settable or name in WINDS:
            return self.value(name)
        weather = weather_of_output(name)
        return PackedView(self.layout, self._packed(name)) if weather is None else self.weather().view(weather)

    def set(self, name: str, value: object) -> None:
        """Change a species, a field or a settable number of a process, with effect from the next step.

        The budget counts a change of a species as part of the initial amount.
        """
        if name in self.settable:
            if self._groups is not None:
                self._groups.refuse_changes([name])
            if self.settable.set(name, value):
                self.forcing.renew()
                self.executor.restart()
            return
        spec = self.fields[name]
        values = cell_values_of(spec, spec.shape(self.domain.axes.sizes), value)
        packed = self.layout.pack(self.domain.box.of(values))
        if name in self.own_fields:
            self.own_fields[name][...] = packed
            return
        number, before, state = self.network.index(name), self.amounts(), self.stepper.state
        state.q[:, :, number] = state.q_other[:, :, number] = packed
        self.baseline = replace(self.baseline, amounts=self.baseline.amounts + (self.amounts() - before))
        self._note_change()
        self.executor.restart()

    def weather(self) -> MetState:
        """The meteorology at the current time, interpolated once for all fields of an output."""
        if self._weather is None or self._weather[0] != self.seconds:
            self._weather = self.seconds, self.parts.meteorology.at(self.seconds)
        return self._weather[1]

    def timings(self) -> Timings:
        """Wall time of the parts of all steps so far, see ``air.programs.forward``."""
        balance = self.executor.balance
        return Timings(self.executor.wall(), WAITING, [] if balance is None else [balance.summary()])

    @property
    def cell_counts(self) -> CellCounts | None:
        """Step counts of cell chemistry over all ranks; None without chemistry stages of cells."""
        return self.executor.cell_counts()

    def begin_with(self, q: Array) -> None:
        """Set the initial mixing ratios (species, level, lat, lon) [mol/mol], before the first step."""
        state = self.stepper.state
        state.q[...] = state.q_other[...] = self.layout.pack(q)
        self._note_change()
        self.begin_budget()

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Change the lateral profile (species, level) and the top (species,) [mol/mol], before the first step."""
        self.constants = replace(self.constants, profile=profile, top=top)
        self.executor.set_boundary(profile, top)

    def save(self) -> Snapshot:
        """Return the whole state, see :class:`airshed.runtime.model.Model`."""
        tiled: dict[str, npt.NDArray[Any]] = {
            f"state.{name}": self.layout.memory.fetch(array) for name, array in vars(self.stepper.state).items()
        }
        runners = self.executor.save()
        tiled |= runners.tiled
        whole: dict[str, npt.NDArray[Any]] = {f"budget.{name}": array for name, array in self.budget.save().items()}
        whole |= {f"baseline.{name}": getattr(self.baseline, name) for name in _OF_BASELINE}
        whole |= runners.whole
        for source in self._vegetation:
            whole |= {f"vegetation.{name}": array for name, array in source.save().items()}
        metadata = {
            "steps": self.steps, "seconds": self.seconds, "baseline_seconds": self.baseline.seconds,
            "settable": self.settable.changed, **runners.metadata,
        }  # fmt: skip
        return Snapshot(tiled, whole, metadata)

    def restore(self, saved: SavedState) -> None:
        """Restore a saved state of the same case, independent of ranks and device that saved it; collective."""
        held, whole, metadata = self.domain.held, saved.whole, saved.metadata
        saved = in_packs(saved, held, self.layout.width, self.whole.shape[2])
        for name, array in vars(self.stepper.state).items():
            array[...] = saved.part(f"state.{name}", held)
        self.executor.restore(saved, held)
        self._note_change()
        if metadata.get(CASE_HASH, self.case.hash) != self.case.hash:  # sources and losses may jump
            self.executor.restart()
        changed = metadata.get("settable", {})
        if self._groups is not None:
            self._groups.refuse_changes(changed)
        self.settable.restore(changed)
        self.forcing.renew()
        for source in self._vegetation:
            if "vegetation.middles" in whole:
                source.restore({name: whole[f"vegetation.{name}"] for name in source.save()})
        self.budget.restore({name[7:]: whole[name] for name in whole if name.startswith("budget.")})
        self.baseline = Baseline(
            metadata["baseline_seconds"], *(whole[f"baseline.{name}"].copy() for name in _OF_BASELINE)
        )
        self.steps, self.seconds, self._looked_ahead_until = metadata["steps"], metadata["seconds"], -inf
        self.forcing.interval(self.forcing.index_at(self.seconds))  # loads the weather of the interval

    def close(self) -> None:
        """Stop the threads of the model, and close its files."""
        self.executor.close()
        self.parts.meteorology.close()
        if self._groups is not None:
            self._groups.close()
            self._ranks_gone = True

    def summary(self, *, brief: bool = False) -> Report:
        """Return budgets, extremes, emission and input, see ``air.report``."""
        report = summary(self, brief=brief)
        tables = [*report.tables, *self.executor.tables()]
        if self.trials:
            measured = sum(self.executor.spent.values()) / max(self.executor.walked, 1)
            tables.append(device_table(self.trials, self.parts.device, measured))
        return replace(report, tables=tables)

    def _check_ranks(self) -> None:
        """Raise CaseError if the communicator of the groups was freed, for operations that are collective."""
        if self._ranks_gone:
            raise CaseError("this simulation was closed, or ended by an error; create a new one")

    def _packed(self, name: str) -> AnyArray:
        """Return the packed array of a species, or of a field that a process adds."""
        own, state = self.own_fields, self.stepper.state
        return own[name] if name in own else state.q[:, :, self.network.index(name)]

    def _note_change(self) -> None:
        """Check the changed state after the next step, and start to copy it to the device."""
        self._check.forget()
        self.layout.memory.prefetch(vars(self.stepper.state).values(), constant=False)

    def _compiled(self, network: ReactionNetwork) -> StepKernel:
        """Return the compiled step of a network for the levels and the transport of the case."""
        return self.backend.compile_mechanism(
            network, self.grid.shape[0], self.case.chemistry.precision, families=self.families,
            directions=directions_of(self.program),
            operators=self.parts.processes.operators,
        )  # fmt: skip

    def _set_initial(self, given: "xr.Dataset | None") -> None:
        pressure = self.parts.meteorology.at(self.parts.begin).pressure
        state, q = self.stepper.state, initial_state(self.parts, pressure, given)
        if not np.isfinite(q).all() or q.min() < 0.0 or q.max() > 1.0 + 1e-6:
            raise CaseError("the initial state has mixing ratios that are negative, not finite, or above 1")
        state.air[...] = state.air_other[...] = self.layout.pack(self.forcing.instant(0).air)
        self.begin_with(q)

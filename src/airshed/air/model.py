"""The air-quality model: emission, transport, mixing, chemistry and deposition over a longitude-latitude box."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, repeat
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.air.assembly import Parts, assemble, initial_state
from airshed.air.budget import FAMILIES, Baseline, Budget
from airshed.air.case import Case
from airshed.air.case_weather import Given
from airshed.air.cell_chemistry import CellCounts
from airshed.air.fields import WEATHER, air_registry
from airshed.air.forcing import Forcing
from airshed.air.light import PackedLight
from airshed.air.meteorology import MetState
from airshed.air.moving import without_reactions
from airshed.air.open_rates import open_rates
from airshed.air.report import summary
from airshed.air.sources import BiogenicSource, PackedSources
from airshed.air.splitting import make_strang
from airshed.air.stepping import batch_size, make_halo, make_own_stepper
from airshed.air.two_groups.remote_transport import RemoteTransport
from airshed.air.wall import WAITING, wall, wall_notes
from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.errors import CaseError, NumericalError
from airshed.core.protocols import FieldView
from airshed.core.report import Report
from airshed.grid import Grid
from airshed.grid.box import Box
from airshed.grid.lonlat import lonlat_axes
from airshed.kernels.backend import StepKernel, backend
from airshed.kernels.layout import PackedView
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import ColumnForcing, StepForcing, TwoStepWeights
from airshed.mechanism.network import ReactionNetwork
from airshed.parallel.balance import Balance
from airshed.parallel.communicator import Communicator
from airshed.parallel.groups import Groups
from airshed.process.twostep import EULER_STEPS, GROWTH, LEAST_SHARE, two_step_weights, weight_of_jump
from airshed.runtime.domain import Domain
from airshed.runtime.model import Pace, Saved, Snapshot, Timings

Array = npt.NDArray[np.float64]

LARGEST_COURANT = 0.5
"""Sum of Courant numbers beyond which the limited two-step scheme may oscillate or go negative."""

_OF_COLUMN = ("temperature", "water", "parameters")
_OF_BASELINE = ("amounts", "processes", "imbalance")
_WEATHER_NAMES = {"air_temperature": "temperature", "air_pressure": "pressure"}  # fields that MetState names shorter


class AirModel:
    """One case in memory: its state and what moves it; satisfies :class:`airshed.runtime.model.Model`.

    The state is q [mol/mol] (species, level, lat, lon) at two time levels, advanced by ``process.twostep``. With
    several ranks it is that of this one's columns; steps, budgets and the summary are made by all ranks together.
    """

    def __init__(
        self, case: Case, meteorology: Given = None, initial: xr.Dataset | None = None, *, threads: int = 1,
        ranks: Communicator | None = None, groups: Groups | None = None,
    ) -> None:  # fmt: skip
        self.case = case
        self._groups, self._ranks_gone = groups, False
        self.parts: Parts = assemble(case, meteorology, ranks if groups is None else groups.own)
        self.share = self.parts.share
        self.network, self.grid = self.parts.network, self.parts.grid
        if groups is not None:
            planes = len(self.network.species), self.parts.whole.shape[0]
            groups.check_species(*planes, apart=case.moves_planes)  # before anything is compiled
        self.fields = air_registry(
            [(species.name, species.text) for species in self.network.species],
            {species.name: species.molar_mass for species in self.network.species},
        )
        self.families = tuple(element for element in FAMILIES if element in self.network.atoms)
        split = case.chemistry.integrator == "strang"
        self.kernel = self._compiled(without_reactions(self.network) if split else self.network)
        _, rows, columns = self.grid.shape
        self.layout = self.kernel.layout(rows, columns)
        self.sources = PackedSources(
            self.parts.own_sources, self.layout, (rows, columns), self.parts.start, self.share.total_over_columns
        )
        self._vegetation = [source for source in self.parts.sources if isinstance(source, BiogenicSource)]
        self.forcing = self._make_forcing()
        halo = make_halo(self.parts, self.layout) if groups is None else None
        batch = 1 if split else batch_size(self.parts, self.kernel)
        self._light = PackedLight(
            self.kernel, self.layout, self.grid.lon, self.grid.lat, case.time.start, clouds=case.photolysis.cloud,
            times=batch,
        )  # fmt: skip
        self.seconds, self.steps = self.parts.begin, 0
        self._looked_ahead_until = -inf
        self._previous_step: float | None = None
        self._anew = 0  # so many more steps begin anew
        self._weather: tuple[float, MetState] | None = None
        self.stepper = make_own_stepper(
            self.parts, self.kernel, self.layout, self.sources, threads=threads, neighbours=halo,
            batch=batch,
        )  # fmt: skip
        self._strang = make_strang(
            self.parts, self.stepper, self.forcing, self.sources, self._light, families=self.families,
            meteorology=meteorology, groups=groups, threads=threads,
        ) if split else None  # fmt: skip
        self._earlier_counts = CellCounts().to_array()
        self.budget = Budget(len(self.network.species), len(self.families), self.parts.processes.terms)
        self._emitted = [self.network.index(name) for name in self.sources.species]
        self._set_initial(initial)

    @property
    def whole(self) -> Grid:
        """The grid of the case."""
        return self.parts.whole

    @cached_property
    def domain(self) -> Domain:
        """The grid of the case, its ranks, and the columns of this one; the state has them in blocks."""
        share = self.share
        held = Box((share.tile.rows, share.tile.blocks))
        return Domain(lonlat_axes(self.whole), share.ranks, share.window.box, held, self.parts.attributes)

    def next_change(self) -> float:
        """The next instant of the meteorology, change of the emission, or end of the spin-up [s]."""
        spun_up = 0.0 if self.seconds < 0.0 else inf  # budgets begin there
        return min(self.forcing.next_change(self.seconds), self.sources.next_change(self.seconds), spun_up)

    def longest_step(self, until: float) -> float:
        """The step [s] of the case, or the longest one for its Courant number and `time.longest`.

        Raises NumericalError when the case fixes a step at which the transport would not be stable.
        """
        rate = self.forcing.outflow_rate(self.seconds)
        fixed = self.case.time.step
        if fixed == "auto":
            acts = bool(self.network.reactions or self.parts.processes.terms)
            column = self.case.time.longest.value if acts else min(until - self.seconds, SECONDS_PER_HOUR)
            pieces = rate > 0.0 and self._strang is None
            return min(self.case.time.courant / rate, column) if pieces else column
        if self._strang is not None:
            return fixed.value
        step = min(fixed.value, until - self.seconds)
        if step * rate > LARGEST_COURANT:
            raise NumericalError(
                f"time.step = {fixed.text!r} is too long for the wind at {self.seconds:g} s: its Courant number is "
                f"{step * rate:.2f}, at most {LARGEST_COURANT} is stable; take {LARGEST_COURANT / rate:.0f} s or less, "
                'or "auto"'
            )
        return fixed.value

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance by steps that end at these rising times, the last of them no later than :meth:`next_change`."""
        if self._strang is not None:
            for end in ends:
                self._strang.step(self.seconds, end, self.budget)
                self._finish_step(end)
                self._check_finite(self.budget.amounts, end)
            return
        batch = self.pace.at_once
        for first in range(0, len(ends), batch):
            self._step_batch(ends[first : first + batch])

    def _step_batch(self, ends: Sequence[float]) -> None:
        first = self._first_emission(ends[0] - self.seconds)
        usual = self.sources.at(0.5 * (self.seconds + ends[0]))
        emissions = [first or usual, *repeat(usual, len(ends) - 1)]
        columns = self._columns(ends, [packed for packed, _ in emissions])
        boundaries = pairwise([self.seconds, *ends])
        steps, emitted_in = list[StepForcing](), list[Array]()
        for (begin, end), column, (_, emitted) in zip(boundaries, columns, emissions, strict=True):
            step, previous = end - begin, self._previous_step
            anew = self._begins_anew(step)
            weights = two_step_weights(step, previous, anew=anew)
            ratio = 0.0 if anew or previous is None else step / previous
            steps.append(StepForcing(weights, self.forcing.transport(begin, ratio), column))
            emitted_in.append(emitted)
            self._previous_step, self._anew = step, max(self._anew - 1, 0)
        sums = self.share.totals(self.stepper.advance(steps), self.kernel.sums)
        for end, step_forcing, emitted, totals in zip(ends, steps, emitted_in, sums, strict=True):
            self._follow(end, step_forcing.weights, emitted, totals)
            self._finish_step(end)

    def _follow(self, end: float, weights: TwoStepWeights, emitted: Array, totals: Array) -> None:
        """Add a step that ended at a time [s] to the budget: what was emitted in it [mol/s], and its sums."""
        sums, imbalance = self.stepper.by_term(totals)
        emission = np.zeros(len(self.network.species))
        emission[self._emitted] = emitted
        terms = dict(zip(self.kernel.terms, sums, strict=True)) | {"emitted": emission}
        self.budget.add(weights, terms, imbalance)
        self._check_finite(sums, end)

    def _first_emission(self, step: float) -> tuple[AnyArray, Array] | None:
        """Return the emission of the next step [s] where that is the first after a change; else None.

        Where it would be negative, as something ends, steps begin anew. All ranks call this.
        """
        if self._previous_step is None or not self.sources.changes_at(self.seconds):
            return None
        carried = self.sources.after_change(self.seconds, weight_of_jump(step, self._previous_step))
        if self.sources.negative_share(carried[0]) > LEAST_SHARE:
            self._anew = EULER_STEPS
        return None if self._begins_anew(step) else carried

    def _begins_anew(self, step: float) -> bool:
        """Whether a step [s] after an earlier one begins anew: as emission has ended, or since it is much longer."""
        return self._anew > 0 or (self._previous_step is not None and step > GROWTH * self._previous_step)

    @property
    def pace(self) -> Pace:
        """How many steps it makes at once, and how long views last.

        Two time levels take turns: the next step reads the newest one, and the step after that overwrites it. Strang
        splitting works on both within a step.
        """
        return Pace(self.stepper.batch, 1 if self._strang is None else 0)

    def _finish_step(self, seconds: float) -> None:
        if self.seconds >= self._looked_ahead_until:
            self._look_ahead(0.5 * (self.seconds + seconds))
        self.seconds, self.steps = seconds, self.steps + 1
        if self.seconds == 0.0 and self.parts.begin < 0.0:
            self.begin_budget()

    def _look_ahead(self, middle: float) -> None:
        """Prepare what comes after the hour or interval that has begun with this step; `middle` [s] is that of it."""
        for source in self._vegetation:
            source.totals(middle)  # now, since its weather will not stay at hand
        self.forcing.read_ahead(self.seconds, self.stepper.pool)
        self.sources.read_ahead(self.seconds, self.stepper.pool)
        self._looked_ahead_until = self.next_change()

    def begin_budget(self) -> None:
        """Count budgets from now on."""
        self.baseline = Baseline(self.seconds, self.amounts(), self.budget.amounts.copy(), self.budget.imbalance.copy())

    def mixing_ratios(self) -> Array:
        """The state (species, level, lat, lon) [mol/mol]."""
        return self.layout.unpack(self.stepper.state.q)

    def amounts(self) -> Array:
        """The amount of each species in the whole area [mol], (species,)."""
        self._check_ranks()
        air = self.layout.unpack(self.stepper.state.air)
        columns = [np.add.reduce(self._species(number) * air, axis=0) for number in range(len(self.network.species))]
        return self.share.total_over_columns(np.array(columns))

    def value(self, name: str) -> Array:
        """A field by its registered name: a species [mol/mol] (level, lat, lon), or a field of the weather."""
        spec = self.fields.select([name], where="field")[0]
        if spec in WEATHER:
            return np.asarray(getattr(self.weather(), _WEATHER_NAMES.get(spec.name, spec.name)))
        return self._species(self.network.index(name))

    def view(self, name: str) -> FieldView | Array:
        """A field as :meth:`value` gives it, but a species where it lies in the state."""
        self._check_ranks()
        if self.fields.select([name], where="field")[0] in WEATHER:
            return self.value(name)
        return PackedView(self.layout, self.stepper.state.q[:, :, self.network.index(name)])

    def weather(self) -> MetState:
        """The meteorology at the present time, interpolated once for all fields of an output."""
        if self._weather is None or self._weather[0] != self.seconds:
            self._weather = self.seconds, self.parts.meteorology.at(self.seconds)
        return self._weather[1]

    def timings(self) -> Timings:
        """Wall time of the parts of all steps so far, see ``air.wall``."""
        parts = wall(self.stepper, self._strang)
        return Timings(parts, WAITING, wall_notes(self._strang))

    @property
    def balance(self) -> Balance | None:
        """What lets other ranks do chemistry of this one; None where nothing does."""
        return None if self._strang is None or self._strang.chemistry is None else self._strang.chemistry.balance

    @property
    def cell_counts(self) -> CellCounts | None:
        """What became of cells of all ranks whose chemistry has its own steps; None where none has."""
        if self._strang is None or self._strang.chemistry is None:
            return None
        own = self._strang.chemistry.counts.to_array()
        return CellCounts(*(self._earlier_counts + self.share.ranks.total(own)).tolist())

    def save(self) -> Snapshot:
        """Return the whole state, see :class:`airshed.runtime.model.Model`."""
        tiled: dict[str, npt.NDArray[Any]] = {
            f"state.{name}": array for name, array in vars(self.stepper.state).items()
        }
        if self._strang is not None:
            tiled |= {f"chemistry.{name}": array for name, array in self._strang.save().items()}
        whole: dict[str, npt.NDArray[Any]] = {f"budget.{name}": array for name, array in self.budget.save().items()}
        whole |= {f"baseline.{name}": getattr(self.baseline, name) for name in _OF_BASELINE}
        counts = self.cell_counts
        if counts is not None:
            whole["chemistry.counts"] = counts.to_array()
        for source in self._vegetation:
            whole |= {f"vegetation.{name}": array for name, array in source.save().items()}
        metadata = {
            "steps": self.steps, "previous_step": self._previous_step, "baseline_seconds": self.baseline.seconds,
            "seconds": self.seconds, "anew": self._anew,
        }  # fmt: skip
        return Snapshot(tiled, whole, metadata)

    def restore(self, saved: Saved) -> None:
        """Take over a saved state of the same case, whatever the ranks that it was saved by; all of them together."""
        held, whole, metadata = self.domain.held, saved.whole, saved.metadata
        for name, array in vars(self.stepper.state).items():
            array[...] = saved.part(f"state.{name}", held)
        if self._strang is not None:
            chemistry = self._strang.save()
            self._strang.restore({name: saved.part(f"chemistry.{name}", held) for name in chemistry})
        if self._strang is not None and self._strang.chemistry is not None:
            self._earlier_counts, self._strang.chemistry.counts = whole["chemistry.counts"], CellCounts()
        for source in self._vegetation:
            if "vegetation.middles" in whole:
                source.restore({name: whole[f"vegetation.{name}"] for name in source.save()})
        self.budget.restore({name: whole[f"budget.{name}"] for name in self.budget.save()})
        self.baseline = Baseline(
            metadata["baseline_seconds"], *(whole[f"baseline.{name}"].copy() for name in _OF_BASELINE)
        )
        self.steps, self._previous_step = metadata["steps"], metadata["previous_step"]
        self._anew = metadata["anew"]
        self.seconds, self._looked_ahead_until = metadata["seconds"], -inf
        self.forcing.interval(self.forcing.index_at(self.seconds))  # its weather is at hand from now on

    def close(self) -> None:
        """End the model's threads, and close what it reads."""
        self.stepper.close()
        self.parts.meteorology.close()
        if self._strang is not None:
            self._strang.close()
        if self._groups is not None:
            self._groups.close()
            self._ranks_gone = True

    def summary(self, *, brief: bool = False) -> Report:
        """Budgets, extremes, emission and input, see ``air.report``."""
        report = summary(self, brief=brief)
        if self._strang is None or not isinstance(self._strang.moving, RemoteTransport):
            return report
        return replace(report, tables=[*report.tables, self._strang.moving.table()])

    def _check_ranks(self) -> None:
        """Refuse what ranks in groups do together, once their communicator was given back."""
        if self._ranks_gone:
            raise CaseError("this simulation was closed, or ended by an error; make a new one")

    def _species(self, number: int) -> Array:
        return self.layout.unpack(self.stepper.state.q[:, :, number])

    def _open_rates(self, met: MetState, seconds: float) -> Array:
        return open_rates(self.parts.rate_check, self.parts.light, met, seconds)

    def _columns(self, ends: Sequence[float], emissions: Sequence[AnyArray]) -> list[ColumnForcing]:
        """The forcing of columns at the ends of steps, all of them in one interval, each with its emission."""
        interval = self.forcing.interval(self.forcing.index_until(ends[-1]))
        weights = [interval.weight(end) for end in ends]
        suns = self._light.at(ends, interval.pair("cloud"), weights)
        temperature, water, parameters = (interval.pair(name) for name in _OF_COLUMN)
        fields = interval.fields(self.parts.processes.implicit_fields)
        each = zip(weights, emissions, suns, strict=True)
        return [
            ColumnForcing(temperature, water, weight, emission, sun, parameters, fields)
            for weight, emission, sun in each
        ]

    def _compiled(self, network: ReactionNetwork) -> StepKernel:
        """The step of a network over the levels of the case, where its transport goes."""
        return backend().compile_mechanism(
            network, self.grid.shape[0], self.case.chemistry.precision, families=self.families,
            directions="horizontal" if self.case.moves_planes else "all",
            operators=self.parts.processes.operators,
        )  # fmt: skip

    def _make_forcing(self) -> Forcing:
        return Forcing(
            self.grid, self.layout, self.parts.meteorology, self.parts.processes, self._open_rates,
            begin=self.parts.begin, sunlit_until=self.parts.sunlit_until, advection=self.case.transport.advection,
            greatest=self.share.greatest, also=self.sources.middles,
            directions=("all", "horizontal", "vertical") if self.case.moves_planes else ("all",),
        )  # fmt: skip

    def _set_initial(self, given: xr.Dataset | None) -> None:
        pressure = self.parts.meteorology.at(self.parts.begin).pressure
        state, q = self.stepper.state, initial_state(self.parts, pressure, given)
        if not np.isfinite(q).all() or q.min() < 0.0 or q.max() > 1.0 + 1e-6:
            raise CaseError("the initial state holds mixing ratios that are negative, not finite, or above 1")
        state.q[...] = state.q_other[...] = self.layout.pack(q)
        state.air[...] = state.air_other[...] = self.layout.pack(self.forcing.instant(0).air)
        self.begin_budget()

    def _check_finite(self, sums: Array, seconds: float) -> None:
        """Raise NumericalError where sums (..., species) show that the state at a time [s] is lost."""
        if np.isfinite(sums).all():
            return
        names = [self.network.names[i] for i in np.flatnonzero(~np.isfinite(np.atleast_2d(sums)).all(axis=0))[:3]]
        raise NumericalError(
            f"the state is no longer finite at {seconds:g} s ({', '.join(names)}): check rate constants and "
            "emissions, or shorten time.step"
        )

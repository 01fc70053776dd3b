"""Backward pass: reverse the steps of a trajectory and sum the adjoints of all inputs of a run.

A number of a process enters the steps, the fields at the instants of the forcing, or both:

    dJ/dp = (adjoint from steps) + sum over instants of <dJ/dfield, dfield/dp>
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.checkpoints.actions import Action
from airshed.inverse.checkpoints.commits import Commits, Part
from airshed.inverse.checkpoints.stores import Arrays
from airshed.inverse.checkpoints.trajectory import Trajectory
from airshed.inverse.cost import Cost, add_gradient
from airshed.inverse.reverse.area import Area
from airshed.inverse.reverse.derivatives import Derivatives
from airshed.inverse.reverse.runners import AdjointOptions
from airshed.kernels.backend import SummedInputAdjoints
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.step.arguments import FieldAdjoint, InputAdjoints, Pair, StepForcing, TimeLevel
from airshed.models.air.model import AirModel
from airshed.models.air.programs.records import FormulaStep, StepRecord
from airshed.process.settable import field_derivatives
from airshed.runtime.locking import quick_turns


@dataclass(frozen=True)
class ReadSensitivities:
    """Sensitivities to the inputs of processes.

    fields    dJ/dfield by name and instant [s], with the axes of the field among (species, level, lat, lon)
    relative  sensitivity to a factor on a field at all times, by name: sum of field * dJ/dfield over the instants
    numbers   dJ/dp of the numbers that can be set while a model runs, by the names of :class:`Settable`
    """

    fields: Mapping[str, Mapping[float, Array]]
    relative: Mapping[str, Array]
    numbers: Mapping[str, float]


class FieldInstants:
    """Packed fields that steps read, one array for each name and instant.

    Recomputed steps read new arrays with the same values. These are replaced by the first array, so that adjoints are
    summed in the same order under every checkpoint plan.
    """

    def __init__(self, model: AirModel, area: Area) -> None:
        self._model, self._area = model, area
        self._fields: dict[tuple[str, float], AnyArray] = {}
        self._when: dict[int, float] = {}

    def unified(self, record: StepRecord) -> StepRecord:
        """Return a step that reads the first array of each field and instant."""
        return record.with_forcing(self._unified_forcing)

    def _unified_forcing(self, step: FormulaStep) -> StepForcing:
        forcing, column = step.forcing, step.forcing.column
        explicit = self._unified_fields(forcing.transport.fields, step.begin)
        if column is not None:
            column = replace(column, fields=self._unified_fields(column.fields, 0.5 * (step.begin + step.end)))
        return replace(forcing, transport=replace(forcing.transport, fields=explicit), column=column)

    def _unified_fields(self, fields: Mapping[str, Pair], inside: float) -> dict[str, Pair]:
        ends = self._model.forcing.ends_around(inside)
        return {name: (self._one(name, first, ends[0]), self._one(name, last, ends[1]))
                for name, (first, last) in fields.items()}  # fmt: skip

    def _one(self, name: str, field: AnyArray, seconds: float) -> AnyArray:
        found = self._fields.setdefault((name, seconds), field)
        self._when[id(found)] = seconds
        return found

    def parts(self, reads: Sequence[SummedInputAdjoints]) -> dict[str, Part]:
        """Return the adjoints of fields computed so far, grouped by instant."""
        together: defaultdict[tuple[int, float], list[tuple[FieldAdjoint, int]]] = defaultdict(list)
        for which, each, last in _with_last(reads):
            together[which, self._when[id(each.field)]].append((each, last))
        return {
            f"read-{number}": Part(max(last for _, last in fields), partial(_arrays, [each for each, _ in fields]))
            for number, fields in enumerate(together.values())
        }

    def facts(self, reads: Sequence[SummedInputAdjoints]) -> dict[str, Any]:
        """Return the kernel, name, instant [s] and last pass of each field, in the order of summation."""
        fields = [(which, each.name, self._when[id(each.field)], last) for which, each, last in _with_last(reads)]
        return {"read": fields, "passes": [read.passes for read in reads]}

    def resume(self, reads: Sequence[SummedInputAdjoints], commits: Commits) -> None:
        """Restore the adjoints of fields of a commit."""
        assert commits.note is not None
        listed = commits.note["read"]
        places = dict.fromkeys((which, seconds) for which, _, seconds, _ in listed)
        arrays = {place: commits.get(f"read-{number}") for number, place in enumerate(places)}
        restored: list[list[tuple[FieldAdjoint, int]]] = [[] for _ in reads]
        for which, name, seconds, last in listed:
            found = arrays[which, seconds]
            field, adjoint = (aligned_copy(found[f"{name}.{what}"]) for what in ("field", "adjoint"))
            restored[which].append((FieldAdjoint(name, self._one(name, field, seconds), adjoint), last))
        for read, fields, passes in zip(reads, restored, commits.note["passes"], strict=True):
            read.restore(fields, passes)

    def read(self, found: InputAdjoints) -> ReadSensitivities:
        """Return the adjoints of fields by name and instant, and the derivatives of numbers that follow from them."""
        fields: defaultdict[str, dict[float, Array]] = defaultdict(dict)
        relative: dict[str, Array] = {}
        for each in sorted(
            found.fields, key=lambda each: (each.name, self._when[id(each.field)])
        ):  # the same order on all ranks
            adjoint, field = self._area.whole(each.adjoint), self._area.whole(each.field)
            at, seconds = fields[each.name], self._when[id(each.field)]
            at[seconds] = at[seconds] + adjoint if seconds in at else adjoint
            relative[each.name] = relative.get(each.name, 0.0) + field * adjoint
        return ReadSensitivities(fields, relative, self._numbers(found.numbers, fields))

    def _numbers(self, found: Mapping[str, Array], fields: Mapping[str, Mapping[float, Array]]) -> dict[str, float]:
        model, totals = self._model, {}
        for name in model.settable:
            bound, setting, place = model.settable.place(name)
            own = found.get(f"{bound.key}_{setting}")
            total = 0.0 if own is None else self._sum(own[..., place if own.shape[-1] > 1 else 0])
            own_fields = {each.name for each in bound.fields} & set(fields)
            for seconds in sorted({time for each in own_fields for time in fields[each]}):
                model.forcing.interval(model.forcing.index_at(seconds))  # loads the weather of this interval
                around = getattr(model.parts.meteorology, "around", model.parts.meteorology.at)
                state = model.parts.meteorology.at(seconds)
                slopes = field_derivatives(bound, (setting, place), state, seconds, around)
                total += sum(
                    float(np.sum(fields[each].get(seconds, 0.0) * self._joined(slopes[each])))
                    for each in sorted(own_fields)
                )
            totals[name] = total
        return totals

    def _joined(self, field: Array) -> Array:
        return field if field.ndim < 2 else self._area.joined(field)  # a field without columns is the same on all ranks

    def _sum(self, columns: Array) -> float:
        return float(self._area.total(columns[..., None])[0])


def _with_last(reads: Sequence[SummedInputAdjoints]) -> Iterator[tuple[int, FieldAdjoint, int]]:
    for which, read in enumerate(reads):
        for each, last in zip(read.fields, read.last_passes, strict=True):
            yield which, each, last


def _arrays(fields: Sequence[FieldAdjoint]) -> Arrays:
    named = {f"{each.name}.field": each.field for each in fields}
    return named | {f"{each.name}.adjoint": each.adjoint for each in fields}


Progress = Callable[[float], None]
"""Callback for the completed fraction of the backward pass, 0 to 1."""

Passing = Callable[[float, Callable[[], Array]], None]
"""Callback for a time [s] of the backward pass. Its second argument is a function that returns the sensitivity to a
jump of the mixing ratios at that time (species, level, lat, lon)."""


@dataclass(frozen=True)
class Adjoints:
    """Sensitivities of a cost to all inputs of a run, for the whole area and the same on all ranks.

    The derivatives are per unit of:

    initial    mixing ratios at the beginning (species, level, lat, lon)
    sources    emission rates [s/mol] by the beginning [s] of their period: (species, lowest levels, lat, lon)
    boundary   lateral boundary concentrations by instant [s] (species, level, face cell); for a profile at 0 s
    boundary_profile  the sum of `boundary` over faces and instants (species, level)
    top        mixing ratios above the area (species,)
    reactions  a factor on the rate of each reaction (reaction,); None if not requested
    read       inputs that processes read in steps; None if not requested
    """

    initial: Array
    sources: Mapping[float, Array]
    boundary: Mapping[float, Array]
    boundary_profile: Array
    top: Array
    reactions: Array | None
    read: ReadSensitivities | None


class Backward:
    """Backward pass of a model.

    derivatives    derivatives of the steps of the model
    cost           cost that was evaluated in the forward run
    source_levels  number of lowest levels with adjoints of sources
    """

    def __init__(
        self, model: AirModel, derivatives: Derivatives, cost: Cost, options: AdjointOptions, source_levels: int = 1
    ) -> None:
        self._model, self._cost, self._source_levels, self._options = model, cost, source_levels, options
        self._executor = derivatives.adjoint(self._options)
        self._area, self._instants = derivatives.area, FieldInstants(model, derivatives.area)
        self._sources: dict[float, AnyArray] = {}
        self._changed: dict[float, int] = {}  # steps still to be reversed when a source was last added to
        self._left = 0

    def run(
        self, trajectory: Trajectory, actions: Iterable[Action], progress: Progress = lambda part: None,
        passing: Passing = lambda seconds, jump: None, pause: Callable[[], None] = lambda: None,
    ) -> Adjoints:  # fmt: skip
        """Reverse all steps; pause: callback between two steps, where the state can be committed."""
        executor, count = self._executor, len(trajectory.ends)
        with quick_turns():
            for step in trajectory.reverse(actions):
                left = self._left = trajectory.left or 0
                if left == count - 1:
                    executor.start(self._model.stepper.state.tendency)
                self._add_cost(step.record.end, executor.x)
                if executor.reads:
                    step = replace(step, record=self._instants.unified(step.record))

                # The adjoint of the sources of each period of the step.
                for begin in {begin for each in step.record.formula_steps for begin, _ in each.emission}:
                    if begin not in self._sources:
                        species = len(self._model.network.species)
                        self._sources[begin] = self._model.layout.zeros(species, self._source_levels)
                    self._changed[begin] = left
                executor.reverse(step, self._sources)

                passing(step.record.begin, partial(self._jump, step.levels[1], step.record.begin))
                progress(1.0 - left / count)
                if left:
                    pause()
                else:
                    executor.finish(step.levels[1])
        self._add_cost(trajectory.begin, executor.x)
        return self._found()

    def parts(self) -> Mapping[str, Part]:
        """Return the adjoints between two steps, see :class:`airshed.inverse.checkpoints.commits.CommitSource`."""
        found = {"adjoints": Part(self._left, self._executor.save)}
        for number, (begin, each) in enumerate(self._sources.items()):
            found[f"source-{number}"] = Part(self._changed[begin], partial(dict, adjoint=each))
        return found | self._instants.parts(self._executor.reads)

    def facts(self) -> Mapping[str, Any]:
        """Return the periods of sources and the instants of fields, in the order of summation."""
        return {"sources": list(self._changed.items()), **self._instants.facts(self._executor.reads)}

    def resume(self, commits: Commits, trajectory: Trajectory) -> None:
        """Continue from a commit after a step; the trajectory has already recomputed its stretch."""
        assert commits.note is not None
        assert trajectory.left is not None
        self._changed = dict(commits.note["sources"])
        for number, begin in enumerate(self._changed):
            self._sources[begin] = aligned_copy(commits.get(f"source-{number}")["adjoint"])
        reads, record = self._executor.reads, trajectory.record(trajectory.left)
        self._instants.resume(reads, commits)
        self._executor.restore(commits.get("adjoints"), self._instants.unified(record) if reads else record)

    def _jump(self, now: TimeLevel, seconds: float) -> Array:
        adjoint = self._executor.jump(now)
        self._add_cost(seconds, adjoint)
        return self._area.whole(adjoint)

    def _add_cost(self, seconds: float, adjoint: AnyArray) -> None:
        add_gradient(self._cost, seconds, self._area, self._model.network.names, adjoint)

    def _found(self) -> Adjoints:
        totals = self._executor.totals
        boundary_profile, top = self._area.total(totals.boundary_profile), self._area.total(totals.top)
        reactions = self._area.total(totals.reactions) if self._options.reactions else None
        boundary = {seconds: self._area.around(each) for seconds, each in totals.boundary.items()}
        sources = {begin: self._area.whole(each) for begin, each in sorted(self._sources.items())}
        read = None if totals.read is None else self._instants.read(totals.read)
        return Adjoints(self._area.whole(self._executor.x), sources, boundary, boundary_profile, top, reactions, read)

    def close(self) -> None:
        """Stop the threads."""
        self._executor.close()

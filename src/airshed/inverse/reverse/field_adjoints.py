"""Sensitivities of a cost to fields and numbers that processes read.

Numbers act in steps, or on fields at instants of the forcing, or both:

    dJ/dp = (what steps give to p) + sum over instants of <dJ/dfield, dfield/dp>
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.inverse.checkpoints.commits import AnyCommits, Part
from airshed.inverse.checkpoints.stores import Arrays
from airshed.inverse.reverse.area import Area
from airshed.kernels.backend import SummedReads
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.step.data import FieldAdjoint, Pair, ReadAdjoints, StepForcing
from airshed.models.air.model import AirModel
from airshed.models.air.programs.records import FormulaStep, StepRecord
from airshed.process.settable import field_derivatives

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ReadSensitivities:
    """Adjoints of what processes read.

    fields   dJ/dfield at instants [s], by name: (species, level, lat, lon) without what a field has not
    relative by name the sensitivity to a factor on a field at all times, sum of field * dJ/dfield over instants
    numbers  dJ/dp of the numbers that can be set while a model runs, by the names of :class:`Settable`
    """

    fields: Mapping[str, Mapping[float, Array]]
    relative: Mapping[str, Array]
    numbers: Mapping[str, float]


class FieldInstants:
    """The instants of packed fields that steps read.

    There is one array of each, by its name and instant, also where steps that are made again read another one like it:
    so adjoints add up in one order under every plan.
    """

    def __init__(self, model: AirModel, area: Area) -> None:
        self._model, self._area = model, area
        self._fields: dict[tuple[str, float], AnyArray] = {}
        self._when: dict[int, float] = {}

    def unified(self, record: StepRecord) -> StepRecord:
        """Return a step that reads the one array of each field and instant."""
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

    def parts(self, reads: Sequence[SummedReads]) -> dict[str, Part]:
        """Return the adjoints of fields so far, those of an instant together."""
        together: defaultdict[tuple[int, float], list[tuple[FieldAdjoint, int]]] = defaultdict(list)
        for which, each, last in _with_last(reads):
            together[which, self._when[id(each.field)]].append((each, last))
        return {
            f"read-{number}": Part(max(last for _, last in fields), partial(_arrays, [each for each, _ in fields]))
            for number, fields in enumerate(together.values())
        }

    def facts(self, reads: Sequence[SummedReads]) -> dict[str, Any]:
        """Return of fields which reads have them, names, instants [s] and last passes, in their order."""
        fields = [(which, each.name, self._when[id(each.field)], last) for which, each, last in _with_last(reads)]
        return {"read": fields, "passes": [read.passes for read in reads]}

    def resume(self, reads: Sequence[SummedReads], commits: AnyCommits) -> None:
        """Restore the adjoints of fields of a commit."""
        assert commits.note is not None
        said = commits.note["read"]
        places = dict.fromkeys((which, seconds) for which, _, seconds, _ in said)
        arrays = {place: commits.get(f"read-{number}") for number, place in enumerate(places)}
        kept: list[list[tuple[FieldAdjoint, int]]] = [[] for _ in reads]
        for which, name, seconds, last in said:
            found = arrays[which, seconds]
            field, adjoint = (aligned_copy(found[f"{name}.{what}"]) for what in ("field", "adjoint"))
            kept[which].append((FieldAdjoint(name, self._one(name, field, seconds), adjoint), last))
        for read, fields, passes in zip(reads, kept, commits.note["passes"], strict=True):
            read.restore(fields, passes)

    def read(self, found: ReadAdjoints) -> ReadSensitivities:
        """Return what was found by name and instant, and what follows for numbers."""
        fields: defaultdict[str, dict[float, Array]] = defaultdict(dict)
        relative: dict[str, Array] = {}
        for each in sorted(
            found.fields, key=lambda each: (each.name, self._when[id(each.field)])
        ):  # alike on all ranks
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
            wanted = {each.name for each in bound.fields} & set(fields)
            for seconds in sorted({time for each in wanted for time in fields[each]}):
                model.forcing.interval(model.forcing.index_at(seconds))  # its weather is at hand then
                around = getattr(model.parts.meteorology, "around", model.parts.meteorology.at)
                state = model.parts.meteorology.at(seconds)
                slopes = field_derivatives(bound, (setting, place), state, seconds, around)
                total += sum(
                    float(np.sum(fields[each].get(seconds, 0.0) * self._joined(slopes[each])))
                    for each in sorted(wanted)
                )
            totals[name] = total
        return totals

    def _joined(self, field: Array) -> Array:
        return field if field.ndim < 2 else self._area.joined(field)  # else alike everywhere

    def _sum(self, columns: Array) -> float:
        return float(self._area.total(columns[..., None])[0])


def _with_last(reads: Sequence[SummedReads]) -> Iterator[tuple[int, FieldAdjoint, int]]:
    for which, read in enumerate(reads):
        for each, last in zip(read.fields, read.last_passes, strict=True):
            yield which, each, last


def _arrays(fields: Sequence[FieldAdjoint]) -> Arrays:
    named = {f"{each.name}.field": each.field for each in fields}
    return named | {f"{each.name}.adjoint": each.adjoint for each in fields}

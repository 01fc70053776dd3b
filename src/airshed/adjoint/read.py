"""What fields and numbers that processes read are worth to a cost.

Numbers act in steps, or on fields at instants of the forcing, or both:

    dJ/dp = (what steps give to p) + sum over instants of <dJ/dfield, dfield/dp>
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.air.model import AirModel
from airshed.air.schemes.imex import Taken
from airshed.kernels.derivatives import ReadAdjoints
from airshed.kernels.memory import AnyArray
from airshed.process.derivative import field_derivatives

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Read:
    """Adjoints of what processes read.

    fields   dJ/dfield at instants [s], by name: (species, level, lat, lon) without what a field has not
    relative by name what a change of a field at all times by a factor is worth, sum of field * dJ/dfield over instants
    numbers  dJ/dp of the numbers that can be set while a model runs, by the names of :class:`Settable`
    """

    fields: Mapping[str, Mapping[float, Array]]
    relative: Mapping[str, Array]
    numbers: Mapping[str, float]


class Instants:
    """Knows at which instants the packed fields are that steps read."""

    def __init__(self, model: AirModel) -> None:
        self._model = model
        self._when: dict[int, float] = {}
        self._held: list[AnyArray] = []

    def note(self, taken: Taken) -> None:
        """Take note of the fields that a step reads."""
        column = taken.forcing.column
        assert column is not None
        for fields, inside in (
            (column.fields, 0.5 * (taken.begin + taken.end)), (taken.forcing.transport.fields, taken.begin)
        ):  # fmt: skip
            ends = self._model.forcing.ends_around(inside)
            for pair in fields.values():
                for field, seconds in zip(pair, ends, strict=True):
                    if id(field) not in self._when:
                        self._when[id(field)] = seconds
                        self._held.append(field)  # so that no other array takes its address

    def read(self, found: ReadAdjoints) -> Read:
        """Return what was found by name and instant, and what follows for numbers."""
        fields: defaultdict[str, dict[float, Array]] = defaultdict(dict)
        relative: dict[str, Array] = {}
        for each in found.fields:
            adjoint, field = (self._model.layout.unpack(array) for array in (each.adjoint, each.field))
            at, seconds = fields[each.name], self._when[id(each.field)]
            at[seconds] = at[seconds] + adjoint if seconds in at else adjoint
            relative[each.name] = relative.get(each.name, 0.0) + field * adjoint
        return Read(fields, relative, self._numbers(found.numbers, fields))

    def _numbers(self, found: Mapping[str, Array], fields: Mapping[str, Mapping[float, Array]]) -> dict[str, float]:
        model, totals = self._model, {}
        for name in model.settable:
            bound, setting, place = model.settable.place(name)
            own = found.get(f"{bound.key}_{setting}")
            total = 0.0 if own is None else float(own[..., place if own.shape[-1] > 1 else 0].sum())
            wanted = {each.name for each in bound.fields} & set(fields)
            for seconds in sorted({time for each in wanted for time in fields[each]}):
                model.forcing.interval(model.forcing.index_at(seconds))  # its weather is at hand then
                around = getattr(model.parts.meteorology, "around", model.parts.meteorology.at)
                state = model.parts.meteorology.at(seconds)
                slopes = field_derivatives(bound, (setting, place), state, seconds, around)
                total += sum(float(np.sum(fields[each].get(seconds, 0.0) * slopes[each])) for each in wanted)
            totals[name] = total
        return totals

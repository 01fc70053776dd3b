"""Models of points: what processes of kind `update` do to each cell in a step, as one compiled function.

    points = Points([Rain(...), Drainage(...)], CellFields(state, parameters, weather))
    step = points.compiled("double", threads=2)
    new = step({**state, **weather, **parameters, **points.numbers})      # as points.outputs names them
    new = step.advance({**state, **weather_of_days, **parameters, **points.numbers}, days)

The updates act in the order of their processes, within a process in that of its class. Formulas are put together once;
a process that is off is not among them, and its fluxes are zero.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.formula import derivative, evaluate_all
from airshed.formula.trace import Traced
from airshed.kernels.cells import CellFormulas, Precision
from airshed.process.bound import Bound
from airshed.process.composition import CellFields, Composition, check_alone, check_names
from airshed.process.declaration import Process
from airshed.process.processes import Processes
from airshed.process.settable import Settable

Array = npt.NDArray[np.float64]


class Points:
    """What processes do to the cells of a model in a step.

    fields     of its cells, without axes
    fluxes     that processes make, as fields without axes
    processes  sections of those that are on, in their order
    settable   numbers of them that can be changed between steps
    formulas   of a step: inputs are state, weather, parameters and settable numbers, as far as it needs them
    outputs    names of what a step returns: fields of the state that it changes, and fluxes

    Raises CaseError for processes that do not fit together, or that the model cannot have.
    """

    def __init__(self, processes: Iterable[Process], fields: CellFields) -> None:
        everyone = sorted(processes, key=lambda each: (each.order, type(each).__name__))
        for each in everyone:
            check_alone(each)
        acting = [each for each in everyone if each.is_on()]
        bound = Processes(map(Bound, acting))
        self.processes = tuple(each.process.section for each in bound)
        self.fields, self.settable = fields.flat, Settable(bound)
        self.split = fields.split
        """Returns values of fields with an axis by the names of their elements, see :meth:`CellFields.split`."""
        specs = [_flux_specs(each, fields) for each in everyone]
        check_names(fields, everyone, specs)
        self.fluxes = tuple(
            one
            for each, made in zip(everyone, specs, strict=True)
            if each in acting
            for spec in made
            for one in fields.elements(spec)
        )
        off = _fluxes(each for each in everyone if each not in acting)
        arrays = fields.arrays_of(spec for made in specs for spec in made)
        composition = Composition(fields, off, _fluxes(acting), arrays)
        for one in bound:
            composition.add(one)
        self.formulas, self.outputs = composition.traced()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what a step reads."""
        return self.formulas.inputs

    @property
    def numbers(self) -> dict[str, Array]:
        """The settable numbers as they are now, by the names of their fields."""
        return {name: self.settable.value(name) for name in self.settable}

    def compiled(self, precision: Precision = "double", *, threads: int = 1) -> CellFormulas:
        """Return the step, and any number of them, as compiled code; raises KernelError where there is no compiler."""
        steady = set(self.inputs).difference(self.outputs, (spec.name for spec in self.fields.weather))
        return CellFormulas(self.formulas, precision, names=self.outputs, steady=steady, threads=threads)

    def reference(self, values: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return what a step makes of values, by NumPy."""
        return dict(zip(self.outputs, evaluate_all(self.formulas.outputs, values), strict=True))

    def tangent(self, wrt: Sequence[str]) -> Traced:
        """Return the changes of the outputs with changes of some inputs, see :mod:`airshed.formula.derivative`."""
        return derivative.tangent(self._with_inputs(wrt), wrt)

    def adjoint(self, wrt: Sequence[str], of: Sequence[str] = ()) -> Traced:
        """Return the sensitivities of outputs to some inputs, see :mod:`airshed.formula.derivative`.

        A field of the state that the step only reads is no output, and passes its own on as it is.

        of  the outputs, by default all
        """
        traced = self._with_inputs(wrt)
        chosen = tuple(traced.outputs[self.outputs.index(name)] for name in of or self.outputs)
        return derivative.adjoint(Traced(traced.inputs, chosen), wrt)

    def _with_inputs(self, wrt: Sequence[str]) -> Traced:
        """The formulas with what the model has but the step does not read among their inputs: its derivative is 0."""
        fields = (*self.fields.state, *self.fields.parameters, *self.fields.weather, *self.settable.values())
        unread = {spec.name for spec in fields}.difference(self.inputs)
        return Traced((*self.inputs, *(name for name in wrt if name in unread)), self.formulas.outputs)


def _flux_specs(process: Process, fields: CellFields) -> list[FieldSpec]:
    """Return the fluxes of a process as fields; raises CaseError for an axis that the model does not have."""
    dims = fields.flat.state[0].dims
    for name, each in process.declaration.fluxes.items():
        if each.axis and each.axis not in fields.axes:
            raise CaseError(
                f"process {type(process).__name__}: {name} has the axis {each.axis!r}, which the model does not have; "
                f"{suggestion(each.axis, fields.axes)}"
            )
    return [
        FieldSpec(
            name, (each.axis, *dims) if each.axis else dims, each.unit, each.text, valid=each.valid, over_step=True
        )
        for name, each in process.declaration.fluxes.items()
    ]  # fmt: skip


def _fluxes(processes: Iterable[Process]) -> dict[str, str]:
    """Return the fluxes of processes, each with the name of its process."""
    return {name: type(each).__name__ for each in processes for name in each.declaration.fluxes}

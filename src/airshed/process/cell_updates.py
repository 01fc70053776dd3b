"""Updates of processes of the air-quality model: fields that they add, and formulas of a stage of cells.

The formulas read packed arrays without copies: species and process fields by their names, the air of each cell [mol],
its volume and layer thickness, the sun, and weather. Weather is read at both ends of an interval of the forcing, with
the weight of the end at the current instant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airshed.core.constants import GAS_CONSTANT
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.formula.evaluate import fold
from airshed.formula.trace import TracedFunction, trace
from airshed.formula.tree import Expression, substitute, symbols
from airshed.kernels.operators import AIR
from airshed.process.bound_process import BoundProcess
from airshed.process.declaration import RESERVED_TERMS, SHARED_TERMS, Process
from airshed.process.kinds import arguments
from airshed.process.points import CellFields, Composition
from airshed.process.processes import Processes
from airshed.process.updates import CellField

TIME_STEP: Final = "time_step"
"""Length of the stage [s]."""
VOLUME: Final = "volume of the cell"
WEIGHT: Final = "weight of the end of the interval"


def ends(name: str) -> tuple[str, str]:
    """Return the names of a field at the start and at the end of an interval, as formulas read it."""
    return f"{name} at the start", f"{name} at the end"


def _air_of_cells() -> dict[str, Expression]:
    """Return the formulas of the air of a cell that interpolate or combine inputs of the stage."""

    def formulas(cold: Any, warm: Any, dry: Any, wet: Any, weight: Any, air: Any, volume: Any) -> tuple[Any, ...]:
        temperature, density = cold + weight * (warm - cold), air / volume
        return temperature, density, density * (GAS_CONSTANT * temperature), dry + weight * (wet - dry)

    inputs = (*ends("temperature"), *ends("water_vapour"), WEIGHT, "air", VOLUME)
    return dict(
        zip(("temperature", "air_density", "pressure", "water_vapour"), trace(formulas, inputs).outputs, strict=True)
    )


_AIR: Final = _air_of_cells()


@dataclass(frozen=True)
class ProcessField:
    """A field that a process adds to the air-quality model.

    section    of the process;  owner  its class name, for messages
    is_flux    whether it is computed in each step: it starts with 0, and holds the value of the last step
    """

    name: str
    section: str
    owner: str
    field: CellField
    is_flux: bool = False

    @property
    def is_species(self) -> bool:
        """True if the field is transported: then it is a species."""
        return self.field.transported

    def spec(self, dims: tuple[str, ...]) -> FieldSpec:
        """Return the field specification for the registry."""
        own = self.field
        return FieldSpec(
            self.name, dims, own.unit, own.text, valid=own.valid, settable=not self.is_flux, over_step=self.is_flux
        )


def own_fields(processes: Iterable[type[Process]]) -> tuple[ProcessField, ...]:
    """Return the fields declared by processes, in their order."""
    found: list[ProcessField] = []
    for each in processes:
        own, names = each.declaration, (each.section, each.__name__)
        for name in (name for name, flux in own.fluxes.items() if flux.axis):
            raise CaseError(f"process {each.__name__}: {name} has an axis; fields of the air-quality model have none")
        found += [ProcessField(name, *names, state) for name, state in own.states.items()]
        found += [
            ProcessField(name, *names, CellField(flux.unit, flux.text, 0.0, flux.valid), is_flux=True)
            for name, flux in own.fluxes.items()
        ]
    return tuple(found)


@dataclass(frozen=True)
class CellUpdate:
    """All updates of one process, as formulas.

    outputs  names of the species and fields that they replace
    weather  field at both ends of an interval: name in formulas -> key in the forcing
    """

    bound: BoundProcess
    formulas: TracedFunction
    outputs: tuple[str, ...]
    weather: Mapping[str, str]

    @property
    def numbers(self) -> dict[str, float]:
        """The current settable numbers, by their names in formulas."""
        bound = self.bound
        settable = [name for name, each in bound.own.settings.items() if each.settable and not each.by_species]
        return {f"{bound.process.section}_{name}": float(bound.numbers[name]) for name in settable}


def cell_updates(processes: Processes, own: Sequence[ProcessField]) -> tuple[CellUpdate, ...]:
    """Return the updates of processes in their order; raises CaseError for inputs that are not available.

    own  fields that processes add
    """
    acting = [bound for bound in processes if bound.own.updates]
    terms = {*(each.term for each in processes.operators), *RESERVED_TERMS, *SHARED_TERMS}
    for bound in acting:
        if bound.replaced and bound.process.section in terms:
            raise CaseError(
                f"process {type(bound.process).__name__}: budgets count its updates under the section "
                f"{bound.process.section!r}, which is also another term; rename the section"
            )
    return tuple(
        _update(bound, [type(later.process) for later in acting[place:]], own) for place, bound in enumerate(acting)
    )


def _update(bound: BoundProcess, unfinished: Sequence[type[Process]], own: Sequence[ProcessField]) -> CellUpdate:
    """Return the updates of a process; unfinished: this and later processes, whose fluxes are not yet computed."""
    declared, me = bound.own, type(bound.process).__name__
    carried, still = set(bound.process.context.species), {each.__name__ for each in unfinished}
    later = {each.name: each.owner for each in own if each.is_flux and each.owner in still}
    others = [each.name for each in own if each.owner != me and each.name not in later]
    weather = {each.field: f"{bound.key}_{name}" for name, each in declared.weather.items()}
    offered = [name for name in (*AIR, TIME_STEP) if name not in declared.weather]
    for fault in _faults(bound, {*carried, *(each.name for each in own)}, offered):
        raise CaseError(f"process {me}: {fault}")
    mine = {each.name for each in own if each.owner == me and not each.is_flux}
    composition = Composition(
        CellFields(
            _fields(carried | mine),
            _fields(dict.fromkeys([*others, *declared.instants, *offered])),
            [FieldSpec(each.field, (), each.unit, each.field) for each in declared.weather.values()],
        ),
        {}, later,
    )  # fmt: skip
    composition.add(bound)
    traced, outputs = composition.traced()
    read = weather | {name: f"{bound.key}_{name}" for name in declared.instants}
    known = {name: each for name, each in _AIR.items() if name in offered} | {
        name: trace(lambda first, last, weight: first + weight * (last - first), (*ends(name), WEIGHT)).outputs[0]
        for name in read
    }
    formulas = tuple(fold(substitute(each, known)) for each in traced.outputs)
    return CellUpdate(
        bound,
        TracedFunction(symbols(*formulas), formulas),
        outputs,
        {name: key for name, key in read.items() if name in traced.inputs},
    )


def _fields(names: Iterable[str]) -> list[FieldSpec]:
    return [FieldSpec(name, (), "1", name) for name in sorted(names)]


def _faults(bound: BoundProcess, carried: set[str], offered: Sequence[str]) -> Iterator[str]:
    """Yield inputs that functions of a process cannot read, and ambiguous names."""
    own = bound.own
    for name, update in own.updates.items():
        for argument in arguments(update.function):
            asks = f"{name}() reads {argument}"
            if argument in own.settings and own.settings[argument].by_species:
                yield f"{asks}, a table by species; declare a plain number"
            if argument in own.weather and own.weather[argument].optional:
                hint = "let a function of @at_instant return a field where it is None"
                yield f"{asks}, optional weather that may be missing; {hint}"
            if argument in own.instants and bound.is_by_species(argument):
                yield f"{asks}, which has one value per species; make one field"
            if argument in carried and argument in (*offered, *own.weather, *own.instants):
                yield f"{asks}, which is a species or field and has a second meaning; rename one"
    for each in own.weather.values():
        if each.field in carried:
            yield f"it reads the weather {each.field}, which is also a species or field; rename one"

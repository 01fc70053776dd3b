"""Updates: what a process does to each cell in a step. It replaces fields of the state, and makes fluxes.

    class Drainage(Process, section="drainage", order=20):
        \"\"\"What is above field capacity drains: D = k max(W - C, 0) in a step.\"\"\"

        share = number(0.3, "Share that drains in a day.", settable=True)
        drained = flux("mm", "Water that drains in a day.")

        @update("water", "drained")
        def drains(water, capacity, share):
            drained = share * maximum(water - capacity, 0.0)
            return water - drained, drained

The function is given what its arguments name: fields of the state as earlier updates left them, fluxes of earlier
updates, weather and numbers of its own process, and parameters of the cell. Words and switches of its process are
given as they are set, so that it may choose by `if` what becomes code. It returns the values of what the declaration
names, in that order. A field with an axis, such as the water of soil layers, is an array: arithmetic acts on all
elements, `water[0]` is one, and loops are unrolled. :class:`airshed.process.points.Points` makes one step of all of
them for models of points, :mod:`airshed.process.cell_updates` the formulas of a stage of cells of the air. There the
state is the species and fields that processes declare themselves:

    dose = state("mol mol-1 h", "Ozone dose over 40 ppb.")

    @update("dose")
    def accumulates(dose, O3, threshold, time_step):
        return dose + maximum(O3 - threshold, 0.0) * time_step / 3600.0
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Final, TypeVar

from airshed.core.errors import CaseError, FormulaError
from airshed.core.text import counted
from airshed.core.units import same_unit
from airshed.formula.trace import NoAxisError, TracedArray, Tracer, expression_of
from airshed.formula.tree import Expression, Node, Symbol, substitute

F = TypeVar("F", bound=Callable[..., Any])
Arguments = Mapping[str, Any]
"""What a function is given by the names of its arguments: formulas, words, and None for weather that there is not."""

_PLAIN: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Flux:
    """A field that a process computes in each step, such as what drains; `axis` of a model of points is its own."""

    unit: str
    text: str
    valid: tuple[float, float]
    axis: str = ""


def flux(unit: str, text: str, *, least: float = -inf, most: float = inf, axis: str = "") -> Any:
    """Declare a flux: a field that an update of the process makes, for output and for later processes.

    least, most  range of its values;  axis  of the model of points along which it has elements, such as "layer"
    """
    return Flux(unit, text, (least, most), axis)


@dataclass(frozen=True)
class CellField:
    """A field of the state that a process of the air adds: it has a value in each cell.

    start        its value where a run begins
    transported  whether the air carries it, as a species without reactions: then it is a mixing ratio [mol/mol]
    atoms        of such a species: element -> number, from which its molar mass follows
    """

    unit: str
    text: str
    start: float
    valid: tuple[float, float]
    transported: bool = False
    atoms: Mapping[str, int] = field(default_factory=dict)


def state(
    unit: str, text: str, *, start: float = 0.0, least: float = -inf, most: float = inf, transported: bool = False,
    atoms: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """Declare a field of the state that updates of the process change, see :class:`CellField`.

    least, most  values that mean anything
    """
    return CellField(unit, text, start, (least, most), transported, dict(atoms or {}))


@dataclass(frozen=True)
class Update:
    """A function of a step that changes each cell by itself.

    names  of the fields of the state, and of the fluxes of the process, whose new values it returns
    """

    function: Callable[..., Any]
    names: tuple[str, ...]


def update(*names: str) -> Callable[[F], Any]:
    """Declare a function that changes each cell in a step, see :class:`Update`."""
    return lambda function: Update(function, names)


def formulas(where: str, each: Update, given: Arguments, sizes: Mapping[str, int] = {}) -> tuple[Expression, ...]:
    """Return what an update returns, as formulas of what it is given, arrays element by element.

    where  the process and the function, for messages;  sizes  elements of the arrays among what it returns
    Raises CaseError for a function that cannot become formulas, NoAxisError where it takes elements of a single value.
    """
    put_in: dict[str, Any] = {}

    def traced(name: str, value: Any) -> Any:
        if isinstance(value, TracedArray):
            return TracedArray([traced(f"{name}[{place}]", element.expression) for place, element in enumerate(value)])
        if not isinstance(value, Node):
            return value
        put_in[name] = value
        return Tracer(Symbol(name))

    try:
        result = each.function(*(traced(name, given[name]) for name in inspect.signature(each.function).parameters))
        results = result if isinstance(result, tuple | list) else [result]
        if len(each.names) == 1 and len(results) == sizes.get(each.names[0]):
            results = [results]
        if len(results) != len(each.names):
            raise CaseError(
                f"{where} returns {counted(len(results), 'value')}, and is to return {', '.join(each.names)}, in this "
                "order"
            )
        flat = [one for name, value in zip(each.names, results, strict=True) for one in _elements(name, value, sizes)]
        found = [expression_of(value) for value in flat]
    except NoAxisError:
        raise
    except (FormulaError, TypeError, IndexError, ValueError) as error:
        raise CaseError(f"{where} cannot become code: {error}") from error
    return tuple(substitute(each, put_in) for each in found)


def _elements(name: str, value: Any, sizes: Mapping[str, int]) -> Sequence[Any]:
    """Return the elements of a result: those of an array, of which a single value fills all."""
    size = sizes.get(name)
    if size is None:
        return [value]
    found = list(value) if isinstance(value, TracedArray | list | tuple) else [value] * size
    if len(found) != size:
        raise FormulaError(f"{name} has {size} elements, and {len(found)} are returned")
    return found


def check_updates(
    process: str, updates: Mapping[str, Update], fluxes: Sequence[str], states: Mapping[str, CellField],
    words: Mapping[str, object],
) -> None:  # fmt: skip
    """Refuse updates that mean nothing: of no field, of a field twice, no formulas; and fields that none changes.

    process  its name, for messages;  words  its settings that are no numbers, each with its default
    """
    for name, each in updates.items():
        for fault in _faults_of_update(name, each):
            raise CaseError(f"process {process}: {name}() {fault}")
        given = {key: words.get(key, Symbol(key)) for key in inspect.signature(each.function).parameters}
        with suppress(NoAxisError):  # the model has the sizes of arrays
            formulas(f"process {process}: {name}()", each, given)
    made = [name for each in updates.values() for name in each.names]
    for name in fluxes:
        if made.count(name) != 1:
            how = "no update makes it" if name not in made else "two updates make it; one function may, once in a step"
            raise CaseError(f"process {process}: {name} is a flux, but {how}")
    for name, own in states.items():
        for fault in _faults_of_state(own, changed=name in made):
            raise CaseError(f"process {process}: {name} {fault}")


def _faults_of_update(name: str, each: Update) -> Iterator[str]:
    if not each.names or not all(isinstance(name, str) and name.isidentifier() for name in each.names):
        yield 'is to name the fields that it returns: write @update("water", "drained")'
    for field_name in each.names:
        if each.names.count(field_name) > 1:
            yield f"returns {field_name} twice; name it once"
    arguments = inspect.signature(each.function).parameters
    if "self" in arguments:
        yield "cannot have self: it becomes code, and is no method"
    for argument in arguments.values():
        if argument.kind is not _PLAIN or argument.default is not argument.empty:
            yield f"cannot have the argument {argument}: write plain names, def {name}(water, rain)"


def _faults_of_state(own: CellField, *, changed: bool) -> Iterator[str]:
    low, high = own.valid
    if not changed:
        yield "is a state, but no update of the process returns it"
    if not (isfinite(own.start) and low <= own.start <= high):
        yield f"begins with {own.start!r}, which is to lie between {low:g} and {high:g}"
    if own.transported and not same_unit(own.unit, "mol/mol"):
        yield f"is transported and in {own.unit!r}: what the air carries is a mixing ratio; declare it in mol/mol"
    if own.transported and not 0.0 <= own.start <= 1.0:
        yield f"begins with {own.start!r}; a mixing ratio lies between 0 and 1"

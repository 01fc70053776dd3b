"""Updates: functions of a process that change each cell in a step. They replace fields of the state and compute fluxes.

    class Drainage(Process, section="drainage", order=20):
        \"\"\"Drainage of water above field capacity: D = k max(W - C, 0) in a step.\"\"\"

        share = number(0.3, "Share that drains in a day.", settable=True)
        drained = flux("mm", "Water that drains in a day.")

        @update("water", "drained")
        def drains(water, capacity, share):
            drained = share * maximum(water - capacity, 0.0)
            return water - drained, drained

The names of its arguments determine the inputs of the function. They are fields of the state and
fluxes after earlier updates, weather and numbers of its process, and parameters of the cell. Words and switches of
the process have their values, so that `if` selects code. The function returns values in the order of the names in its
declaration. A field with an axis, such as water in soil layers, is an array: arithmetic acts on all elements,
`water[0]` is one element, and loops are unrolled. :class:`airshed.process.points.Points` combines updates into the step
of a point model, :mod:`airshed.process.cell_updates` into a stage of cells of the air-quality model. There the state
consists of the species and of fields that processes declare:

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
"""Arguments of a function by name: formulas, words, and None for missing optional weather."""

_PLAIN: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Flux:
    """A field that a process computes in each step, such as drainage; `axis` is an axis of a point model."""

    unit: str
    text: str
    valid: tuple[float, float]
    axis: str = ""


def flux(unit: str, text: str, *, least: float = -inf, most: float = inf, axis: str = "") -> Any:
    """Declare a flux: a field that an update computes, for output and for later processes.

    least, most  range of its values;  axis  of the point model along which it has elements, such as "layer"
    """
    return Flux(unit, text, (least, most), axis)


@dataclass(frozen=True)
class CellField:
    """A field of the state that a process of the air-quality model adds, with a value in each cell.

    start        its value at the start of a run
    transported  whether it is transported as a species without reactions: then it is a mixing ratio [mol/mol]
    atoms        of such a species: element -> number; they determine its molar mass
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

    least, most  valid range
    """
    return CellField(unit, text, start, (least, most), transported, dict(atoms or {}))


@dataclass(frozen=True)
class Update:
    """Function of a step that changes each cell separately.

    names  fields of the state and fluxes of the process whose new values it returns
    """

    function: Callable[..., Any]
    names: tuple[str, ...]


def update(*names: str) -> Callable[[F], Any]:
    """Declare a function that changes each cell in a step, see :class:`Update`."""
    return lambda function: Update(function, names)


def formulas(where: str, each: Update, values: Arguments, sizes: Mapping[str, int] = {}) -> tuple[Expression, ...]:
    """Return the results of an update as formulas of its arguments, arrays element by element.

    where  process and function, for messages
    sizes  number of elements of arrays among the results

    Raises CaseError for a function that is no formula, NoAxisError for an element of a value without an axis.
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
        result = each.function(*(traced(name, values[name]) for name in inspect.signature(each.function).parameters))
        results = result if isinstance(result, tuple | list) else [result]
        if len(each.names) == 1 and len(results) == sizes.get(each.names[0]):
            results = [results]
        if len(results) != len(each.names):
            raise CaseError(
                f"{where} returns {counted(len(results), 'value')}, but must return {', '.join(each.names)}, in this "
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
    """Return the elements of a result; a single value fills all elements of an array."""
    size = sizes.get(name)
    if size is None:
        return [value]
    found = list(value) if isinstance(value, TracedArray | list | tuple) else [value] * size
    if len(found) != size:
        raise FormulaError(f"{name} has {size} elements, but the function returns {len(found)}")
    return found


def check_updates(
    process: str, updates: Mapping[str, Update], fluxes: Sequence[str], states: Mapping[str, CellField],
    words: Mapping[str, object],
) -> None:  # fmt: skip
    """Refuse invalid updates: no field, a field twice, no formulas; and fields that no update changes.

    process  its name, for messages;  words  settings that are not numbers, each with its default
    """
    for name, each in updates.items():
        for fault in _faults_of_update(name, each):
            raise CaseError(f"process {process}: {name}() {fault}")
        values = {key: words.get(key, Symbol(key)) for key in inspect.signature(each.function).parameters}
        with suppress(NoAxisError):  # sizes of arrays are known only in the model
            formulas(f"process {process}: {name}()", each, values)
    made = [name for each in updates.values() for name in each.names]
    for name in fluxes:
        if made.count(name) != 1:
            how = "no update computes it" if name not in made else "two updates compute it; only one update may"
            raise CaseError(f"process {process}: {name} is a flux, but {how}")
    for name, own in states.items():
        for fault in _faults_of_state(own, changed=name in made):
            raise CaseError(f"process {process}: {name} {fault}")


def _faults_of_update(name: str, each: Update) -> Iterator[str]:
    if not each.names or not all(isinstance(name, str) and name.isidentifier() for name in each.names):
        yield 'must name the fields that it returns: write @update("water", "drained")'
    for field_name in each.names:
        if each.names.count(field_name) > 1:
            yield f"returns {field_name} twice; name it once"
    arguments = inspect.signature(each.function).parameters
    if "self" in arguments:
        yield "cannot have self: it is compiled, so it cannot be a method"
    for argument in arguments.values():
        if argument.kind is not _PLAIN or argument.default is not argument.empty:
            yield f"cannot have the argument {argument}: write plain names, def {name}(water, rain)"


def _faults_of_state(own: CellField, *, changed: bool) -> Iterator[str]:
    low, high = own.valid
    if not changed:
        yield "is a state, but no update of the process returns it"
    if not (isfinite(own.start) and low <= own.start <= high):
        yield f"starts with {own.start!r}, which must be between {low:g} and {high:g}"
    if own.transported and not same_unit(own.unit, "mol/mol"):
        yield f"is transported and in {own.unit!r}: transported fields are mixing ratios; declare it in mol/mol"
    if own.transported and not 0.0 <= own.start <= 1.0:
        yield f"starts with {own.start!r}; a mixing ratio is between 0 and 1"

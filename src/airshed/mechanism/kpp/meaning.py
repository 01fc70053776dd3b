"""Resolution of names in formulas: the air, a rate function, the side file, or an open parameter."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Negate, Number, Symbol
from airshed.mechanism.expressions import AIR_GASES, ALIASES, FUNCTIONS, PHOTO, SYMBOLS, Parameter, call, parameters
from airshed.mechanism.file_air import AIR_NAMES, part_of_air
from airshed.mechanism.kpp.parser import finite, limited, parse_formula, short
from airshed.mechanism.kpp.rate_functions import OF_AIR, RATE_FUNCTIONS, of_dialect, rate_function
from airshed.mechanism.kpp.statements import (
    BinaryOperation,
    Formula,
    FunctionCall,
    MisplacedError,
    Name,
    Negation,
    WholeNumber,
)
from airshed.mechanism.location import nearest
from airshed.mechanism.network import HostFunction


@dataclass(frozen=True)
class Definition:
    """Definition of a name in a side file.

    arguments  names of a function's arguments; empty for a value
    value      a formula, or a function in Python (of the environment, and of constant arguments)
    locate     converts an offset in the formula into the MechanismError at that location
    """

    name: str
    arguments: tuple[str, ...]
    value: Formula | Callable[..., HostFunction]
    locate: Callable[[MisplacedError], MechanismError]


@dataclass(frozen=True)
class UnknownName:
    """Unexplained name, as written, with the number of its arguments.

    species  variable species whose concentrations are among the arguments
    """

    offset: int
    name: str
    text: str
    arguments: int = 0
    species: tuple[str, ...] = ()


def element_text(call: FunctionCall) -> str:
    """Return an element of a list, J(1) or J(ip_NO2), as text; empty for another call."""
    if len(call.arguments) != 1:
        return ""
    index = call.arguments[0]
    if isinstance(index, WholeNumber):
        return f"{call.name}({index.value:.0f})"
    return f"{call.name}({index.name})" if isinstance(index, Name) else ""


def element_key(call: FunctionCall) -> str:
    """Return the text of an element with its case folded."""
    return element_text(call).casefold()


def signature(definition: Definition) -> str:
    """Return a function with the names of its arguments."""
    return f"{definition.name}({', '.join(definition.arguments)})"


# Resolution of names in formulas.


_FORTRAN: Final = {  # other names of functions
    **{f"D{name}": name for name in ("EXP", "LOG", "LOG10", "SQRT", "ABS")},
    "ALOG": "LOG", "ALOG10": "LOG10", "FABS": "ABS", "DMAX1": "MAX", "DMIN1": "MIN", "AMAX1": "MAX", "AMIN1": "MIN",
}  # fmt: skip
_CONVERSIONS: Final = ("DBLE", "REAL", "FLOAT")  # of a number's precision, which is always double here

_CONCENTRATIONS: Final = ("C", "VAR", "FIX", "CONC")  # KPP's own lists
_INDEX: Final = re.compile("indf?_", re.IGNORECASE)

KNOWN: Final = (*SYMBOLS, *ALIASES, "CAIR", "CFACTOR")
"""Names that no side file may redefine."""


@dataclass
class NameResolver:
    """Resolver of formulas that collects unexplained names.

    definitions  of the side file, by their names with the case folded: ``k_x``, ``gcarr_ac``, ``j(1)``
    variable     names of variable species, case folded -> declared: a rate cannot name them
    fixed        the same of fixed species
    assigned     names, case folded, that the model's own code assigns
    given        other names that the code defines or declares: not the species of the same name
    computed     names that the code computes from concentrations
    imports      whether the code uses modules, which may define any name of the air
    sums         names of sums of variable species, case folded -> as written: parameters of a rate as it is read
    factor       CFACTOR of the file [molecules cm-3 per unit of its initial values], None if absent
    _in_arguments  whether arguments of a model's own function are resolved, which may be concentrations
    follows      whether a rate uses CFACTOR, or a rate function that does, as the density of air
    """

    definitions: Mapping[str, Definition] = field(default_factory=dict)
    variable: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    imports: bool = False
    sums: Mapping[str, str] = field(default_factory=dict)
    factor: float | None = None
    follows: bool = False
    unknown: list[UnknownName] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    bindings: dict[str, Expression] = field(default_factory=dict)
    callables: dict[str, HostFunction] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)
    _in_arguments: bool = False
    _offset: int = 0
    _above: list[str] = field(default_factory=list)

    @property
    def open_names(self) -> tuple[str, ...]:
        """Names of open parameters, as first written."""
        return tuple(self._open.values())

    def give(self, name: str) -> None:
        """Apply the side file's definition of a parameter of the network, if there is one."""
        definition = self.definitions.get(name.casefold())
        if definition is not None and not definition.arguments:
            self._value(definition)

    def expression(self, formula: Formula, offset: int) -> Expression:
        """Return the folded expression of a formula that starts at `offset`; raise MisplacedError.

        A constant part must be a finite number.
        """
        self._offset = offset
        return finite(fold(limited(self._resolve(formula, {}), offset)), offset)

    def _note_unknown(self, offset: int, name: str, text: str, values: Sequence[Expression] = ()) -> None:
        """Record an unexplained name; within a definition its location is the start of the outer formula."""
        species = {name for value in values for name in parameters(value)}.intersection(self.variable.values())
        place = self._offset if self._above else offset
        self.unknown.append(UnknownName(place, name, text, len(values), tuple(sorted(species))))

    def _resolve(self, formula: Formula, arguments: Mapping[str, Expression]) -> Expression:
        match formula:
            case Number(value):
                return Number(value)
            case Negation(operand):
                return Negate(self._resolve(operand, arguments))
            case BinaryOperation(operator, left, right):
                return Binary(operator, self._resolve(left, arguments), self._resolve(right, arguments))
            case Name():
                return self._name(formula, arguments)
        return self._call(formula, arguments)

    def _name(self, name: Name, arguments: Mapping[str, Expression], concentration: bool = False) -> Expression:
        """Return the expression of a name; `concentration` for that of a species written as C(ind_X)."""
        key = name.name.casefold()
        if key in arguments:
            return arguments[key]
        if name.name.upper() in AIR_NAMES:
            if key in self.computed or not (self.imports or key in self.given):
                self._refuse_variable(name)
            return Symbol(AIR_NAMES[name.name.upper()])
        if key == "cfactor":
            self._refuse_variable(name)
            return self._factor(name.offset)
        if key in self.sums:
            return Parameter(self.sums[key])
        if self._in_arguments and key in self.variable and key not in self.definitions:
            return Parameter(self.variable[key])
        definition = self.definitions.get(key)
        if definition is not None:
            if definition.arguments:
                raise MisplacedError(name.offset, f"{name.name} is a function: {signature(definition)}")
            return self._value(definition)
        if not concentration and key in self.assigned | self.computed and key in {**self.fixed, **self.variable}:
            raise MisplacedError(
                name.offset,
                f"{name.name} is a species and a value that inlined code sets, and a rate names it: write C(ind_"
                f"{name.name}) if the species is meant; if not, leave the species out or call one of them otherwise",
            )
        return self._left_open(name, key)

    def _left_open(self, name: Name, key: str) -> Expression:
        if key in self.fixed:
            return Parameter(self.fixed[key])
        self._refuse_variable(name)
        if key in self.assigned:
            self._note_unknown(name.offset, name.name, name.name)
        return Parameter(self._open.setdefault(key, name.name))

    def _refuse_variable(self, name: Name) -> None:
        """Raise MisplacedError for a variable species, including one with the name of the air or its temperature."""
        if name.name.casefold() not in self.variable:
            return
        symbol = AIR_NAMES.get(name.name.upper())
        otherwise = ""
        if symbol is not None:
            way = "declare it under #DEFFIX or #SETFIX" if symbol in AIR_GASES else "give the species another name"
            otherwise = f"; if {SYMBOLS[symbol].text} is meant, {way}"
        raise MisplacedError(name.offset, f"{of_variable(name.name)}{otherwise}")

    def _factor(self, offset: int) -> Expression:
        """Return CFACTOR in a rate: a fraction of the air of the run if it is one of the file's air, else 1."""
        if self.factor is None and "cfactor" in self.assigned:
            raise MisplacedError(offset, "inlined code gives CFACTOR, which is not read; write it under #INITVALUES")
        if self.factor is None or self.factor == 1.0:
            return Number(1.0)
        part = part_of_air(self.factor)
        if part is None:
            raise MisplacedError(
                offset, f"CFACTOR = {self.factor:g} is not the molecules cm-3 of 1 ppb, 1 ppm or all of the air, so "
                "that its value in other air is unknown; write its meaning, such as 1e-6*M"
            )  # fmt: skip
        self.follows = True
        return Symbol("M") if part == 1.0 else Binary("*", Number(part), Symbol("M"))

    def _value(self, definition: Definition) -> Expression:
        """Return the parameter of a value in the side file, and record its definition.

        A value that depends on a sum of species is expanded: each reaction needs the sum as a reactant.
        """
        name, key = definition.name, definition.name.casefold()
        self.used.add(key)
        if key in self._above:
            circle = " -> ".join((*self._above[self._above.index(key) :], key))
            raise definition.locate(MisplacedError(0, f"these rates define each other: {circle}"))
        if name not in self.bindings and name not in self.callables:
            if callable(definition.value):
                self.callables[name] = definition.value()
            else:
                inside = self._inside(definition, {})
                if set(self.sums.values()).intersection(parameters(inside)):
                    return inside
                self.bindings[name] = inside
        return Parameter(name)

    def _inside(self, definition: Definition, arguments: Mapping[str, Expression]) -> Expression:
        """Return the formula of a definition with its arguments substituted."""
        assert not callable(definition.value)
        if len(self._above) > 50:
            raise definition.locate(MisplacedError(0, "more than 50 definitions lead to each other here"))
        self._above.append(definition.name.casefold())
        before, self._in_arguments = self._in_arguments, False
        try:
            resolved = limited(self._resolve(definition.value, arguments), 0)
            return resolved if arguments else finite(fold(resolved), 0)
        except MisplacedError as error:
            raise definition.locate(error) from None
        finally:
            self._in_arguments = before
            self._above.pop()

    def _call(self, call: FunctionCall, arguments: Mapping[str, Expression]) -> Expression:
        key = call.name.casefold()
        element = self.definitions.get(element_key(call))
        if element is not None:
            return self._value(element)
        definition = self.definitions.get(key)
        if definition is not None and definition.arguments:
            return self._defined(definition, call, arguments)
        if self._is_element(call):
            return self._element(call)
        if _is_own(call.name):
            values = tuple(self._resolve(argument, arguments) for argument in call.arguments)
        else:
            values = self._arguments(call, arguments)
        try:
            found = rate_function(call.name, values, Symbol("M")) or self._elementary(call.name, values)
        except MechanismError as error:
            if of_dialect(call.name, len(values)) is None:
                raise MisplacedError(call.offset, str(error)) from None
            found = None
        self.follows |= call.name.upper() in OF_AIR
        constant = self._constant_function(key) if found is None and len(values) == 1 else None
        if constant is not None:
            return self._value(constant)
        if found is None:
            shown = ", ".join(map(str, values))
            text = f"{call.name}({short(shown)})"
            self._note_unknown(call.offset, call.name, text, values)
            return Number(1.0)
        return limited(found, call.offset)

    def _constant_function(self, key: str) -> Definition | None:
        """Return the definition k(x) whose formula does not name x, in the form of an element of a list."""
        alike = [name for name in self.definitions if name.startswith(f"{key}(")]
        is_named = len(alike) == 1 and not alike[0][len(key) + 1 : -1].isdigit()
        return self.definitions[alike[0]] if is_named else None

    def _arguments(self, call: FunctionCall, outer: Mapping[str, Expression]) -> tuple[Expression, ...]:
        """Return the arguments of a model's own function; a variable species is its concentration."""
        before, self._in_arguments = self._in_arguments, True
        try:
            return tuple(fold(limited(self._resolve(each, outer), call.offset)) for each in call.arguments)
        finally:
            self._in_arguments = before

    def _elementary(self, name: str, values: tuple[Expression, ...]) -> Expression | None:
        canonical = _FORTRAN.get(name.upper(), name.upper())
        if canonical in _CONVERSIONS and values:
            return values[0]
        if canonical in FUNCTIONS:
            return call(canonical, tuple(map(fold, values)) if canonical == PHOTO else values)
        return None

    def _defined(self, definition: Definition, call: FunctionCall, outer: Mapping[str, Expression]) -> Expression:
        if len(call.arguments) != len(definition.arguments):
            raise MisplacedError(call.offset, f"{call.name} takes {signature(definition)}")
        self.used.add(definition.name.casefold())
        values = self._arguments(call, outer)
        if not callable(definition.value):
            if definition.name.casefold() in self._above:
                raise MisplacedError(call.offset, f"{definition.name} calls itself")
            given = dict(zip((name.casefold() for name in definition.arguments), values, strict=True))
            return self._inside(definition, given)
        constants = [value.value for value in values if isinstance(value, Number)]
        if len(constants) < len(values):
            raise MisplacedError(call.offset, f"{call.name} is a Python function: its arguments are constants")
        name = f"{definition.name}({', '.join(map(repr, constants))})"
        self.callables[name] = definition.value(*constants)
        return Parameter(name)

    def _is_element(self, call: FunctionCall) -> bool:
        if len(call.arguments) != 1 or _is_own(call.name) or call.name.casefold() in self.assigned:
            return False
        index = call.arguments[0]
        return isinstance(index, WholeNumber) or (isinstance(index, Name) and index.name.upper() not in KNOWN)

    def _element(self, call: FunctionCall) -> Expression:
        """Return an element of a host's list; C(ind_X) is the concentration of the species X."""
        index = call.arguments[0]
        if call.name.upper() in _CONCENTRATIONS and isinstance(index, Name):
            match = _INDEX.match(index.name)
            if match is not None:
                return self._concentration(Name(call.offset, index.name[match.end() :]))
        key = element_key(call)
        return Parameter(self._open.setdefault(key, element_text(call)))

    def _concentration(self, name: Name) -> Expression:
        """Return the concentration of a species that a rate names as C(ind_X); raise MisplacedError if unknown."""
        species = {**self.variable, **self.fixed}
        known = name.name.casefold() in species or name.name.upper() in (*AIR_NAMES, "CFACTOR")
        if species and not known and name.name.casefold() not in self.definitions:
            hint = nearest(name.name, species.values())
            raise MisplacedError(name.offset, f"species {name.name!r} of C(ind_{name.name}) is not declared{hint}")
        if self._in_arguments and name.name.casefold() in self.variable:
            return Parameter(self.variable[name.name.casefold()])
        self._refuse_variable(name)
        return self._name(name, {}, concentration=True)


def _is_own(name: str) -> bool:
    """Return whether a function is predefined in rates."""
    return name.upper() in (*RATE_FUNCTIONS, *FUNCTIONS, *_FORTRAN, *_CONVERSIONS)


def of_variable(name: str) -> str:
    """Return the message about a variable species in a rate."""
    return (
        f"a rate cannot depend on {name}, a variable species: make it a reactant (on both sides where it is not used "
        "up; for a sum of species write the reaction once for each)"
    )


def did_you_mean(name: str, definitions: Mapping[str, Definition]) -> str:
    """Return ``; did you mean X?`` for an unknown function."""
    return nearest(name, [*FUNCTIONS, *RATE_FUNCTIONS, *(each.name for each in definitions.values())])


def read_rate(text: str) -> Expression:
    """Return the folded expression of a single rate, as in a species map; unknown names become open parameters.

    Raises MechanismError with the column.
    """
    meaning = NameResolver()
    try:
        expression = meaning.expression(parse_formula(text), 0)
    except MisplacedError as error:
        raise MechanismError(f"column {error.offset + 1}: {error.message}") from None
    if meaning.unknown:
        first = meaning.unknown[0]
        raise MechanismError(
            f"column {first.offset + 1}: there is no function {first.text!r}{did_you_mean(first.name, {})}"
        )
    return expression

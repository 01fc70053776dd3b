"""Side file of a mechanism, `<mechanism>.rates.toml`, with definitions that its rates require from other code.

    j_NO2 = "8.5e-3*SUN"                                    # a value
    "GCARR_ac(a, c)" = "a*exp(c/TEMP)"                      # a function
    "J(3)" = 1.2e-5                                         # an element of a list
    k_het = { python = "uptake.py:k_het" }                  # a function in Python, in a file of the same folder

Formulas are those of reaction files: molecules, cm3, s, K, Pa, and other names of this file. A function in Python is
called with keyword arguments out of TEMP, PRESS, M, O2, N2, H2O, SUN, sec_zenith and daylight: numbers, or arrays over
cells whose shapes broadcast. If the name has arguments itself, as in ``"k_het(gamma, mass)"``, these constants come
first. Its code is run with the rights of the user, and only if the user allows it, see :class:`CodePolicy`. Its file
must be in the folder of the side file.
"""

import importlib.util
import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from os.path import relpath
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.errors import MechanismError
from airshed.core.files import note_input
from airshed.core.toml_text import parse_toml
from airshed.mechanism.expressions import ALIASES, SUN_POSITION, SYMBOLS, Environment, Value, parameters
from airshed.mechanism.kpp.meaning import KNOWN, Definition, NameResolver
from airshed.mechanism.kpp.parser import parse_formula
from airshed.mechanism.kpp.statements import MisplacedError, names_in
from airshed.mechanism.location import Location, check_label, error_at, nearest
from airshed.mechanism.network import HostFunction, ReactionNetwork

SUFFIX: Final = ".rates.toml"

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_KEY = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:\(([^()]*)\)\s*)?")
_GIVEN: Final = (*SYMBOLS, *SUN_POSITION)


class CodePolicy(Enum):
    """Policy for functions in Python of a mechanism, which may be untrusted.

    REFUSED  an error, which states how to allow them
    LEFT     known by name and never run: sufficient for an inspection of a mechanism
    RUN      run with the rights of the user, who has allowed it
    """

    REFUSED = "refused"
    LEFT = "left"
    RUN = "run"


ALLOWING: Final = "--allow-code, or allow_code=True from Python"
"""Ways to allow code."""


@dataclass(frozen=True)
class RatesFile:
    """Definitions of a side file, by names with the case folded.

    own  values of the mechanism's own file, which those of the side file replace and which may be unused
    """

    path: Path
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    own: Mapping[str, Definition] = field(default_factory=dict)

    def spelled(self, names: Iterable[str]) -> dict[str, Definition]:
        """Return the definitions with the names of the mechanism."""
        known = {name.casefold(): name for name in names}
        given = {**self.own, **self.definitions}
        return {key: replace(each, name=known.get(key, each.name)) for key, each in given.items()}

    def refuse_unused(self, used: set[str], known: Iterable[str]) -> None:
        """Raise MechanismError for a value that no rate uses; unused functions are allowed."""
        for key, definition in self.definitions.items():
            if key not in used and not definition.arguments:
                message = f"no rate of the mechanism needs {definition.name!r}{nearest(definition.name, known)}"
                raise definition.locate(MisplacedError(0, message))


def rates_path(mechanism: Path) -> Path:
    """Return the path of the side file of a mechanism: in the same folder, with another suffix."""
    return mechanism.with_suffix("").with_name(f"{mechanism.stem}{SUFFIX}")


def read_rates_file(path: Path, shown: str | None = None, code: CodePolicy = CodePolicy.REFUSED) -> RatesFile:
    """Return a side file, empty if there is none; raise MechanismError with the location of a fault."""
    if not path.is_file():
        return RatesFile(path)
    name = shown or str(path)
    try:
        text = note_input(path).read_text(encoding="utf-8")
        data = parse_toml(text)
    except OSError as error:
        raise MechanismError(f"{name}: cannot be read ({error.strerror})") from None
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(name, text, str(error)) from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise MechanismError(f"{name}: no TOML ({str(error)[:200]})") from None
    section = data.get("rates")
    if isinstance(section, dict) and "python" not in section:
        data = {**{key: value for key, value in data.items() if key != "rates"}, **section}
    definitions: dict[str, Definition] = {}
    for key, value in data.items():
        definition = _definition(key, value, path, _Place(name, text, key, value), code)
        if definition.name.casefold() in definitions:
            raise definition.locate(MisplacedError(0, f"{definition.name!r} occurs twice"))
        definitions[definition.name.casefold()] = definition
    return RatesFile(path, definitions)


def _toml_error(name: str, text: str, message: str) -> MechanismError:
    """Return the error of the TOML reader with its location in front."""
    what, _, where = message.partition(" (at ")
    place = re.match(r"line (\d+), column (\d+)", where)
    lines = text.split("\n")
    location = Location(name, int(place[1]), int(place[2])) if place else Location(name, len(lines), len(lines[-1]) + 1)
    return error_at(location, f"{what[:1].lower()}{what[1:200]}")


def with_rates(network: ReactionNetwork, rates: RatesFile) -> ReactionNetwork:
    """Return a network of another format with the definitions of a side file in place of its parameters.

    Raises MechanismError for a fault in a formula, and for an unused value.
    """
    if not rates.definitions:
        return network
    names = [*(each.name for each in network.parameters), *network.bindings]
    meaning = NameResolver(rates.spelled(names))
    for name in names:
        meaning.give(name)
    rates.refuse_unused(meaning.used, names)
    bindings, callables = {**network.bindings, **meaning.bindings}, {**network.callables, **meaning.callables}
    return replace(network, bindings=bindings, callables=callables)


@dataclass(frozen=True)
class _Place:
    """Locator of a formula of a side file in its text."""

    file: str
    text: str
    key: str
    value: Any

    def __call__(self, error: MisplacedError) -> MechanismError:
        return error_at(self.location(error.offset), f"{self.key}: {error.message}")

    def location(self, offset: int) -> Location:
        for number, line in enumerate(self.text.splitlines(), start=1):
            if re.match(rf"\s*[\"']?{re.escape(self.key)}[\"']?\s*=", line):
                found = line.find(self.value, line.index("=")) if isinstance(self.value, str) else -1
                return Location(self.file, number, found + 1 + offset if found >= 0 else 1)
        return Location(self.file, 1)


def _definition(key: str, value: Any, path: Path, place: _Place, code: CodePolicy) -> Definition:
    match = _KEY.fullmatch(key)
    if match is None:
        raise place(MisplacedError(0, "expected a name such as j_NO2, J(1) or k_x(a, b)"))
    name, inside = match[1], match[2]
    check_label("the open parameter", key, place.location(0))
    if name.upper() in KNOWN:
        raise place(MisplacedError(0, f"{name} is given by the air and the conditions, not here"))
    arguments = tuple(part.strip() for part in inside.split(",")) if inside is not None else ()
    meant = _value(value, path, place, len(arguments), code)
    mentioned = set() if callable(meant) else {each.name.casefold() for each in names_in(meant)}
    if len(arguments) == 1 and (arguments[0].isdigit() or _index(arguments[0], mentioned, callable(meant))):
        return Definition(f"{name}({arguments[0]})", (), meant, place)
    folded = [argument.casefold() for argument in arguments]
    if not all(map(_NAME.fullmatch, arguments)) or len(set(folded)) < len(folded):
        raise place(MisplacedError(0, "expected the names of the arguments, each once, as in k_x(a, b)"))
    return Definition(name, arguments, meant, place)


def _index(argument: str, mentioned: set[str], in_python: bool) -> bool:
    """Return whether J(ip_NO2) is an element of a list: its formula does not name ip_NO2, unlike that of a function."""
    return not in_python and bool(_NAME.fullmatch(argument)) and argument.casefold() not in mentioned


def _value(value: Any, path: Path, place: _Place, constants: int, code: CodePolicy) -> Any:
    if isinstance(value, dict) and set(value) == {"python"} and isinstance(value["python"], str):
        return _python(value["python"], path, place, constants, code)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise place(MisplacedError(0, 'expected a formula in quotes, a number, or { python = "file.py:function" }'))
    try:
        return parse_formula(value if isinstance(value, str) else repr(float(value)))
    except (MisplacedError, OverflowError) as error:
        fault = error if isinstance(error, MisplacedError) else MisplacedError(0, "the number is too large")
        raise place(fault) from None


def _python(text: str, path: Path, place: _Place, constants: int, code: CodePolicy) -> Callable[..., HostFunction]:
    """Return a function of the environment, made of a function in a Python file and constant arguments."""
    check_label("a function in Python", text, place.location(0))
    file, _, name = text.rpartition(":")
    source = _source(file, text, path, place)
    if code is CodePolicy.REFUSED:
        message = f"{text} is code of the mechanism's own, which would run as you; read it, then allow it by {ALLOWING}"
        raise place(MisplacedError(0, message))
    if code is CodePolicy.LEFT:
        return lambda *given: _PythonFunction(_unrun, source, text, given, {}, frozenset(), place)
    function = _function(source, name, place)
    try:
        names = list(inspect.signature(function).parameters.values())[constants:]
    except (TypeError, ValueError):
        raise place(MisplacedError(0, f"{text} is no function whose arguments can be seen")) from None
    wanted: dict[str, str] = {}
    optional: set[str] = set()
    for each in names:
        known = _environment_name(each.name)
        if each.kind is each.VAR_KEYWORD:
            wanted |= {known: known for known in _GIVEN}
            optional.update(_GIVEN)
        elif known is not None:
            wanted[each.name] = known
            optional.update({each.name} if each.default is not each.empty else ())
        elif each.default is each.empty:
            message = f"{text} requires {each.name!r}, which is not among {', '.join(_GIVEN)}"
            raise place(MisplacedError(0, f"{message}{nearest(each.name, _GIVEN)}"))
    return lambda *given: _PythonFunction(function, source, text, given, wanted, frozenset(optional), place)


def _unrun() -> float:
    """Raise an error in place of a function in an inspection."""
    raise MechanismError(f"it is not run here; allow it by {ALLOWING}")


def _source(file: str, text: str, path: Path, place: _Place) -> Path:
    """Return a file of code; raise MechanismError if it is missing or outside the folder, also by a link."""
    source, folder = path.parent / file, path.parent
    try:
        found, inside = source.is_file(), source.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # an invalid file name, or circular links
        found, inside = False, True
    if not inside:
        raise place(MisplacedError(0, f"{file} lies outside the folder of {path.name}; put the code there"))
    if not (file and found):
        message = f"there is no file {file or text!r} next to {path.name}; expected file.py:function"
        raise place(MisplacedError(0, message))
    return note_input(source)


def _environment_name(name: str) -> str | None:
    known = {each.casefold(): each for each in (*_GIVEN, *ALIASES)}
    found = known.get(name.casefold())
    return ALIASES.get(found, found) if found is not None else None


def _function(source: Path, name: str, place: _Place) -> Callable[..., Any]:
    specification = importlib.util.spec_from_file_location(f"airshed_rates_{source.stem}", source)
    if specification is None or specification.loader is None:
        raise place(MisplacedError(0, f"{source.name} is no Python file"))
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise place(
            MisplacedError(0, f"{source.name} fails when it is read: {type(error).__name__}: {error}")
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        names = [each for each, value in vars(module).items() if callable(value)]
        raise place(MisplacedError(0, f"{source.name} has no function {name!r}{nearest(name, names)}"))
    checked: Callable[..., Any] = function
    return checked


@dataclass(frozen=True)
class _PythonFunction:
    """Function in Python with its constant arguments, as a function of the environment."""

    function: Callable[..., Any]
    source: Path
    text: str
    constants: tuple[float, ...]
    wanted: Mapping[str, str]
    optional: frozenset[str]
    place: _Place

    def __call__(self, environment: Environment) -> Value:
        """Return its value; raise MechanismError if it fails, or returns an invalid value."""
        needed = [known for name, known in self.wanted.items() if name not in self.optional]
        missing = [known for known in needed if known not in environment]
        if missing:
            raise self._fault(f"needs {', '.join(missing)}, which the conditions do not give")
        given = {name: environment[known] for name, known in self.wanted.items() if known in environment}
        try:
            value = np.asarray(self.function(*self.constants, **given), dtype=np.float64)
            np.broadcast_shapes(value.shape, *(np.shape(each) for each in environment.values()))
        except Exception as error:
            raise self._fault(f"fails: {type(error).__name__}: {error}") from error
        if not np.isfinite(value).all():
            raise self._fault("gives a value that is not a finite number")
        return float(value) if value.ndim == 0 else value

    def _fault(self, message: str) -> MechanismError:
        return self.place(MisplacedError(0, f"{self.text} {message}"))


def rates_text(network: ReactionNetwork, folder: Path) -> str:
    """Return the side file, for `folder`, with the definitions of a network that a reaction file cannot express.

    Returns "" if there are none. It contains expressions in place of parameters, defaults, and functions in Python,
    whose files must be in the folder.
    """
    fixed = {species.name for species in network.fixed}
    needed = _needed(network, fixed)
    values = {name: f'"{_escaped(str(value))}"' for name, value in network.bindings.items() if name in needed}
    for each in network.parameters:
        called = network.callables.get(each.name)
        if isinstance(called, _PythonFunction):
            file = relpath(called.source, folder)
            if Path(file).parts[0] == "..":
                raise MechanismError(
                    f"mechanism {network.name!r}: {called.text} is outside {folder}, where its code must be; write "
                    f"the mechanism into {called.source.parent}"
                )
            letters = ", ".join(f"a{number}" for number in range(1, len(called.constants) + 1))
            values[f"{each.name.partition('(')[0]}({letters})" if letters else each.name] = (
                f'{{ python = "{_escaped(file)}:{called.text.rpartition(":")[2]}" }}'
            )
        elif each.default is not None and each.name not in fixed:
            values[each.name] = repr(each.default)
    lines = [f'"{_escaped(name)}" = {value}\n' for name, value in values.items()]
    return "".join([f"# Definitions that the rates of {network.name} require.\n", *lines]) if lines else ""


def _needed(network: ReactionNetwork, fixed: set[str]) -> set[str]:
    """Return the names of bindings that rates use, also by other bindings, or that are fixed species."""
    left = [*fixed, *(name for reaction in network.reactions for name in parameters(reaction.rate))]
    needed: set[str] = set()
    while left:
        name = left.pop()
        if name in network.bindings and name not in needed:
            needed.add(name)
            left.extend(parameters(network.bindings[name]))
    return needed


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

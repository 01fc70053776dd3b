"""Refuses a declaration that asks for what there is not, or that would do nothing."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.kernels.step.operators import AIR
from airshed.process.kinds import PLACE, SIGNS, Acts, arguments
from airshed.process.updates import check_updates

if TYPE_CHECKING:
    from airshed.process.declaration import Process

RESERVED_TERMS: Final = (
    "inflow",
    "outflow",
    "chemistry",
    "clipped",
    "change",
    "residual",
    "throughput",
    "imbalance",
    "drift",
)
"""Names in budgets that no process can take for a term of its own."""

SHARED_TERMS: Final = {"emitted": 1.0, "deposited": -1.0}
"""Terms that every budget has, and how they count: a process may add to them what counts alike."""


def check(cls: "type[Process]", *, names_species: bool) -> None:
    """Refuse a declaration; `names_species`: whether the class says itself on which species it acts."""
    own = cls.declaration
    if not _SECTION.fullmatch(cls.section):
        raise CaseError(f"process {cls.__name__}: section {cls.section!r} is no name: letters, digits and _ alone")
    words = {key: each.field.default for key, each in own.settings.items() if each.unit is None}
    check_updates(cls.__name__, own.updates, list(own.fluxes), own.states, words)
    _check_methods(cls)
    _check_settable(cls)
    for name, instant in own.instants.items():
        known = {*own.settings, *own.weather, *own.instants, *PLACE}
        _check_arguments(cls, name, instant.function, known - {name})
    numbers = {key for key, each in own.settings.items() if each.unit is not None}
    for name, each in own.reactions.items():
        _check_arguments(cls, name, each.function, numbers - {key for key in numbers if own.settings[key].settable})
    for name, act in own.acts.items():
        if act.term is not None:
            _check_term(cls, name, act.term, SIGNS[act.kind])
            _check_options(cls, name, act, names_species=names_species)
        _check_arguments(cls, name, act.function, {*numbers, *own.weather, *own.instants, *AIR})


def _check_term(cls: "type[Process]", name: str, term: str, sign: float) -> None:
    if not _TERM.fullmatch(term):
        raise CaseError(
            f"process {cls.__name__}: {name}() cannot have the term {term!r}: letters, digits, _ and spaces"
        )
    if term in RESERVED_TERMS:
        raise CaseError(f"process {cls.__name__}: {name}() cannot have the term {term!r}: budgets use it; take another")
    if SHARED_TERMS.get(term, sign) != sign:
        raise CaseError(f"process {cls.__name__}: {name}() cannot have the term {term!r}: that one has the other sign")


_SECTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TERM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")

_UNITS: Final = {
    ("loss", "all"): ("1/s",),
    ("loss", "ground"): ("1/s", "m/s"),
    ("source", "all"): ("mol/mol/s", "mol/m3/s"),
    ("source", "ground"): ("mol/mol/s", "mol/m3/s", "mol/m2/s"),
    ("sinking", "all"): ("m/s", "mol/s"),
}
"""What functions of a kind may return, by the levels where it acts."""

_METHODS: Final = {
    "instants": ("self", "met", "seconds"),
    "acts": (),
    "reactions": ("self",),
    "releases": ("self", "weather"),
}
"""The arguments of methods, of which the first alone has a name that counts; what acts in a step is none."""


def _check_options(cls: "type[Process]", name: str, act: Acts, *, names_species: bool) -> None:
    """Refuse levels and units that a kind does not have, and what would act on no species."""
    units = _UNITS.get((act.kind, act.levels))
    if units is None:
        raise CaseError(f"process {cls.__name__}: {name}() acts at levels {act.levels!r}; there are 'all' and 'ground'")
    if act.unit not in units:
        where = "at the ground" if act.levels == "ground" else "at all levels"
        raise CaseError(
            f"process {cls.__name__}: {name}() gives {act.unit!r}; a {act.kind} {where} is in {' or '.join(units)}"
        )
    tables = any(each.by_species for each in cls.declaration.settings.values())
    if not tables and not names_species:
        raise CaseError(
            f"process {cls.__name__}: {name}() acts on the species that a table names, and there is none: declare one "
            "with per_species, or a property species"
        )


def _check_methods(cls: "type[Process]") -> None:
    """Refuse methods that cannot be called as they will be."""
    for part, wanted in _METHODS.items():
        for name, each in getattr(cls.declaration, part).items():
            asked = arguments(each.function)
            is_method = asked[:1] == ("self",)
            if (part == "releases" and not is_method) or (is_method and len(asked) != len(wanted)):
                shown = f"write def {name}({', '.join(wanted)})" if wanted else "it becomes code, and is no method"
                raise CaseError(f"process {cls.__name__}: {name}({', '.join(asked)}) cannot be called: {shown}")


def _check_settable(cls: "type[Process]") -> None:
    """Refuse a number that can be set where setting would have no effect."""
    own = cls.declaration
    functions = [each.function for part in (own.instants, own.acts, own.updates) for each in part.values()]
    given = {name for function in functions for name in arguments(function)}
    for name, setting in own.settings.items():
        if setting.settable and name not in given:
            raise CaseError(
                f"process {cls.__name__}: {name} is settable, but no function of an instant or a step has it as an "
                "argument, so that a change would have no effect"
            )


def _check_arguments(cls: "type[Process]", name: str, function: Callable[..., Any], known: set[str]) -> None:
    asked = arguments(function)
    if asked[:1] == ("self",):
        return
    for argument in asked:
        if argument not in known and argument in cls.declaration.settings:
            raise CaseError(
                f"process {cls.__name__}: {name}() asks for {argument!r}, a setting that it cannot have: reactions are "
                "compiled, so theirs are not settable; words and switches are given to methods, as self.NAME"
            )
        if argument not in known:
            raise CaseError(
                f"process {cls.__name__}: {name}() asks for {argument!r}, which is no setting, weather or result of "
                "it; "
                f"{suggestion(argument, sorted(known))}"
            )

"""What a side file says that names stand for, names that nothing explains, and elements of a host's lists."""

from collections.abc import Callable
from dataclasses import dataclass

from airshed.core.errors import MechanismError
from airshed.mechanism.kpp.statements import Applied, Formula, MisplacedError, Name, Whole
from airshed.mechanism.network import HostFunction


@dataclass(frozen=True)
class Definition:
    """What a side file says a name stands for.

    arguments  names of a function's arguments; empty for a value
    value      a formula, or a function in Python (of the environment, and of constant arguments)
    locate     turns an offset in the formula into the MechanismError at that place
    """

    name: str
    arguments: tuple[str, ...]
    value: Formula | Callable[..., HostFunction]
    locate: Callable[[MisplacedError], MechanismError]


@dataclass(frozen=True)
class Unknown:
    """A name that nothing explains, as written, with the number of its arguments.

    species  variable species whose concentrations are among the arguments
    """

    offset: int
    name: str
    text: str
    arguments: int = 0
    species: tuple[str, ...] = ()


def element_text(applied: Applied) -> str:
    """Return an element of a list, J(1) or J(ip_NO2), as text; empty for another call."""
    if len(applied.arguments) != 1:
        return ""
    index = applied.arguments[0]
    if isinstance(index, Whole):
        return f"{applied.name}({index.value:.0f})"
    return f"{applied.name}({index.name})" if isinstance(index, Name) else ""


def element_key(applied: Applied) -> str:
    """Return the text of an element with its case folded."""
    return element_text(applied).casefold()


def signature(definition: Definition) -> str:
    """Return a function with the names of its arguments."""
    return f"{definition.name}({', '.join(definition.arguments)})"

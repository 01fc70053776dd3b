"""A value of a JSON or YAML file that knows its place, and says what is wrong with it there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from airshed.core.errors import MechanismError
from airshed.core.text import shortened
from airshed.mechanism.location import Location, error_at, nearest

COMMENT: Final = "__"
"""Keys that start so are comments of the format: anything may stand there."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place.

    value    a dict of nodes, a list of nodes, a text, a float, a bool or None
    pointer  its place in the document as a JSON pointer: ``/reactions/3/A``
    """

    value: Any
    location: Location
    pointer: str = ""

    def error(self, message: str) -> MechanismError:
        """Return the error ``file:line:column: pointer: message``."""
        return error_at(self.location, f"{shortened(self.pointer, 120)}: {message}" if self.pointer else message)

    def expected(self, what: str) -> MechanismError:
        """Return the error of a value of the wrong kind."""
        return self.error(f"expected {what}, not {self.shown()}")

    def shown(self) -> str:
        """Return what the value is, for a message."""
        match self.value:
            case dict():
                return "an object {...}"
            case list():
                return "a list [...]"
            case bool() | None:
                return {True: "true", False: "false", None: "null"}[self.value]
        text = repr(self.value)
        return text if len(text) <= 40 else f"{text[:37]}..."

    def mapping(self) -> dict[str, "Node"]:
        """Return the members of an object."""
        if not isinstance(self.value, dict):
            raise self.expected("an object {...}")
        return self.value

    def items(self) -> Sequence["Node"]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.expected("a list [...]")
        return self.value

    def text(self) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.expected("a text in quotes")
        return self.value

    def number(self) -> float:
        """Return a finite number; one in quotes is taken, too."""
        value = self.value
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.expected("a number") from None
        if isinstance(value, bool) or not isinstance(value, float):
            raise self.expected("a number")
        if not isfinite(value):
            raise self.error("the number is not finite")
        return value

    def flag(self) -> bool:
        """Return true or false; one in quotes is taken, too."""
        value = {"true": True, "false": False}.get(self.value) if isinstance(self.value, str) else self.value
        if not isinstance(value, bool):
            raise self.expected("true or false")
        return value

    def fields(self) -> "Fields":
        """Return the members of an object, to be asked for one by one."""
        return Fields(self)


class Fields:
    """The members of an object; :meth:`finish` refuses those that nobody asked for."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._members = node.mapping()
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def get(self, key: str) -> Node | None:
        """Return a member, or None."""
        self._known[key] = None
        return self._members.get(key)

    def need(self, key: str) -> Node:
        """Return a member; raise MechanismError if there is none."""
        found = self.get(key)
        if found is None:
            others = [name for name in self._members if not name.startswith(COMMENT)]
            raise self.node.error(f"{key!r} is missing{nearest(key, others)}")
        return found

    def number(self, key: str, default: float) -> float:
        """Return a member that is a number, or the default."""
        found = self.get(key)
        return default if found is None else found.number()

    def optional_number(self, key: str) -> float | None:
        """Return a member that is a number, or None."""
        found = self.get(key)
        return None if found is None else found.number()

    def text(self, key: str, default: str = "") -> str:
        """Return a member that is a text, or the default; the text may be empty."""
        found = self.get(key)
        return default if found is None or found.value == "" else found.text()

    def comment(self, key: str) -> str:
        """Return a comment that is a text, or nothing: others may have put something else there."""
        found = self._members.get(COMMENT + key)
        return found.value if found is not None and isinstance(found.value, str) else ""

    def ignore(self, *keys: str) -> None:
        """Allow members that say nothing about chemistry."""
        self._known.update(dict.fromkeys(keys))

    def finish(self) -> None:
        """Raise MechanismError for a member that is neither known nor a comment."""
        for key, node in self._unknown():
            hint = nearest(key, self._known) or f" (known are {', '.join(self._known)}; comments start with __)"
            raise node.error(f"{key[:80]!r} is not known here{hint}")

    def _unknown(self) -> Iterator[tuple[str, Node]]:
        return ((key, node) for key, node in self._members.items() if key not in self._known and key[:2] != COMMENT)

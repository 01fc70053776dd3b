"""JSON and YAML documents as nodes with their line and column, and messages about them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

import yaml

from airshed.core.errors import MechanismError
from airshed.core.files import note_input
from airshed.core.text import printable, shortened
from airshed.mechanism.location import Location, error_at, nearest

COMMENT: Final = "__"
"""Prefix of comment keys of the format, with any content."""


@dataclass(frozen=True, slots=True)
class Node:
    """Value with its location.

    value    a dict of nodes, a list of nodes, a text, a float, a bool or None
    pointer  its position in the document as a JSON pointer: ``/reactions/3/A``
    """

    value: Any
    location: Location
    pointer: str = ""

    def error(self, message: str) -> MechanismError:
        """Return the error ``file:line:column: pointer: message``."""
        return error_at(self.location, f"{shortened(self.pointer, 120)}: {message}" if self.pointer else message)

    def expected(self, what: str) -> MechanismError:
        """Return the error for a value of the wrong kind."""
        return self.error(f"expected {what}, not {self.shown()}")

    def shown(self) -> str:
        """Return a description of the value for a message."""
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
        """Return a finite number, which may be quoted."""
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
        """Return true or false, which may be quoted."""
        value = {"true": True, "false": False}.get(self.value) if isinstance(self.value, str) else self.value
        if not isinstance(value, bool):
            raise self.expected("true or false")
        return value

    def fields(self) -> "Fields":
        """Return the members of an object, to be read individually."""
        return Fields(self)


class Fields:
    """Members of an object; :meth:`finish` refuses members that were not read."""

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
        """Return a comment that is a text, or "": other programs may use another type."""
        found = self._members.get(COMMENT + key)
        return found.value if found is not None and isinstance(found.value, str) else ""

    def ignore(self, *keys: str) -> None:
        """Mark members without chemical meaning as read."""
        self._known.update(dict.fromkeys(keys))

    def finish(self) -> None:
        """Raise MechanismError for a member that is neither known nor a comment."""
        for key, node in self._unknown():
            hint = nearest(key, self._known) or f" (known are {', '.join(self._known)}; comments start with __)"
            raise node.error(f"{key[:80]!r} is not known here{hint}")

    def _unknown(self) -> Iterator[tuple[str, Node]]:
        return ((key, node) for key, node in self._members.items() if key not in self._known and key[:2] != COMMENT)


# Reading of JSON and YAML.


YAML_SUFFIXES: Final = (".yaml", ".yml")
DEEPEST: Final = 60
"""Limit of the levels of a document."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|(?P<mark>[{}\[\],:])|(?P<text>"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")
    |(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])|(?P<word>(?:true|false|null)\b)""",
    re.VERBOSE | re.ASCII,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, if the wheel has it
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}


def read_document(path: Path, shown: str) -> Node:
    """Return the root of a JSON or YAML file (by its suffix); raise MechanismError with line and column."""
    try:
        text = note_input(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise MechanismError(f"{printable(shown)}: is no text in UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MechanismError(f"{printable(shown)}: cannot be read ({reason})") from None
    events = _yaml_events(text, shown) if path.suffix.lower() in YAML_SUFFIXES else _json_events(text, shown)
    return _build(events, shown)


def read_relative(file: Node, path: Path) -> tuple[Node, str]:
    """Return the root of the file that a text in the document at `path` names in the same folder, and its name.

    Raises MechanismError with the location of the text, and the nearest existing name, if there is no such file.
    """
    name = file.text()
    listed, shown = path.parent / name, str(Path(file.location.file).parent / name)
    try:
        found = listed.is_file()
    except (OSError, ValueError):  # an invalid file name
        found = False
    if not found:
        hint = nearest(name[:80], [each.name for each in path.parent.iterdir()])
        raise file.error(f"there is no file {name[:80]!r} next to {path.name}{hint}")
    return read_document(listed, shown), shown


# An event is (kind, value, line, column): kind "{", "[", "key" (a text that ends with a member's name), "value", "end".
_Event = tuple[str, Any, int, int]


def _build(events: Iterator[_Event], shown: str) -> Node:
    """Return the root of a stream of events, by a stack, as recursion on deep input could exhaust Python's stack."""
    root = Node(None, Location(shown, 1), "")
    stack: list[tuple[Node, str | None]] = []
    for kind, value, line, column in events:
        location = Location(shown, line, column)
        if isinstance(value, str) and _SURROGATE.search(value):
            raise error_at(location, "half of a surrogate pair (\\ud800 to \\udfff) is no character")
        if kind == "end":
            stack.pop()
            continue
        if kind == "key":
            parent = stack[-1][0]
            if value in parent.value:
                raise error_at(location, f"{shortened(parent.pointer, 120)}: {value[:80]!r} occurs twice")
            stack[-1] = (parent, value)
            continue
        content: Any = {"{": {}, "[": []}.get(kind, value)
        node = Node(content, location, _pointer(stack))
        if not stack:
            root = node
        elif isinstance(stack[-1][0].value, list):
            stack[-1][0].value.append(node)
        else:
            stack[-1][0].value[stack[-1][1]] = node
        if kind in "{[":
            if len(stack) >= DEEPEST:
                raise error_at(location, f"nested deeper than {DEEPEST} levels")
            stack.append((node, None))
    return root


def _pointer(stack: list[tuple[Node, str | None]]) -> str:
    if not stack:
        return ""
    parent, key = stack[-1]
    name = len(parent.value) if isinstance(parent.value, list) else str(key).replace("~", "~0").replace("/", "~1")
    return f"{parent.pointer}/{printable(str(name))}"


def _json_events(text: str, shown: str) -> Iterator[_Event]:
    """Yield the events of a JSON text, strictly by its grammar."""
    tokens = _json_tokens(text, shown)
    inside: list[str] = []  # "{" and "[" that are open
    wanted = "value"  # the next token: value, value or ], key or }, key, :, ',' (or the end)
    for kind, token, line, column in tokens:
        closes = token in "}]" and bool(inside) and token == {"{": "}", "[": "]"}[inside[-1]]
        if closes and wanted in (",", "value or ]", "key or }"):
            inside.pop()
            yield "end", None, line, column
            wanted = ","
        elif wanted.startswith("key") and kind == "text":
            yield "key", json.loads(token), line, column
            wanted = ":"
        elif wanted == ":" and token == ":":
            wanted = "value"
        elif wanted == "," and token == "," and inside:
            wanted = "key" if inside[-1] == "{" else "value"
        elif wanted.startswith("value") and kind == "mark" and token in "{[":
            yield token, None, line, column
            inside.append(token)
            wanted = "key or }" if token == "{" else "value or ]"
        elif wanted.startswith("value") and kind in ("text", "number", "word"):
            yield "value", _json_value(kind, token), line, column
            wanted = ","
        else:
            found = "the end of the file" if kind == "end" else repr(token)[:40]
            if kind == "end" and wanted == "," and not inside:
                return
            expected = _expectation(wanted, inside)
            raise error_at(Location(shown, line, column), f"expected {expected}, not {found}")


def _expectation(wanted: str, inside: list[str]) -> str:
    if wanted == ",":
        return ("',' or '}'" if inside[-1] == "{" else "',' or ']'") if inside else "the end of the file"
    return wanted.replace("key", "a key in double quotes").replace("value", "a value")


def _json_value(kind: str, token: str) -> Any:
    if kind == "number":
        return float(token)
    return json.loads(token) if kind == "text" else _WORDS[token]


def _json_tokens(text: str, shown: str) -> Iterator[tuple[str, str, int, int]]:
    position, line, start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            found = text[position : position + 20].split("\n")[0]
            raise error_at(Location(shown, line, position - start + 1), f"this is not JSON: {found!r}")
        kind, token = str(match.lastgroup), match[0]
        if kind == "blank":
            line += token.count("\n")
            start = position + token.rindex("\n") + 1 if "\n" in token else start
        else:
            yield kind, token, line, position - start + 1
        position = match.end()
    yield "end", "", line, position - start + 1


def _yaml_events(text: str, shown: str) -> Iterator[_Event]:
    """Yield the events of a YAML text: one document, no anchors, aliases or tags."""
    try:
        events = yaml.parse(text, Loader=_YAML_LOADER)
        expecting: list[bool | None] = []  # for each open collection whether a key comes next; None in lists
        documents = 0
        for event in events:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            _refuse_references(event, Location(shown, line, column))
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise error_at(Location(shown, line, column), "a second document (---) begins; a mechanism is one")
            key = bool(expecting) and expecting[-1] is True
            if isinstance(event, yaml.ScalarEvent):
                yield "key" if key else "value", event.value if key else _plain(event), line, column
            elif isinstance(event, yaml.CollectionStartEvent):
                if key:
                    raise error_at(Location(shown, line, column), "expected a text as key")
                mapping = isinstance(event, yaml.MappingStartEvent)
                yield "{" if mapping else "[", None, line, column
                expecting.append(True if mapping else None)
                continue
            elif isinstance(event, yaml.CollectionEndEvent):
                expecting.pop()
                yield "end", None, line, column
            else:
                continue
            if expecting and expecting[-1] is not None:
                expecting[-1] = not expecting[-1]
    except yaml.YAMLError as error:
        raise _yaml_error(error, shown) from None


def _refuse_references(event: Any, location: Location) -> None:
    if getattr(event, "anchor", None):
        raise error_at(location, "anchors (&) and aliases (*) are not read: write the value out")
    if getattr(event, "tag", None) not in (None, "!"):
        raise error_at(location, f"tags ({event.tag[:40]}) are not read: leave it away")


def _plain(event: Any) -> Any:
    """Return the value of a scalar: a text if quoted, otherwise as in JSON."""
    if event.style is not None:
        return event.value
    if event.value in _WORDS:
        return _WORDS[event.value]
    return float(event.value) if _NUMBER.fullmatch(event.value) else event.value


def _yaml_error(error: Exception, shown: str) -> MechanismError:
    mark = getattr(error, "problem_mark", None)
    location = Location(shown, mark.line + 1, mark.column + 1) if mark is not None else Location(shown, 1)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return error_at(location, f"this is not YAML: {str(problem)[:200]}")

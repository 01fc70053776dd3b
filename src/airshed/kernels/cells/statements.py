"""Division of generated statements into functions, and into groups whose loads precede their stores.

A GPU issues the instructions of a thread in order. A store waits until its operand is loaded, and blocks all later
loads. Within a group all loads precede the first store.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

Statements = list[str]

_STATEMENTS: Final = 96  # per generated function: compile time grows faster than linearly with the length
_NEAR: Final = 256  # packs within reach of one signed byte, for instructions with offsets in packs
_POINTERS: Final = 12  # that fit into registers
_ELEMENT: Final = re.compile(r"\b([akxyf])\[(\d+)\]")
_VECTOR: Final = re.compile(r"(?P<name>[fx])\[(?P<place>\d+)\] (?P<sign>\+?)= (?P<value>.*)")
_RATE: Final = re.compile(r"store\((?P<name>k), (?P<place>\d+), (?P<value>.*)\)")
_LOAD: Final = re.compile(r"\b(?:[akyxf]|parameter)\[\d+\]")


@dataclass
class _Group:
    """Statements of one group; loads: their number of loads."""

    first: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    loads: int = 0

    def add(self, statement: str) -> None:
        """Add a statement; later statements of the group read its result from a local number."""
        code, _, remark = statement.partition(";   //")
        code = code.removesuffix(";")
        vector = _VECTOR.fullmatch(code)
        match = vector or _RATE.fullmatch(code)
        if match is None:
            raise ValueError(f"this statement cannot be in a group: {statement}")
        element, local = f"{match['name']}[{match['place']}]", f"new_{match['name']}_{match['place']}"
        value = _LOAD.sub(lambda load: self.stored.get(load[0], load[0]), match["value"])
        if vector and match["sign"]:
            value = f"{element} + ({value})"
        self.first.append(f"const {'pack' if vector else 'dpack'} {local} = {value};")
        self.last.append(f"{element} = {local};" if vector else f"store(k, {match['place']}, {local});")
        self.remarks += [remark.strip()] if remark else []
        self.stored[element] = local

    def text(self) -> str:
        """Return the group as one statement."""
        return " ".join(["{", *self.first, *self.last, "}"]) + (
            "   // " + " | ".join(self.remarks) if self.remarks else ""
        )


def group(statements: Statements, most: int) -> Statements:
    """Return groups with at most `most` loads, each as one statement; with 0 the statements themselves.

    A statement assigns to an element of a vector f or x, adds to one, or stores a rate constant.
    """
    return [each.text() for each in _groups(statements, most)] if most else statements


def _groups(statements: Statements, most: int) -> Iterator[_Group]:
    current = _Group()
    for statement in statements:
        loads = len(_LOAD.findall(statement))
        if current.first and current.loads + loads > most:
            yield current
            current = _Group()
        current.add(statement)
        current.loads += loads
    if current.first:
        yield current


def in_chunks(statements: Statements, longest: float = inf) -> list[Statements]:
    """Split statements into the bodies of functions; longest: most characters of several statements."""
    chunks: list[Statements] = []
    length = 0
    for statement in statements:
        length += len(statement)
        if not chunks or length > longest or len(chunks[-1]) == _STATEMENTS:
            chunks.append([])
            length = len(statement)
        chunks[-1].append(statement)
    return [_near(chunk) for chunk in chunks]


def _near(statements: Statements) -> Statements:
    """Address packs relative to near pointers, whose offsets take one byte of an instruction rather than four."""
    found = {(match[1], int(match[2]) // _NEAR) for text in statements for match in _ELEMENT.finditer(text)}
    if len(found) > _POINTERS:
        return statements

    def near(match: re.Match[str]) -> str:
        window, number = divmod(int(match[2]), _NEAR)
        return f"{match[1]}{window}[{number - _NEAR // 2}]"

    pointers = [f"NEAR({name}, {window}, {(window * _NEAR) + _NEAR // 2});" for name, window in sorted(found)]
    return [*pointers, *(_ELEMENT.sub(near, text) for text in statements)]

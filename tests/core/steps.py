"""Step counter of a backtracking search: the cost of a pattern without a clock.

It traverses the parse tree of Python's own parser of patterns, and tries the alternatives in the order of the engine.
"""

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

Ends = Iterator[int]
MOST: Final = 100_000
"""Limit of steps; beyond it a text counts as endless."""

_CATEGORIES: Final[dict[Any, Callable[[str], bool]]] = {
    op.CATEGORY_DIGIT: str.isdigit, op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    op.CATEGORY_NOT_DIGIT: lambda each: not each.isdigit(), op.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    op.CATEGORY_NOT_WORD: lambda each: not (each.isalnum() or each == "_"),
}  # fmt: skip
_SAMPLES: Final = {
    op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a", op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_NOT_WORD: ".",
}  # fmt: skip


class TooManyError(Exception):
    """The limit of steps is exceeded."""


@dataclass
class Steps:
    """Text for patterns, and the steps used so far."""

    text: str
    ignore_case: bool = False
    most: int = MOST
    count: int = 0
    groups: dict[int, tuple[int, int]] = field(default_factory=dict)

    def step(self) -> None:
        """Count a step."""
        self.count += 1
        if self.count > self.most:
            raise TooManyError

    def ends(self, nodes: list[Any], at: int) -> Ends:
        """Yield the possible ends of a sequence of nodes from a position, in the order of the engine."""
        if not nodes:
            yield at
            return
        for end in self._one(nodes[0], at):
            yield from self.ends(nodes[1:], end)

    def _one(self, node: Any, at: int) -> Ends:
        kind, given = node
        self.step()
        match kind:
            case op.LITERAL | op.NOT_LITERAL | op.IN | op.ANY:
                if at < len(self.text) and self._is(kind, given, self.text[at]):
                    yield at + 1
            case op.BRANCH:
                for branch in given[1]:
                    yield from self.ends(list(branch), at)
            case op.SUBPATTERN:
                for end in self.ends(list(given[3]), at):
                    self.groups[given[0]] = at, end
                    yield end
            case op.MAX_REPEAT:
                yield from self._greedy(list(given[2]), given[0], given[1], at)
            case op.MIN_REPEAT:
                yield from self._lazy(list(given[2]), given[0], given[1], at)
            case op.ASSERT | op.ASSERT_NOT:
                yield from self._assertion(kind, given, at)
            case op.AT:
                if self._boundary(given, at):
                    yield at
            case op.GROUPREF:
                begin, end = self.groups.get(given, (0, 0))
                if self.text.startswith(self.text[begin:end], at):
                    yield at + end - begin
            case op.ATOMIC_GROUP | op.POSSESSIVE_REPEAT:
                yield from self._atomic(kind, given, at)
            case _:
                raise NotImplementedError(kind)

    def _atomic(self, kind: Any, given: Any, at: int) -> Ends:
        nodes = list(given) if kind is op.ATOMIC_GROUP else [(op.MAX_REPEAT, given)]
        for end in self.ends(nodes, at):
            yield end
            return

    def _greedy(self, nodes: list[Any], least: int, most: int, at: int) -> Ends:
        """Yield the ends of a greedy repetition, without recursion for a single character."""
        if len(nodes) == 1 and nodes[0][0] in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
            kind, given = nodes[0]
            end = at
            while end < len(self.text) and end - at < most and self._is(kind, given, self.text[end]):
                self.step()
                end += 1
            while end - at >= least:
                self.step()
                yield end
                end -= 1
            return
        if most > 0:
            for end in self.ends(nodes, at):
                if end > at or least > 0:
                    yield from self._greedy(nodes, max(least - 1, 0), most - 1, end)
        if least == 0:
            yield at

    def _lazy(self, nodes: list[Any], least: int, most: int, at: int) -> Ends:
        if least == 0:
            yield at
        if most > 0:
            for end in self.ends(nodes, at):
                if end > at or least > 0:
                    yield from self._lazy(nodes, max(least - 1, 0), most - 1, end)

    def _assertion(self, kind: Any, given: Any, at: int) -> Ends:
        direction, nodes = given
        begin = at if direction > 0 else at - nodes.getwidth()[0]
        holds = begin >= 0 and any(direction > 0 or end == at for end in self.ends(list(nodes), begin))
        if holds == (kind is op.ASSERT):
            yield at

    def _boundary(self, where: Any, at: int) -> bool:
        text = self.text
        match where:
            case op.AT_BEGINNING | op.AT_BEGINNING_STRING | op.AT_BEGINNING_LINE:
                return at == 0 or text[at - 1] == "\n"
            case op.AT_END | op.AT_END_STRING | op.AT_END_LINE:
                return at == len(text) or text[at] == "\n"
        before, after = at > 0 and text[at - 1].isalnum(), at < len(text) and text[at].isalnum()
        return (before != after) == (where is op.AT_BOUNDARY)

    def _is(self, kind: Any, given: Any, each: str) -> bool:
        match kind:
            case op.ANY:
                return True
            case op.LITERAL | op.NOT_LITERAL:
                alike = ord(each) == given or (self.ignore_case and each.casefold() == chr(given).casefold())
                return alike == (kind is op.LITERAL)
        negated = given[0][0] is op.NEGATE
        return any(_holds(item, each, ignore_case=self.ignore_case) for item in given[negated:]) != negated


def _holds(item: Any, each: str, *, ignore_case: bool) -> bool:
    kind, given = item
    if kind is op.CATEGORY:
        return _CATEGORIES[given](each)
    first, last = given if kind is op.RANGE else (given, given)
    return first <= ord(each) <= last or (ignore_case and any(first <= ord(c) <= last for c in each.swapcase()))


def steps(pattern: str, flags: int, text: str, *, search: bool) -> int:
    """Return the steps to match a text from its start, or to search it; at most MOST."""
    nodes = list(parser.parse(pattern, flags))
    counted = Steps(text, bool(flags & re.IGNORECASE))
    try:
        at = 0
        while at <= len(text):
            end = next((end for end in counted.ends(nodes, at) if search or end == len(text)), None)
            at = max(at + 1, end or 0) if search else len(text) + 1
    except TooManyError:
        pass
    return counted.count


def alphabet(pattern: str, flags: int) -> str:
    """Return characters that occur in a pattern: its literals, one of each class, and some of common texts."""
    found = dict.fromkeys(_characters(parser.parse(pattern, flags)))
    return "".join(dict.fromkeys([*list(found)[:8], *' a1".\n']))


def _characters(nodes: Any) -> Iterator[str]:
    for kind, given in nodes:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(given)
        elif kind is op.RANGE:
            yield chr(given[0])
        elif kind is op.CATEGORY:
            yield _SAMPLES[given]
        elif kind is op.IN:
            yield from _characters(given)
        elif kind is op.BRANCH:
            for branch in given[1]:
                yield from _characters(branch)
        elif kind is op.SUBPATTERN:
            yield from _characters(given[3])
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _characters(given[2])
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _characters(given[1])


def worst(pattern: str, flags: int, *, search: bool, length: int = 20) -> tuple[float, str]:
    """Return the growth of the steps when a text is doubled, and the repetitive text with the largest growth."""
    letters = alphabet(pattern, flags)
    pairs = list(zip(letters, letters[1:] + letters[:1], strict=True))
    pumps = [*letters, *(one + two for one, two in pairs), *(2 * one + two for one, two in pairs)]
    found = (1.0, "")
    for before in ("", *letters):
        for pump in pumps:
            texts = [f"{before}{pump * (times // len(pump))}\x01" for times in (length, 2 * length)]
            short, long = (steps(pattern, flags, each, search=search) for each in texts)
            found = max(found, (inf if long >= MOST else long / short, f"{before}{pump}..."))
    return found

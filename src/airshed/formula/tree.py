"""The tree of a formula: a few immutable node types, and operations on them.

A tree is created by tracing a function (``trace.py``), by reading text (``parse.py``) or node by node. It is evaluated
in NumPy (``evaluate.py``), printed (``text.py``), differentiated (``derivative.py``) and written as C++ (``cpp.py``).
Equal nodes are one object: common sub-expressions are found by identity, and occur once, so that a tree is in fact a
graph.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

Arithmetic = Literal["+", "-", "*", "/", "%", "^"]
Comparison = Literal["<", "<=", ">", ">=", "==", "!="]
Connective = Literal["and", "or", "not"]

_NODES: Final[WeakValueDictionary[tuple[Any, ...], "Node"]] = WeakValueDictionary()
_LOCK: Final = Lock()


class _NodeType(type):
    """Metaclass that creates each node once: equal nodes are identical."""

    def __call__(cls, *values: Any) -> Any:
        key = (cls, *values) if cls is not Number else (cls, float(values[0]).hex())  # 0 and -0 are two numbers
        node = _NODES.get(key)
        if node is None:
            made = super().__call__(*values)
            with _LOCK:
                node = _NODES.setdefault(key, made)
        return node


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Node(metaclass=_NodeType):
    """Base class of nodes."""

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __str__(self) -> str:
        from airshed.formula.text import text  # it prints trees, and imports this module

        return text(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Number(Node):
    """A constant."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))


@dataclass(frozen=True, slots=True, eq=False)
class NamedValue(Node):
    """A value with a name. Subclasses are kinds of names: two kinds may share a name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Symbol(NamedValue):
    """The usual named value: an argument, a state of the air."""


@dataclass(frozen=True, slots=True, eq=False)
class Negate(Node):
    """Minus the operand."""

    operand: "Expression"

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """``left operator right`` with one of + - * / % ^, the last one a power; % has the sign of its right side."""

    operator: Arithmetic
    left: "Expression"
    right: "Expression"

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return self.left, self.right


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A call of one of :data:`airshed.formula.functions.FUNCTIONS`, or of a function that the caller expands."""

    name: str
    arguments: tuple["Expression", ...]

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return self.arguments


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """``left operator right`` with a comparison: 1 where it holds, else 0."""

    operator: Comparison
    left: "Expression"
    right: "Expression"

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return self.left, self.right


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Node):
    """Logical connective: all operands (and), one or more (or), or not the operand (not) are non-zero: 1 or 0."""

    connective: Connective
    operands: tuple["Expression", ...]

    @property
    def children(self) -> tuple["Expression", ...]:
        """Return the direct operands."""
        return self.operands


Expression = Number | NamedValue | Negate | Binary | Call | Compare | Logic

ZERO: Final = Number(0.0)
ONE: Final = Number(1.0)


def with_children(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return the same operation on other operands."""
    match expression:
        case Negate():
            return Negate(*operands)
        case Binary(operator):
            return Binary(operator, *operands)
        case Compare(comparison):
            return Compare(comparison, *operands)
        case Call(name):
            return Call(name, operands)
        case Logic(connective):
            return Logic(connective, operands)
    return expression


def ordered(expressions: Iterable[Expression]) -> list[Expression]:
    """Return every node of some trees once, operands before the operations on them, left to right."""
    done: dict[Expression, None] = {}
    stack = list(expressions)[::-1]
    while stack:
        node = stack[-1]
        waiting = [] if node in done else [child for child in node.children if child not in done]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            done[stack.pop()] = None
    return list(done)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield every node as often as it occurs in the text, parents before children, left to right."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def depth(expression: Expression) -> int:
    """Return the number of levels of the tree."""
    levels: dict[Expression, int] = {}
    for node in ordered([expression]):
        levels[node] = 1 + max((levels[child] for child in node.children), default=0)
    return levels[expression]


def operations(expression: Expression) -> int:
    """Return the number of additions, multiplications and divisions, as often as they occur in the text."""
    counts: dict[Expression, int] = {}
    for node in ordered([expression]):
        counts[node] = isinstance(node, Binary) + sum(counts[child] for child in node.children)
    return counts[expression]


def symbols(*expressions: Expression) -> tuple[str, ...]:
    """Return the names of the symbols in some trees, each once, in the order of the text."""
    return tuple(node.name for node in ordered(expressions) if isinstance(node, Symbol))


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the tree with every node changed, operands before the operations on them."""
    return rewrite_all([expression], change)[0]


def rewrite_all(expressions: Iterable[Expression], change: Callable[[Expression], Expression]) -> list[Expression]:
    """Return trees with every node changed; each common part once."""
    expressions = list(expressions)
    new: dict[Expression, Expression] = {}
    for node in ordered(expressions):
        new[node] = change(with_children(node, tuple(new[child] for child in node.children)))
    return [new[expression] for expression in expressions]


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return the tree with symbols replaced by the expressions in `values`."""
    return substitute_all([expression], values)[0]


def substitute_all(expressions: Iterable[Expression], values: Mapping[str, Expression]) -> list[Expression]:
    """Return trees with symbols replaced by the expressions in `values`; each common part once."""
    return rewrite_all(expressions, lambda node: values.get(node.name, node) if isinstance(node, Symbol) else node)

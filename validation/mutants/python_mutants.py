"""Mutants of Python sources: one changed operator, number, condition or statement."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
"""Operator, its text, and the replacements."""

_SILENT = {"__repr__", "__str__", "__post_init__"}


@dataclass(frozen=True)
class Mutant:
    """A change of one span of a file.

    file         path below the checkout
    start, end   offsets of the span in the text of the file [characters]
    """

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Return the changed text; raises ValueError where the file has changed since the mutant was drawn."""
        if text[self.start : self.end] != self.old:
            raise ValueError(f"{self.file}:{self.line} is not the text from which the mutant was made")
        return text[: self.start] + self.new + text[self.end :]


class Source:
    """Text of a file, with offsets [characters] for the lines and columns [bytes] of its syntax tree."""

    def __init__(self, text: str) -> None:
        self.text, self._lines = text, text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        start, end = (self._starts[line - 1] + self._characters(line, column) for line, column in ends)
        return start, end

    def operator(self, left: ast.AST, right: ast.AST, symbol: str) -> tuple[int, int]:
        """Return the offsets of the operator between two nodes; an empty span without one."""
        start, end = self.span(left)[1], self.span(right)[0]
        match = re.search(
            rf"(?<![\w]){re.escape(symbol)}(?![\w])" if symbol[0].isalpha() else re.escape(symbol), self.text[start:end]
        )
        return (start + match.start(), start + match.end()) if match else (start, start)

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        return self.text[slice(*self.span(node))]

    def _characters(self, line: int, column: int) -> int:
        return len(self._lines[line - 1].encode()[:column].decode())


def python_mutants(root: Path, path: Path) -> list[Mutant]:
    """Return the mutants of a Python file that are valid Python."""
    source = Source(path.read_text(encoding="utf-8"))
    found = []
    for node, (start, end), new in _changes(ast.parse(source.text), source):
        old = source.text[start:end]
        mutant = Mutant(str(path.relative_to(root)), node.lineno, start, end, old, new)  # type: ignore[attr-defined]
        if old not in (new, "") and _is_python(mutant.apply(source.text)):
            found.append(mutant)
    return found


def _changes(tree: ast.AST, source: Source) -> Iterator[tuple[ast.AST, tuple[int, int], str]]:
    """Yield nodes, spans and their replacements."""
    for node in _executed(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
            symbol, new = SWAPS[type(node.op)]
            yield node, source.operator(node.left, node.right, symbol), new
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            symbol, new = SWAPS[type(node.ops[0])]
            yield node, source.operator(node.left, node.comparators[0], symbol), new
        elif isinstance(node, ast.BoolOp):
            symbol, new = SWAPS[type(node.op)]
            yield node, source.operator(node.values[0], node.values[1], symbol), new
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield node, source.span(node), source.of(node.operand)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, source.span(node), repr(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield (
                node,
                source.span(node),
                repr(node.value + 1 if isinstance(node.value, int) else 1.1 * node.value + 0.1),
            )
        elif isinstance(node, ast.If | ast.IfExp):
            yield node.test, source.span(node.test), f"(not ({source.of(node.test)}))"
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            yield node, source.span(node), "pass"
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node, source.span(node), "return None"
        elif isinstance(node, ast.Call) and node.keywords and not node.args:
            yield node, source.span(node.keywords[-1]), ""


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that a run executes with effects visible to tests."""
    skipped: tuple[ast.AST | None, ...] = ()
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return
    if isinstance(node, ast.FunctionDef) and node.name in _SILENT:
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.FunctionDef):
        skipped = (node.returns, node.args, *node.decorator_list)
    if isinstance(node, ast.AnnAssign):
        skipped = (node.annotation,)
    if isinstance(node, ast.ClassDef):
        skipped = (*node.bases, *node.decorator_list)
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _executed(child)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True

"""Loop-invariant code motion: parts of formulas that are computed once for all steps."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from airshed.formula.tree import Compare, Expression, Logic, NamedValue, Symbol, ordered, symbols, with_children


@dataclass(frozen=True)
class InvariantSplit:
    """Formulas and their loop-invariant parts.

    invariant  sub-expressions of invariant inputs and numbers, by the symbol that replaces each in `outputs`
    outputs    the formulas with these symbols
    """

    invariant: dict[str, Expression]
    outputs: tuple[Expression, ...]


def split(outputs: Sequence[Expression], invariant: Collection[str]) -> InvariantSplit:
    """Move operations on invariant inputs and numbers out of formulas.

    Each invariant sub-expression is the largest possible one. A condition is not moved, since it is not a number.
    """
    is_invariant: dict[Expression, bool] = {}
    new: dict[Expression, Expression] = {}
    values: dict[str, Expression] = {}
    for node in ordered(outputs):
        is_invariant[node] = all(is_invariant[child] for child in node.children)
        new[node] = with_children(node, tuple(new[child] for child in node.children))
        if isinstance(node, NamedValue):
            is_invariant[node] = node.name in invariant
        elif node.children and is_invariant[node] and not isinstance(node, Compare | Logic):
            name = f"invariant {len(values)}"
            values[name], new[node] = node, Symbol(name)
    found = tuple(new[output] for output in outputs)
    return InvariantSplit({name: values[name] for name in symbols(*found) if name in values}, found)

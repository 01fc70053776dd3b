"""Finds what formulas need not compute anew in each step."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from airshed.formula.tree import Compare, Expression, Logic, Named, Symbol, ordered, symbols, with_children


@dataclass(frozen=True)
class Split:
    """Formulas in two parts.

    steady   what depends on steady inputs alone, by the symbols that stand for it: no names that an input can have
    outputs  the formulas with these symbols
    """

    steady: dict[str, Expression]
    outputs: tuple[Expression, ...]


def split(outputs: Sequence[Expression], steady: Collection[str]) -> Split:
    """Return formulas without the operations on nothing but numbers and the steady inputs.

    Each is the largest of its kind. A condition stays where it is, since it is no value to be kept.
    """
    is_steady: dict[Expression, bool] = {}
    new: dict[Expression, Expression] = {}
    stands_for: dict[str, Expression] = {}
    for node in ordered(outputs):
        is_steady[node] = all(is_steady[child] for child in node.children)
        new[node] = with_children(node, tuple(new[child] for child in node.children))
        if isinstance(node, Named):
            is_steady[node] = node.name in steady
        elif node.children and is_steady[node] and not isinstance(node, Compare | Logic):
            name = f"steady {len(stands_for)}"
            stands_for[name], new[node] = node, Symbol(name)
    found = tuple(new[output] for output in outputs)
    return Split({name: stands_for[name] for name in symbols(*found) if name in stands_for}, found)

"""Sums of variable species in inlined code, as RO2 of the Master Chemical Mechanism, represented as species.

A rate may not depend on a variable species, but ``A = B : k*RO2`` with RO2 = X + Y + ... is ``A + RO2 = B + RO2 : k``
with a species RO2. Each reaction changes RO2 as it changes the sum. Every Rosenbrock method preserves linear
invariants, such as RO2 - X - Y - ..., so that RO2 equals the sum to round-off.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Negate, Number, walk
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.network import Reaction

_CONTINUED: Final = re.compile(r"&[ \t]*(?:![^\n]*)?\n(?:[ \t]*(?:![^\n]*)?\n)*[ \t]*&?")
REMARK: Final = re.compile(r"![^\n]*|//[^\n]*|\{[^{}=;\n]*\}")
"""Remarks of Fortran and C, and of KPP, which MECCA uses in Fortran, too."""
GUARDED: Final = re.compile(r"if\s*\(\s*indf?_(\w+)\s*>\s*0\s*\)\s*(?!then\b)(.*)", re.IGNORECASE)
"""Guarded statement for an optional species, as ``IF (ind_X > 0) RO2 = RO2 + C(ind_X)`` of MECCA."""
_ASSIGNMENT: Final = re.compile(r"(?:.*::)?\s*([A-Za-z]\w*)\s*=\s*(.*)")
_TERM: Final = re.compile(
    r"(?:([\d.]+(?:[eEdD][+-]?\d+)?)(?:_\w+)?\s*\*\s*)?(?:C|VAR)\s*\(\s*indf?_(\w+)\s*\)", re.IGNORECASE
)
_INDEX: Final = re.compile(r"\bindf?_", re.IGNORECASE)
_BLOCK: Final = re.compile(r"(?:else\b|end|\}|if\b|do\b|for\b|while\b|where\b|select\b)", re.IGNORECASE)
"""Beginning of a statement whose assignments are conditional, or that ends such a block."""
_ZERO: Final = re.compile(r"0*(?:\.0*)?(?:[eEdD][+-]?\d+)?(?:_\w+)?")
_MOST: Final = 6
"""Limit of the power of a sum in a rate."""

Terms = dict[tuple[str, ...], Expression]
"""Names of sums, repeated by their power -> their factor."""


@dataclass(frozen=True)
class CodeSum:
    """Name that inlined code computes from concentrations.

    weights   species, their case folded -> factor; None if it is not a sum of them
    optional  species that count only if they are declared
    """

    name: str
    weights: Mapping[str, float] | None
    optional: frozenset[str] = frozenset()

    def among(self, species: Container[str]) -> dict[str, float]:
        """Return the weights for a mechanism's species, their case folded; empty if it is not a sum."""
        weights = self.weights or {}
        return {name: weight for name, weight in weights.items() if name in species or name not in self.optional}


class SumPowerError(Exception):
    """A rate depends on a sum other than by its powers."""


def statements_of(code: str) -> tuple[list[str], bool]:
    """Return the statements of a piece of code, and whether it has neither branches nor loops."""
    statements = [each.strip() for each in re.split(r"[\n;]", REMARK.sub("", _CONTINUED.sub(" ", code)))]
    return statements, not any(_BLOCK.match(each) and not GUARDED.fullmatch(each) for each in statements)


def sums_of(code: str) -> dict[str, CodeSum]:
    """Return the values that a piece of inlined code computes from concentrations, by name with the case folded."""
    found: dict[str, CodeSum] = {}
    zeros: set[str] = set()
    statements, is_plain = statements_of(code)
    for statement in statements:
        guard = GUARDED.fullmatch(statement)
        match = _ASSIGNMENT.fullmatch(guard[2] if guard else statement)
        if match is None:
            for key in _assigned_otherwise(statement, found):
                found[key] = CodeSum(found[key].name, None)
            continue
        name, value = match[1], match[2].strip()
        key = name.casefold()
        before = found.get(key) or (CodeSum(name, {}) if key in zeros else None)
        if guard and (before is not None or _INDEX.search(value)):
            found[key] = _with_optional(CodeSum(name, _weights(value, key, before)), before, guard[1].casefold())
        elif _ZERO.fullmatch(value) and value:
            zeros.add(key)
            found.pop(key, None)
        elif _INDEX.search(value):
            optional = before.optional if before else frozenset()
            found[key] = CodeSum(name, _weights(value, key, before) if is_plain else None, optional)
        elif key in found:
            found[key] = CodeSum(name, None)
    return found


def _with_optional(total: CodeSum, before: CodeSum | None, species: str) -> CodeSum:
    """Return a sum extended by the species of a guarded statement; without weights for anything else."""
    old = before.weights if before is not None else None
    if total.weights is None or old is None or {**old, species: total.weights.get(species)} != total.weights:
        return CodeSum(total.name, None)
    optional = before.optional if before is not None else frozenset()
    return CodeSum(total.name, total.weights, optional if species in old else optional | {species})


def _assigned_otherwise(statement: str, names: Iterable[str]) -> list[str]:
    """Return the names that a statement changes in another way, as by ``RO2 += x`` or ``IF (..) RO2 = x``."""
    text = statement.casefold()
    return [name for name in names if re.search(rf"\b{re.escape(name)}\s*[-+*/]?=(?!=)", text)]


def _weights(value: str, key: str, before: CodeSum | None) -> dict[str, float] | None:
    """Return the weights of a sum such as C(ind_A) + 2*C(ind_B); None for anything else."""
    total: dict[str, float] = {}
    for part in value.split("+"):
        term = _TERM.fullmatch(part.strip())
        if term is not None:
            factor = float(term[1].lower().replace("d", "e")) if term[1] else 1.0
            total[term[2].casefold()] = total.get(term[2].casefold(), 0.0) + factor
        elif part.strip().casefold() == key and before is not None and before.weights is not None:
            for species, factor in before.weights.items():
                total[species] = total.get(species, 0.0) + factor
        else:
            return None
    return total


def split(rate: Expression, sums: Iterable[str]) -> Terms:
    """Return the terms of a rate, keyed by their sum factors; raise SumPowerError for any other dependence on a sum."""
    return _terms(rate, frozenset(sums))


def _terms(node: Expression, sums: frozenset[str]) -> Terms:
    match node:
        case Parameter(name) if name in sums:
            return {(name,): Number(1.0)}
        case Negate(operand):
            return {key: Negate(value) for key, value in _terms(operand, sums).items()}
        case Binary("+" | "-" as operator, left, right):
            found = _terms(left, sums)
            for key, value in _terms(right, sums).items():
                other = value if operator == "+" else Negate(value)
                found[key] = Binary("+", found[key], other) if key in found else other
            return found
        case Binary("*", left, right):
            return _product(_terms(left, sums), _terms(right, sums))
        case Binary("/", left, right) if not _named(right, sums):
            return {key: Binary("/", value, right) for key, value in _terms(left, sums).items()}
        case Binary("^", base, Number(power)) if _named(base, sums) and power in range(1, _MOST):
            found = _terms(base, sums)
            result = found
            for _ in range(int(power) - 1):
                result = _product(result, found)
            return result
    if _named(node, sums):
        raise SumPowerError
    return {(): node}


def _product(left: Terms, right: Terms) -> Terms:
    found: Terms = {}
    for one, a in left.items():
        for other, b in right.items():
            key = tuple(sorted((*one, *other)))
            if len(key) > _MOST:
                raise SumPowerError
            value: Expression = b if a == Number(1.0) else a if b == Number(1.0) else Binary("*", a, b)
            found[key] = Binary("+", found[key], value) if key in found else value
    return found


def _named(node: Expression, sums: frozenset[str]) -> bool:
    return any(isinstance(each, Parameter) and each.name in sums for each in walk(node))


def expand_sums(reaction: Reaction, sums: Iterable[str], taken: Container[str] = ()) -> Iterator[Reaction]:
    """Yield a reaction once for each power of sums in its rate, with these on both sides; raise SumPowerError.

    taken  labels, their case folded, of other reactions
    """
    names = frozenset(sums)
    if not _named(reaction.rate, names):
        yield reaction
        return
    terms = [(key, fold(value)) for key, value in split(reaction.rate, names).items()]
    for number, (key, rate) in enumerate((key, rate) for key, rate in terms if not _is_zero(rate)):
        added = tuple((name, float(key.count(name))) for name in dict.fromkeys(key))
        label = reaction.label if number == 0 else f"{reaction.label}_{number + 1}"
        while label.casefold() in taken:
            label += "_"
        yield replace(
            reaction, label=label, rate=rate, reactants=reaction.reactants + added, products=reaction.products + added
        )


def _is_zero(rate: Expression) -> bool:
    """Return whether a rate is a product with a factor 0."""
    match rate:
        case Negate(operand):
            return _is_zero(operand)
        case Binary("*", left, right):
            return _is_zero(left) or _is_zero(right)
        case Binary("/", left, _):
            return _is_zero(left)
    return rate == Number(0.0)


def collapse_sums(reaction: Reaction, sums: Iterable[str]) -> Reaction:
    """Return a reaction with sums as factors of its rate instead of species: the inverse of :func:`expand_sums`."""
    names = frozenset(sums)
    rate = reaction.rate
    for name, number in reaction.reactants:
        for _ in range(round(number) if name in names else 0):
            rate = Binary("*", rate, Parameter(name))
    reactants = tuple(each for each in reaction.reactants if each[0] not in names)
    return replace(
        reaction, rate=rate, reactants=reactants, products=tuple(e for e in reaction.products if e[0] not in names)
    )


def code_of(sums: Mapping[str, Mapping[str, float]], air: Sequence[str]) -> str:
    """Return Fortran code for sums, and for names that denote the air instead of the species of that name."""
    if not sums and not air:
        return ""
    declared = "".join(f"  REAL(kind=dp) :: {name}\n" for name in (*sums, *air))
    lines = []
    for name, weights in sums.items():
        terms = [f"{'' if weight == 1.0 else f'{weight!r}*'}C(ind_{each})" for each, weight in weights.items()]
        lines.append(f"  {name} = " + " + &\n    ".join(terms) + "\n")
    computed = f"#INLINE F90_RCONST\n{''.join(lines)}#ENDINLINE\n" if lines else ""
    return f"#INLINE F90_GLOBAL\n{declared}#ENDINLINE\n{computed}"


def with_sum_changes(reactions: Sequence[Reaction], sums: Mapping[str, Mapping[str, float]]) -> tuple[Reaction, ...]:
    """Return the reactions with the change of each sum that results from the changes of its species."""
    return tuple(_followed(reaction, sums) for reaction in reactions)


def _followed(reaction: Reaction, sums: Mapping[str, Mapping[str, float]]) -> Reaction:
    products = list(reaction.products)
    for name, weights in sums.items():
        change = Decimal(0)
        for sign, side in ((-1, reaction.reactants), (1, reaction.products)):
            for species, number in side:
                weight = weights.get(species, 0.0)
                change += sign * Decimal(repr(float(number))) * Decimal(repr(weight))
        if change:
            kept = sum((Decimal(repr(float(number))) for species, number in products if species == name), Decimal(0))
            products = [each for each in products if each[0] != name]
            products += [(name, float(kept + change))] if kept + change else []
    return replace(reaction, products=tuple(products))

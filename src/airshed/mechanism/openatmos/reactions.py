"""Collects the reactions of a file, of any type, with the parameters that they leave open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from airshed.core.text import printable
from airshed.formula.tree import Expression
from airshed.mechanism.location import nearest
from airshed.mechanism.names import check_label
from airshed.mechanism.openatmos.node import Fields, Node
from airshed.mechanism.openatmos.rates import (
    BRANCHED,
    FORMS,
    PREFIXES,
    SURFACE,
    Units,
    branched_rates,
    form_rate,
    open_rate,
    read_expression,
    surface_rate,
)
from airshed.mechanism.openatmos.species import Gas
from airshed.mechanism.reaction import OpenParameter, Reaction

RATE: Final = "__rate"
LABEL: Final = "__label"

KINDS: Final = (*FORMS, BRANCHED, SURFACE, *PREFIXES)
"""The types of gas-phase reactions."""

_NO_GAS: Final = (
    "AQUEOUS_EQUILIBRIUM", "CONDENSED_PHASE_ARRHENIUS", "CONDENSED_PHASE_PHOTOLYSIS", "DISSOLVED_EQUILIBRIUM",
    "DISSOLVED_REACTION", "DISSOLVED_REVERSIBLE_REACTION", "HENRYS_LAW_EQUILIBRIUM", "HENRYS_LAW_PHASE_TRANSFER",
    "HL_PHASE_TRANSFER", "LINEAR_CONSTRAINT", "SIMPOL_PHASE_TRANSFER", "WET_DEPOSITION",
)  # fmt: skip

Amounts = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Equation:
    """What the two sides of a reaction are."""

    reactants: Amounts
    products: Amounts

    @property
    def order(self) -> int:
        """How many molecules meet, a third body among them."""
        return int(sum(coefficient for _, coefficient in self.reactants))


@dataclass
class Collection:
    """Reactions of a file, in its order."""

    gases: Mapping[str, Gas]
    reactions: list[Reaction] = field(default_factory=list)
    parameters: dict[str, OpenParameter] = field(default_factory=dict)
    _labels: set[str] = field(default_factory=set)

    def add(self, kind: str, name: str, fields: Fields, equation: Equation, units: Units) -> None:
        """Add a reaction of any type but BRANCHED; a ``__rate`` of ours goes before what its type says."""
        order = equation.order
        if kind in PREFIXES:
            rate, parameter = open_rate(kind, name, fields, order)
            opened: tuple[OpenParameter, ...] = (parameter,)
        elif kind == SURFACE:
            rate, opened = surface_rate(name, fields, self._gas(equation.reactants[0][0]))
        else:
            rate, opened = form_rate(kind, fields, order, units), ()
        text = fields.get(RATE)
        if text is not None:
            rate, opened = read_expression(text), ()
        for parameter in opened:
            self._open(parameter, fields.node)
        label = fields.get(LABEL)
        self._append(label.text() if label is not None else name, rate, equation, fields.node)

    def add_branched(self, name: str, fields: Fields, sides: tuple[Amounts, Amounts, Amounts], units: Units) -> None:
        """Add the alkoxy and the nitrate branch of reactants, as two reactions."""
        reactants, alkoxy, nitrate = sides
        rates = branched_rates(fields, Equation(reactants, ()).order, units)
        label = name or f"R{len(self.reactions) + 1}"
        for branch, products, rate in zip(("alkoxy", "nitrate"), (alkoxy, nitrate), rates, strict=True):
            self._append(f"{label}_{branch}", rate, Equation(reactants, products), fields.node)

    def amounts(self, members: Iterable[tuple[Node, str, float]], *, reactants: bool) -> Amounts:
        """Return one side of an equation; raise MechanismError for an undeclared species, or half a reactant."""
        amounts = []
        for place, name, coefficient in members:
            if name not in self.gases:
                hint = nearest(name, self.gases) or "; declare it, and list it in the gas phase"
                raise place.error(f"species {name[:80]!r} is not declared in the gas phase{hint}")
            if reactants and coefficient not in range(1, 10):
                message = f"a reaction uses up 1, 2, 3, ... of {name}, not {coefficient:g}"
                raise place.error(f"{message}; write what it leaves of it among the products")
            amounts.append((self.gases[name].species.name, coefficient))
        return tuple(amounts)

    def _gas(self, name: str) -> Gas:
        """Return the species that has a name in the network."""
        return next(gas for gas in self.gases.values() if gas.species.name == name)

    def _open(self, parameter: OpenParameter, node: Node) -> None:
        known = self.parameters.setdefault(parameter.name, parameter)
        if known.unit != parameter.unit:
            message = f"{parameter.name} is in {known.unit} in a reaction above and in {parameter.unit} here"
            raise node.error(f"{message}: give one of them another name")

    def _append(self, wanted: str, rate: Expression, equation: Equation, node: Node) -> None:
        label = self._label(wanted.strip())
        check_label("reaction label", label, node.location)
        text = f"{_side(equation.reactants)} = {_side(equation.products)}"
        self.reactions.append(Reaction(label, equation.reactants, equation.products, rate, text, node.location))

    def _label(self, wanted: str) -> str:
        """Return a label that no other reaction has: the format neither needs names nor that they differ."""
        base = wanted or f"R{len(self.reactions) + 1}"
        label, number = base, 2
        while label.casefold() in self._labels:
            label, number = f"{base}_{number}", number + 1
        self._labels.add(label.casefold())
        return label


def refuse_other_kinds(kinds: Sequence[tuple[Node, str]]) -> None:
    """Raise MechanismError that lists the types of reactions which are no gas-phase chemistry, or not known."""
    others = [(node, kind) for node, kind in kinds if kind not in KINDS]
    if not others:
        return
    counts: dict[str, int] = {}
    for _, kind in others:
        counts[kind] = counts.get(kind, 0) + 1
    listed = ", ".join(f"{printable(kind[:60])} ({count})" for kind, count in counts.items())
    first, kind = others[0]
    if any(kind in _NO_GAS for kind in counts):
        raise first.error(f"only gas-phase chemistry is read; these types are of clouds or aerosol: {listed}")
    raise first.error(f"unknown type of reaction: {listed}{nearest(kind, KINDS) or f'; known are {_comma(KINDS)}'}")


def _side(amounts: Amounts) -> str:
    text = ""
    for name, coefficient in amounts:
        number = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.12g} "
        sign = ("-" if coefficient < 0.0 else "") if not text else (" - " if coefficient < 0.0 else " + ")
        text += f"{sign}{number}{name}"
    return text or "nothing"


def _comma(names: Iterable[str]) -> str:
    return ", ".join(names)

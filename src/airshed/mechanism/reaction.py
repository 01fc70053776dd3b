"""Species, reactions and open parameters of a mechanism, and the terms of its equations, each checked by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from airshed.core.constants import ATOMIC_WEIGHTS
from airshed.formula.tree import Expression
from airshed.mechanism.location import Location, error_at
from airshed.mechanism.names import check_label, check_name

_HIGHEST_ORDER = 9  # of a reaction in one species: more is a slip of the pen


@dataclass(frozen=True)
class Species:
    """A chemical species.

    name   as declared; names that differ only in the case of letters are the same species
    atoms  element -> number; empty where the file says IGNORE
    text   its description, from the comment behind the declaration
    fixed  whether its concentration is prescribed (never changed by the chemistry)
    mass   molar mass [kg/mol] where the file tells it, else None

    Raises MechanismError for names that are none, see :mod:`airshed.mechanism.names`.
    """

    name: str
    atoms: Mapping[str, int] = field(default_factory=dict, hash=False)
    text: str = ""
    fixed: bool = False
    mass: float | None = None

    def __post_init__(self) -> None:
        check_name("species", self.name)
        for atom in self.atoms:
            check_name(f"species {self.name}: atom", atom)

    @property
    def molar_mass(self) -> float | None:
        """Molar mass [kg/mol]: as given, else from the atoms; None where neither is known."""
        if self.mass is not None:
            return self.mass
        weights = [ATOMIC_WEIGHTS.get(atom, np.nan) * number for atom, number in self.atoms.items()]
        mass = sum(weights)
        return 1e-3 * mass if weights and np.isfinite(mass) else None


@dataclass(frozen=True)
class OpenParameter:
    """A value that the mechanism leaves open.

    unit     "1/s", "molecules cm-3" ...; empty where the file does not tell
    default  the value where nothing else gives one; None if something else must
    """

    name: str
    unit: str = ""
    text: str = ""
    default: float | None = None

    def __post_init__(self) -> None:
        check_label("what is open as", self.name)


MOST_REACTANTS: Final = 12
"""Molecules that a reaction may begin with: none meets so many, and the density of air to this power is a number."""


@dataclass(frozen=True)
class Reaction:
    """One equation as written: ``<label> reactants = products : rate;``, with light (hv) left out.

    reactants, products  (declared name, coefficient) in the order of the file; a reactant's is a whole number
    rate                 rate constant [s-1, cm3 s-1, cm6 s-1 ...], before fixed reactants are folded in
    text                 the equation as in the file, blanks made single
    """

    label: str
    reactants: tuple[tuple[str, float], ...]
    products: tuple[tuple[str, float], ...]
    rate: Expression
    text: str = ""
    location: Location | None = None

    def __post_init__(self) -> None:
        check_label("reaction label", self.label, self.location)
        molecules = sum(number for _, number in self.reactants)
        if molecules > MOST_REACTANTS:
            message = f"<{self.label}> has {molecules:g} reactants, and may have {MOST_REACTANTS}"
            raise error_at(self.location, f"{message}; write it in steps of a few molecules each")


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of P_i or L_i: coefficient * k[reaction] * product of y[f] over `factors`.

    coefficient  the net number of molecules made (P) or used (L) per reaction; negative in P for a species that a
                 reaction uses up without having it as a reactant, as in OLE + O3 = ... - PAR of carbon-bond mechanisms
    reaction     index into :attr:`ReactionNetwork.reactions` and :attr:`ReactionNetwork.rate_constants`
    factors      indices of variable species in the order of the reaction, an index repeated for a power. In P: every
                 variable reactant. In L: the same with one occurrence of the species itself taken out.
    """

    coefficient: float
    reaction: int
    factors: tuple[int, ...]


def check_order(reaction: Reaction) -> None:
    """Raise MechanismError for numbers of reactants that are not whole or of too high an order."""
    for name, coefficient in reaction.reactants:
        if coefficient not in range(1, _HIGHEST_ORDER + 1):
            message = f"reaction <{reaction.label}>: a number of {name} on the left side is whole, not {coefficient:g}"
            raise error_at(reaction.location, f"{message}; write what one reaction leaves of it on the right side")

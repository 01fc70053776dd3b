"""Chemical mechanism as data: species, reactions, open parameters, and the terms of dy/dt = P - L y."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import ATOMIC_WEIGHTS
from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Number, Symbol, walk
from airshed.mechanism.expressions import SYMBOLS, Environment, Parameter, Value, evaluate_all, parameters, substitute
from airshed.mechanism.file_air import names_of_air
from airshed.mechanism.location import Location, check_label, check_name, error_at, nearest

_HIGHEST_ORDER = 9  # of a reaction in one species: a higher order is a typing error


@dataclass(frozen=True)
class Species:
    """A chemical species.

    name   as declared; names that differ only in case denote the same species
    atoms  element -> number; empty for IGNORE in the file
    text   its description, from the comment behind the declaration
    fixed  whether its concentration is prescribed (never changed by the chemistry)
    mass   molar mass [kg/mol] if given in the file, else None

    Raises MechanismError for invalid names, see :mod:`airshed.mechanism.location`.
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
        """Molar mass [kg/mol]: as given, else from the atoms; None if neither is known."""
        if self.mass is not None:
            return self.mass
        weights = [ATOMIC_WEIGHTS.get(atom, np.nan) * number for atom, number in self.atoms.items()]
        mass = sum(weights)
        return 1e-3 * mass if weights and np.isfinite(mass) else None


@dataclass(frozen=True)
class OpenParameter:
    """Open parameter of the mechanism.

    unit     "1/s", "molecules cm-3" ...; empty if unknown
    default  value used if no other source gives one; None if another source is required
    """

    name: str
    unit: str = ""
    text: str = ""
    default: float | None = None

    def __post_init__(self) -> None:
        check_label("the open parameter", self.name)


MOST_REACTANTS: Final = 12
"""Limit of the reactant molecules of a reaction; the density of air to this power is still a number."""


@dataclass(frozen=True)
class Reaction:
    """Equation as written: ``<label> reactants = products : rate;``, without light (hv).

    reactants, products  (declared name, coefficient) in the order of the file; a reactant's is a whole number
    rate                 rate constant [s-1, cm3 s-1, cm6 s-1 ...], before fixed reactants are included
    text                 the equation as in the file, with single blanks
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
    """Summand of P_i or L_i: coefficient * k[reaction] * product of y[f] over `factors`.

    coefficient  net number of molecules produced (P) or consumed (L) per reaction; negative in P for a species that a
                 reaction consumes without having it as a reactant, as in OLE + O3 = ... - PAR of carbon-bond mechanisms
    reaction     index into :attr:`ReactionNetwork.reactions` and :attr:`ReactionNetwork.rate_constants`
    factors      indices of variable species in the order of the reaction, an index repeated for a power. In P: every
                 variable reactant. In L: the same without one occurrence of the species itself.
    """

    coefficient: float
    reaction: int
    factors: tuple[int, ...]


def check_order(reaction: Reaction) -> None:
    """Raise MechanismError for numbers of reactants that are not whole or of too high an order."""
    for name, coefficient in reaction.reactants:
        if coefficient not in range(1, _HIGHEST_ORDER + 1):
            message = f"reaction <{reaction.label}>: a number of {name} on the left side is whole, not {coefficient:g}"
            raise error_at(reaction.location, f"{message}; write the remainder on the right side")


# The network.


HostFunction = Callable[[Environment], Value]
"""Function that computes a parameter from an environment; its result broadcasts with the environment's values."""

_LARGEST = 20_000  # nodes of an expression after substitution


@dataclass(frozen=True)
class ReactionNetwork:
    """A mechanism: its variable species in the order of the file, its fixed species, and its reactions.

    initial    species -> [molecules cm-3], if the files give initial values; empty otherwise
    sources    the files that were read, the main file first
    declared   known properties of parameters; parameters of rates that are absent here are known by name alone
    bindings   parameter -> the expression that replaced it, which may hold other parameters, see :meth:`bind`
    callables  parameter -> a function in Python that computes it, see :meth:`host_values`
    checked    atoms that every reaction conserves according to the file (#CHECK); empty without a statement
    renamed    name in the file -> name of the species here, if the file's is invalid
    sums       species that represents a sum -> weights of the other species in it
    factor     CFACTOR of a file whose rates use it [molecules cm-3 of a ppm in the file's air]; None if none does
    in_code    names of the air and species whose value inlined code of the file sets: that code is not run

    Raises MechanismError for invalid names, two species or labels of one name, or an undeclared species.
    """

    name: str
    species: tuple[Species, ...]
    fixed: tuple[Species, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    atoms: tuple[str, ...] = ()
    initial: Mapping[str, float] = field(default_factory=dict, hash=False)
    sources: tuple[str, ...] = ()
    declared: tuple[OpenParameter, ...] = ()
    bindings: Mapping[str, Expression] = field(default_factory=dict, hash=False)
    callables: Mapping[str, HostFunction] = field(default_factory=dict, hash=False)
    checked: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict, hash=False)
    sums: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    factor: float | None = None
    in_code: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_label("mechanism", self.name)
        for atom in (*self.atoms, *self.checked):
            check_name("atom", atom)
        for name in (*self.bindings, *self.callables):
            check_label("the open parameter", name)
        _refuse_duplicates("species", [species.name for species in self.species + self.fixed])
        _refuse_duplicates("reaction label", [reaction.label for reaction in self.reactions])
        for reaction in self.reactions:
            check_order(reaction)
        # Computed here, so that errors are reported when the mechanism is read.
        _ = self.loss_terms, self.rate_constants

    @property
    def renaming(self) -> str:
        """Text on species with different names here and in the file; empty if there are none."""
        return ", ".join(f"{name} for {theirs}" for theirs, name in self.renamed.items())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variable species."""
        return tuple(species.name for species in self.species)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name.casefold(): number for number, name in enumerate(self.names)}

    @cached_property
    def _fixed_names(self) -> frozenset[str]:
        return frozenset(species.name.casefold() for species in self.fixed)

    def index(self, name: str) -> int:
        """Return the index of a variable species, by its name in upper or lower case; raise MechanismError if
        unknown.
        """
        number = self._indices.get(name.casefold())
        if number is None:
            raise MechanismError(f"mechanism {self.name!r} has no species {name!r}{nearest(name, self.names)}")
        return number

    @cached_property
    def reactant_indices(self) -> tuple[tuple[int, ...], ...]:
        """Variable reactants of each reaction, an index repeated by its coefficient."""
        return tuple(
            tuple(
                self.index(name)
                for name, number in reaction.reactants
                if not self._is_fixed(name, reaction)
                for _ in range(round(number))
            )
            for reaction in self.reactions
        )

    @cached_property
    def net_stoichiometry(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """(Variable species, net coefficient) pairs of each reaction, species ascending, zeros omitted.

        Coefficients are added as decimals, as written: 1 - 0.12 is 0.88 exactly.
        """
        return tuple(self._net(reaction) for reaction in self.reactions)

    @cached_property
    def rate_constants(self) -> tuple[Expression, ...]:
        """Rate constant k_r of each reaction: its rate times the concentrations of its fixed reactants, constants
        folded.

        A fixed species that is a symbol of the air (M, O2, N2, H2O) is that of the air, unless :attr:`bindings` defines
        it; any other is a parameter whose default is its initial value.
        """
        return tuple(self._rate_constant(reaction) for reaction in self.reactions)

    @cached_property
    def parameters(self) -> tuple[OpenParameter, ...]:
        """Open parameters of the rate constants, in the order of the reactions."""
        names = dict.fromkeys(name for constant in self.rate_constants for name in parameters(constant))
        known = {each.name: each for each in self.declared}
        return tuple(known.get(name) or self._fixed_parameter(name) or OpenParameter(name) for name in names)

    @property
    def open_parameters(self) -> tuple[OpenParameter, ...]:
        """Parameters among :attr:`parameters` with neither a default nor a function in Python."""
        return tuple(each for each in self.parameters if each.default is None and each.name not in self.callables)

    def host_values(self, environment: Environment) -> dict[str, Value]:
        """Return the parameters that :attr:`callables` computes and the environment, of any shape, does not give."""
        return {
            each.name: self.callables[each.name](environment)
            for each in self.parameters
            if each.name in self.callables and each.name not in environment
        }

    def bind(self, values: Mapping[str, Expression | float]) -> "ReactionNetwork":
        """Return the network with expressions or numbers [molecules, cm3, s] in place of parameters.

        Names are those of :attr:`parameters`, or bound before, in upper or lower case. A bound expression may have open
        parameters itself. Raises MechanismError for an unknown name, and for circular definitions.
        """
        known = {name.casefold(): name for name in (*self.bindings, *(each.name for each in self.parameters))}
        new: dict[str, Expression] = {}
        for name, value in values.items():
            if name.casefold() not in known:
                message = f"mechanism {self.name!r} has no open parameter {name!r}"
                raise MechanismError(f"{message}{nearest(name, tuple(known.values()))}")
            new[known[name.casefold()]] = Number(float(value)) if isinstance(value, int | float) else value
        return replace(self, bindings={**self.bindings, **new}) if new else self

    @cached_property
    def bound(self) -> dict[str, Expression]:
        """Bindings after substitution of the bindings in their own formulas, with M for a fixed species that is the
        air.
        """
        closed: dict[str, Expression] = dict.fromkeys(self.air_names, Symbol("M"))
        for name in self.bindings:
            self._close(name, closed, ())
        return closed

    @cached_property
    def air_names(self) -> tuple[str, ...]:
        """Fixed species for all of the air under another name than M, see :mod:`airshed.mechanism.file_air`."""
        return names_of_air((each.name for each in self.fixed if each.name not in self.bindings), self.initial)

    def _close(self, name: str, closed: dict[str, Expression], above: tuple[str, ...]) -> None:
        if name in above:
            circle = " -> ".join((*above[above.index(name) :], name))
            raise MechanismError(f"mechanism {self.name!r}: these rates define each other: {circle}")
        if name in closed:
            return
        needed = [each for each in parameters(self.bindings[name]) if each in self.bindings]
        for each in needed:
            self._close(each, closed, (*above, name))
        named = [node.name for node in walk(self.bindings[name]) if isinstance(node, Parameter) and node.name in closed]
        if sum(sum(1 for _ in walk(closed[each])) for each in named) > _LARGEST:
            raise MechanismError(f"mechanism {self.name!r}: {name} is too large after substitution of all names")
        closed[name] = substitute(self.bindings[name], {each: closed[each] for each in needed})

    def with_defaults(self) -> "ReactionNetwork":
        """Return the network with the defaults in place of parameters that have one."""
        return self.bind({each.name: each.default for each in self.parameters if each.default is not None})

    @cached_property
    def production_terms(self) -> tuple[tuple[Term, ...], ...]:
        """Terms of P_i [molecules cm-3 s-1] for each variable species, reactions ascending."""
        return self._terms[0]

    @cached_property
    def loss_terms(self) -> tuple[tuple[Term, ...], ...]:
        """Terms of L_i [s-1] for each variable species, reactions ascending."""
        return self._terms[1]

    @cached_property
    def _terms(self) -> tuple[tuple[tuple[Term, ...], ...], tuple[tuple[Term, ...], ...]]:
        production: list[list[Term]] = [[] for _ in self.species]
        loss: list[list[Term]] = [[] for _ in self.species]
        for number, net in enumerate(self.net_stoichiometry):
            reactants = self.reactant_indices[number]
            for species, coefficient in net:
                if coefficient > 0.0 or species not in reactants:
                    production[species].append(Term(coefficient, number, reactants))
                else:
                    others = list(reactants)
                    others.remove(species)
                    loss[species].append(Term(-coefficient, number, tuple(others)))
        return tuple(map(tuple, production)), tuple(map(tuple, loss))

    def _net(self, reaction: Reaction) -> tuple[tuple[int, float], ...]:
        net: dict[int, Decimal] = {}
        for sign, side in ((-1, reaction.reactants), (1, reaction.products)):
            for name, coefficient in side:
                if not self._is_fixed(name, reaction):
                    species = self.index(name)
                    net[species] = net.get(species, Decimal(0)) + sign * Decimal(repr(float(coefficient)))
        return tuple((species, float(change)) for species, change in sorted(net.items()) if change)

    def _rate_constant(self, reaction: Reaction) -> Expression:
        constant = reaction.rate
        for name, number in reaction.reactants:
            if self._is_fixed(name, reaction):
                for _ in range(round(number)):
                    constant = Binary("*", constant, self._concentration(name))
        return fold(substitute(constant, self.bound))

    def _concentration(self, name: str) -> Expression:
        declared = next(each.name for each in self.fixed if each.name.casefold() == name.casefold())
        if name.upper() in SYMBOLS and declared not in self.bindings:
            return Symbol(name.upper())
        return Parameter(declared)

    def _fixed_parameter(self, name: str) -> OpenParameter | None:
        for species in self.fixed:
            if species.name == name:
                given = {known.casefold(): value for known, value in self.initial.items()}
                return OpenParameter(name, "molecules cm-3", species.text, given.get(name.casefold()))
        return None

    def _is_fixed(self, name: str, reaction: Reaction) -> bool:
        if name.casefold() in self._indices:
            return False
        if name.casefold() in self._fixed_names:
            return True
        known = self.names + tuple(species.name for species in self.fixed)
        raise error_at(reaction.location, f"species {name!r} is not declared{nearest(name, known)}")


def rates(network: ReactionNetwork, environment: Environment) -> Array:
    """Return the rate constants k (reaction, ...) [molecules, cm3, s] for an environment of any shape (...).

    Values in the environment take precedence over those of the mechanism's functions in Python.
    """
    environment = {**network.host_values(environment), **environment}
    shape = np.broadcast_shapes(*(np.shape(value) for value in environment.values()))
    result = np.empty((len(network.reactions), *shape))
    for number, value in enumerate(evaluate_all(network.rate_constants, environment)):
        result[number] = value
    return result


def tendency(network: ReactionNetwork, k: Array, y: Array) -> Array:
    """Return dy/dt (species, ...) [molecules cm-3 s-1] of the reactions, as a simple reference implementation.

    k  (reaction, ...) from :func:`rates`
    y  (species, ...) [molecules cm-3]
    """
    shape = len(network.species), *np.broadcast_shapes(y.shape[1:], k.shape[1:])
    result = np.zeros(shape, np.result_type(y, k, np.float64))
    for number, net in enumerate(network.net_stoichiometry):
        speed = k[number] * _product(y, network.reactant_indices[number])
        for species, coefficient in net:
            result[species] += coefficient * speed
    return result


def sum_terms(terms: Sequence[Term], k: Array, y: Array) -> Array:
    """Return the sum of the terms of one species: P_i [molecules cm-3 s-1] or L_i [s-1], shape (...)."""
    total = np.zeros(np.broadcast_shapes(y.shape[1:], k.shape[1:]))
    for term in terms:
        total = total + term.coefficient * k[term.reaction] * _product(y, term.factors)
    return total


def _product(y: Array, factors: Sequence[int]) -> Array:
    product = np.ones(y.shape[1:])
    for species in factors:
        product = product * y[species]
    return product


def _refuse_duplicates(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise MechanismError(f"{what} {name!r} occurs twice")
        seen.add(name.casefold())

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

_HIGHEST_ORDER = 9  # of a reaction in one species: more is a slip of the pen


@dataclass(frozen=True)
class Species:
    """A chemical species.

    name   as declared; names that differ only in the case of letters are the same species
    atoms  element -> number; empty where the file says IGNORE
    text   its description, from the comment behind the declaration
    fixed  whether its concentration is prescribed (never changed by the chemistry)
    mass   molar mass [kg/mol] where the file tells it, else None

    Raises MechanismError for names that are none, see :mod:`airshed.mechanism.location`.
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


# The network.


HostFunction = Callable[[Environment], Value]
"""Computes a parameter from an environment; its result broadcasts with the environment's values."""

_LARGEST = 20_000  # nodes of a bound expression


@dataclass(frozen=True)
class ReactionNetwork:
    """A mechanism: its variable species in the order of the file, its fixed species, and its reactions.

    initial    species -> [molecules cm-3], where the files give initial values; empty otherwise
    sources    the files that it was read from, the first one first
    declared   what is known of parameters; those of rates that stand nowhere here are known by their names alone
    bindings   parameter -> the expression that took its place, which may hold other parameters, see :meth:`bind`
    callables  parameter -> a function in Python that computes it, see :meth:`host_values`
    checked    atoms that the file says every reaction conserves (#CHECK); empty where it does not say
    renamed    name in the file -> that of the species here, where the file's is none
    sums       species that is a sum of others, as the reader carries it -> their weights in it
    factor     CFACTOR of a file whose rates use it [molecules cm-3 of a ppm in the file's air]; None where none does
    in_code    names of the air and species whose value inlined code of the file sets: that code is not run

    Raises MechanismError for names that are none, two species or labels of one name, or an undeclared species.
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
            check_label("what is open as", name)
        _refuse_duplicates("species", [species.name for species in self.species + self.fixed])
        _refuse_duplicates("reaction label", [reaction.label for reaction in self.reactions])
        for reaction in self.reactions:
            check_order(reaction)
        # Worked out now, so that what is wrong with them is said when the mechanism is read.
        _ = self.loss_terms, self.rate_constants

    @property
    def renaming(self) -> str:
        """Which species have another name here than in the file, in words; empty where all have theirs."""
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
        """Return the number of a variable species, its name in any case of letters; raise MechanismError if unknown."""
        number = self._indices.get(name.casefold())
        if number is None:
            raise MechanismError(f"mechanism {self.name!r} has no species {name!r}{nearest(name, self.names)}")
        return number

    @cached_property
    def reactant_indices(self) -> tuple[tuple[int, ...], ...]:
        """For each reaction its variable reactants, an index repeated as often as its coefficient says."""
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
        """For each reaction its (variable species, net coefficient) pairs, species ascending, zeros left out.

        Coefficients are added as decimals, as they are written: 1 - 0.12 is 0.88 exactly.
        """
        return tuple(self._net(reaction) for reaction in self.reactions)

    @cached_property
    def rate_constants(self) -> tuple[Expression, ...]:
        """For each reaction k_r: its rate times the concentrations of its fixed reactants, constants folded.

        A fixed species that is a symbol of the air (M, O2, N2, H2O) stands for the air's, unless :attr:`bindings` says
        what it is; another one is a parameter whose default is its initial value.
        """
        return tuple(self._rate_constant(reaction) for reaction in self.reactions)

    @cached_property
    def parameters(self) -> tuple[OpenParameter, ...]:
        """What the rate constants leave open, in the order of the reactions."""
        names = dict.fromkeys(name for constant in self.rate_constants for name in parameters(constant))
        known = {each.name: each for each in self.declared}
        return tuple(known.get(name) or self._fixed_parameter(name) or OpenParameter(name) for name in names)

    @property
    def open_parameters(self) -> tuple[OpenParameter, ...]:
        """Those of :attr:`parameters` that have neither a default nor a function in Python."""
        return tuple(each for each in self.parameters if each.default is None and each.name not in self.callables)

    def host_values(self, environment: Environment) -> dict[str, Value]:
        """Return the parameters that :attr:`callables` computes and the environment, of any shape, does not give."""
        return {
            each.name: self.callables[each.name](environment)
            for each in self.parameters
            if each.name in self.callables and each.name not in environment
        }

    def bind(self, values: Mapping[str, Expression | float]) -> "ReactionNetwork":
        """Return the network with expressions or numbers [molecules, cm3, s] in the place of parameters.

        Names are those of :attr:`parameters`, or bound before, in any case of letters; what is bound may itself leave
        things open. Raises MechanismError for a name that is no parameter, and for names that stand for each other.
        """
        known = {name.casefold(): name for name in (*self.bindings, *(each.name for each in self.parameters))}
        new: dict[str, Expression] = {}
        for name, value in values.items():
            if name.casefold() not in known:
                message = f"mechanism {self.name!r} leaves nothing open that is called {name!r}"
                raise MechanismError(f"{message}{nearest(name, tuple(known.values()))}")
            new[known[name.casefold()]] = Number(float(value)) if isinstance(value, int | float) else value
        return replace(self, bindings={**self.bindings, **new}) if new else self

    @cached_property
    def bound(self) -> dict[str, Expression]:
        """The bindings, with what is bound in their own formulas put in, and M for a fixed species that is the air."""
        closed: dict[str, Expression] = dict.fromkeys(self.air_names, Symbol("M"))
        for name in self.bindings:
            self._close(name, closed, ())
        return closed

    @cached_property
    def air_names(self) -> tuple[str, ...]:
        """Fixed species that are all of the air under another name than M, see :mod:`airshed.mechanism.file_air`."""
        return names_of_air((each.name for each in self.fixed if each.name not in self.bindings), self.initial)

    def _close(self, name: str, closed: dict[str, Expression], above: tuple[str, ...]) -> None:
        if name in above:
            circle = " -> ".join((*above[above.index(name) :], name))
            raise MechanismError(f"mechanism {self.name!r}: these rates stand for each other: {circle}")
        if name in closed:
            return
        needed = [each for each in parameters(self.bindings[name]) if each in self.bindings]
        for each in needed:
            self._close(each, closed, (*above, name))
        named = [node.name for node in walk(self.bindings[name]) if isinstance(node, Parameter) and node.name in closed]
        if sum(sum(1 for _ in walk(closed[each])) for each in named) > _LARGEST:
            raise MechanismError(f"mechanism {self.name!r}: {name} is too large when all that it names is put in")
        closed[name] = substitute(self.bindings[name], {each: closed[each] for each in needed})

    def with_defaults(self) -> "ReactionNetwork":
        """Return the network with the defaults in the place of parameters that have one."""
        return self.bind({each.name: each.default for each in self.parameters if each.default is not None})

    @cached_property
    def production_terms(self) -> tuple[tuple[Term, ...], ...]:
        """For each variable species the terms of P_i [molecules cm-3 s-1], reactions ascending."""
        return self._terms[0]

    @cached_property
    def loss_terms(self) -> tuple[tuple[Term, ...], ...]:
        """For each variable species the terms of L_i [s-1], reactions ascending."""
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

    What the environment gives goes before what the mechanism's functions in Python compute.
    """
    environment = {**network.host_values(environment), **environment}
    shape = np.broadcast_shapes(*(np.shape(value) for value in environment.values()))
    result = np.empty((len(network.reactions), *shape))
    for number, value in enumerate(evaluate_all(network.rate_constants, environment)):
        result[number] = value
    return result


def tendency(network: ReactionNetwork, k: Array, y: Array) -> Array:
    """Return dy/dt (species, ...) [molecules cm-3 s-1] of the reactions, slowly and plainly.

    k  (reaction, ...) as :func:`rates` gives them;  y  (species, ...) [molecules cm-3]
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
            raise MechanismError(f"{what} {name!r} stands twice")
        seen.add(name.casefold())

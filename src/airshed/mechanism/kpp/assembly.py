"""Assembly of the statements of reaction files into a ReactionNetwork; each kind of fault is reported once."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Final

from airshed.core.constants import ATOMIC_WEIGHTS
from airshed.core.errors import MechanismError
from airshed.core.text import printable
from airshed.formula.tree import Expression, Number
from airshed.mechanism.expressions import parameters
from airshed.mechanism.kpp.code_values import code_values, set_in_code
from airshed.mechanism.kpp.meaning import NameResolver, UnknownName, did_you_mean
from airshed.mechanism.kpp.rate_functions import MissingFormula, MissingFormulasError, message, of_dialect
from airshed.mechanism.kpp.source import SourceFile
from airshed.mechanism.kpp.statements import (
    Amount,
    EquationStatement,
    Formula,
    MisplacedError,
    NameStatement,
    SpeciesStatement,
    Statement,
    ValueStatement,
)
from airshed.mechanism.kpp.sums import CodeSum, SumPowerError, expand_sums, with_sum_changes
from airshed.mechanism.location import Location, check_label, check_name, error_at, nearest
from airshed.mechanism.network import Reaction, ReactionNetwork, Species
from airshed.mechanism.rates_file import RatesFile

_MOST_FAULTS: Final = 20
_LONGEST: Final = 1000
"""Limit of the characters of a message, a little more than a terminal shows."""
_MOST_NAMES: Final = 8
_VARIABLE: Final = re.compile(r"a rate cannot depend on (\w+), a variable species")
_LABEL: Final = re.compile(r"the rate of <[^<>]{0,200}>")
_PLACE: Final = re.compile(r"^[^\n]*?:\d+:\d+: ")


class Faults:
    """Faults of many reactions, one of each kind with the number of its locations."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[MechanismError, int]] = {}
        self._names: dict[str, dict[str, None]] = {}

    def add(self, fault: MechanismError) -> None:
        """Add a fault; faults are alike if they differ only in location or in the variable species."""
        kind = _LABEL.sub("the rate of <>", _PLACE.sub("", str(fault), count=1))
        named = _VARIABLE.search(kind)
        if named is not None:
            kind = kind.replace(named[0], "")
            self._names.setdefault(kind, {})[named[1]] = None
        first, number = self.found.get(kind, (fault, 0))
        self.found[kind] = (first, number + 1)

    @property
    def many(self) -> bool:
        """True if there are more kinds than a message can list."""
        return len(self.found) > _MOST_FAULTS

    def text(self) -> str:
        """Return all faults, a line each."""
        lines: list[str] = []
        for kind, (fault, number) in list(self.found.items())[:_MOST_FAULTS]:
            if sum(map(len, lines)) + len(str(fault)) > _LONGEST and lines:
                left = "and more" if self.many else f"and {len(self.found) - len(lines)} more"
                return "\n".join([*lines, left])
            others = list(self._names.get(kind, ()))[1:]
            of = f" of {', '.join(others[:_MOST_NAMES])}{' ...' * (len(others) > _MOST_NAMES)} too" if others else ""
            lines.append(str(fault) + (f" ({number} places{of}, this is the first)" if number > 1 else ""))
        return "\n".join([*lines, *(["and more"] if self.many else [])])


def first_places(unknown: Iterable[tuple[Location, str, UnknownName]]) -> list[tuple[Location, str, UnknownName]]:
    """Return each unexplained name at its first location."""
    first: dict[str, tuple[Location, str, UnknownName]] = {}
    for each in unknown:
        first.setdefault(each[2].name.casefold(), each)
    return list(first.values())


def of_species(unknown: tuple[Location, str, UnknownName], total: CodeSum, meaning: NameResolver) -> MechanismError:
    """Return the error of a rate with a function of concentrations that cannot be represented as their sum."""
    place, label, each = unknown
    known = {**meaning.variable, **meaning.fixed}
    undeclared = [name for name in total.among(known) if name not in known]
    fixed = [meaning.fixed[name] for name in total.among(known) if name in meaning.fixed]
    if undeclared:
        first = undeclared[0].upper()
        more = f", nor are {len(undeclared) - 1} others of it" if len(undeclared) > 1 else ""
        fault = f"a sum with {first}, which is not declared{nearest(first, known.values())}{more}"
    elif fixed:
        fault = f"a sum with {fixed[0]}, a fixed species: take it out of the sum, and write reactions with it for it"
    else:
        fault = (
            "which inlined code computes from variable species, and not as their plain sum: write it as one line, "
            f"{each.name} = C(ind_A) + C(ind_B), or the reaction once for each species X of it, A + X = B + X : k"
        )
    return error_at(place, f"the rate of <{label}> depends on {each.name}, {fault}")


def of_power(reaction: Reaction, species: Sequence[str], sums: Iterable[str]) -> MechanismError:
    """Return the error of a rate that depends on concentrations other than by their powers."""
    text = (
        f"the rate of <{reaction.label}> depends on {' and '.join(sums)}, a sum of variable species, in another way "
        "than by a factor; write it as a reaction of these species"
    )
    if species:
        text = (
            f"a rate cannot depend on {species[0]}, a variable species, in another way than by a factor; write the "
            "function that takes it so, or without it"
        )
    return error_at(reaction.location, text)


def missing_formulas(unknown: Iterable[tuple[Location, str, UnknownName]]) -> list[MissingFormula]:
    """Return the functions without a formula, each once with the number of its locations."""
    found: dict[tuple[str, int], MissingFormula] = {}
    for place, label, each in unknown:
        key = each.name.casefold(), each.arguments
        if key in found:
            found[key] = replace(found[key], places=found[key].places + 1)
        else:
            found[key] = MissingFormula(each.name, each.arguments, each.text, label, place, species=each.species)
    return list(found.values())


def unexplained(missing: Sequence[MissingFormula], rates: RatesFile, file: str) -> MechanismError:
    """Return the error that names all unexplained functions in rates, each with its first reaction."""
    one = missing[0]
    alone = len(missing) == 1 and one.arguments and of_dialect(one.name, one.arguments) is None
    hint = did_you_mean(one.name, rates.definitions) if alone else ""
    return error_at(one.location, f"{message(missing, rates.path.name, file)}{hint}")


# Assembly.


LIGHT, NOTHING = "hv", "prod"
GROUPS: Final = {"all_spec": (True, False), "var_spec": (False,), "fix_spec": (True,)}
_OTHER_ATOMS: Final = ("Pls", "Min", "Rn")  # of MECCA, without an atomic weight here: charges of ions, and radon
_MASS: Final = re.compile(r"\[(\d+(?:\.\d*)?(?:e[+-]?\d{1,2})?) kg/mol\]$")
_CHANGES: Final = {"SETVAR": False, "SETRAD": False, "SETFIX": True}


@dataclass
class Collection:
    """Statements of the files, in order; names are keys with their case folded.

    absent  models of #MODEL that are missing
    """

    sources: list[SourceFile] = field(default_factory=list)
    atoms: dict[str, str] = field(default_factory=dict)
    species: dict[str, tuple[Location, Species]] = field(default_factory=dict)
    equations: list[tuple[SourceFile, EquationStatement]] = field(default_factory=list)
    values: list[tuple[SourceFile, ValueStatement]] = field(default_factory=list)
    compositions: list[tuple[SourceFile, str, tuple[Amount, ...]]] = field(default_factory=list)
    listed: list[tuple[Location, str, str]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def declared(self, *, fixed: bool) -> tuple[Species, ...]:
        """Return the fixed or the variable species."""
        return tuple(species for _, species in self.species.values() if species.fixed == fixed)

    def in_code(self, what: str) -> frozenset[str]:
        """Return the names of all files in an attribute."""
        return frozenset().union(*(getattr(source, what) for source in self.sources))

    def add(self, source: SourceFile, command: str, statement: Statement) -> None:
        """Add a statement of a section; raise MechanismError for a species that is declared twice."""
        match statement:
            case NameStatement(offset, name) if command == "ATOMS":
                check_name("atom", name, source.location(offset))
                self.atoms.setdefault(name.casefold(), name)
            case NameStatement(offset, name):
                self.listed.append((source.location(offset), command, name))
            case SpeciesStatement(offset, name, parts):
                location = source.location(offset)
                check_name("species", name, location)
                self._refuse_second(location, name)
                text, mass = _remark(source.remark(offset))
                species = Species(name, {}, text, fixed=command == "DEFFIX", mass=mass)
                self.species[name.casefold()] = (location, species)
                self.compositions.append((source, name.casefold(), parts))
            case EquationStatement():
                self.equations.append((source, statement))
            case ValueStatement():
                self.values.append((source, statement))

    def _refuse_second(self, location: Location, name: str) -> None:
        if name.casefold() == LIGHT:
            raise error_at(location, f"{name} denotes light in an equation and cannot be a species")
        if name.casefold() in GROUPS:
            raise error_at(location, f"{name} denotes a group of species and cannot be one")
        if name.casefold() in self.species:
            first = self.species[name.casefold()][0]
            raise error_at(location, f"species {name!r} is declared a second time; the first is at {first}")

    def members(self, name: str) -> list[str]:
        """Return the keys of the species of a name, or of a group of species."""
        group = GROUPS.get(name.casefold())
        if group is None:
            return [name.casefold()] if name.casefold() in self.species else []
        return [key for key, (_, species) in self.species.items() if species.fixed in group]

    def names(self) -> list[str]:
        """Return the names of all species."""
        return [species.name for _, species in self.species.values()]


def assemble(name: str, collection: Collection, rates: RatesFile) -> ReactionNetwork:
    """Return the network of a mechanism; raise MechanismError with the location of a fault."""
    _compose(collection)
    checked = _apply_lists(collection)
    if not collection.declared(fixed=False):
        raise MechanismError(f"mechanism {name!r}: #SETFIX leaves no variable species, so nothing can change")
    factor, fixed = _factor(collection), _by_key(collection.declared(fixed=True))
    values = code_values(collection.sources, {key: each.fixed for key, (_, each) in collection.species.items()})
    rates = replace(rates, own={**values, **rates.own})
    meaning = NameResolver(
        definitions=rates.spelled(fixed.values()),
        variable=_by_key(collection.declared(fixed=False)),
        fixed=fixed,
        assigned=collection.in_code("defined_in_code"),
        factor=factor,
        given=collection.in_code("given_by_code"),
        imports=any(source.imports for source in collection.sources),
        computed=collection.in_code("sums_in_code"),
    )
    sums = _sums(collection, meaning)
    meaning.sums = {each.casefold(): each for each in sums}
    for each in fixed.values():
        meaning.give(each)
    reactions = _reactions(collection, meaning, rates)
    rates.refuse_unused(meaning.used, meaning.open_names)
    used = {reactant for reaction in reactions for reactant, _ in reaction.reactants}
    sums = {total: weights for total, weights in sums.items() if total in used}
    initial = _initial(collection, 1.0 if factor is None else factor)
    for total, weights in sums.items():
        initial[total] = sum(weight * initial.get(species, 0.0) for species, weight in weights.items())
    network = ReactionNetwork(
        name=name,
        species=(
            *collection.declared(fixed=False),
            *(Species(each, text=f"sum of {len(sums[each])} species") for each in sums),
        ),
        fixed=collection.declared(fixed=True),
        reactions=with_sum_changes(reactions, sums),
        atoms=tuple(collection.atoms.values()),
        initial=initial,
        sources=tuple(source.name for source in collection.sources),
        bindings=meaning.bindings,
        callables=meaning.callables,
        checked=checked,
        sums=sums,
        in_code=set_in_code(collection.sources, _by_key(each for _, each in collection.species.values())),
    )
    return replace(network, factor=factor) if meaning.follows and factor is not None else network


def _sums(collection: Collection, meaning: NameResolver) -> dict[str, dict[str, float]]:
    """Return the sums of variable species in inlined code: name -> weights by the species' names."""
    found: dict[str, dict[str, float]] = {}
    for source in collection.sources:
        for key, each in source.sums_in_code.items():
            free = key not in collection.species and key not in meaning.definitions
            weights = each.among(collection.species)
            if free and weights and all(species in meaning.variable for species in weights):
                found[each.name] = {meaning.variable[species]: weight for species, weight in weights.items()}
    return found


def _remark(text: str) -> tuple[str, float | None]:
    """Return the text of a remark and the molar mass at its end, as in ``lumped alkenes [0.0721 kg/mol]``."""
    text = printable(text)
    match = _MASS.search(text)
    return (text[: match.start()].rstrip(), float(match[1])) if match else (text, None)


def _by_key(species: Iterable[Species]) -> dict[str, str]:
    return {each.name.casefold(): each.name for each in species}


def _compose(collection: Collection) -> None:
    """Assign the atoms of every species; if no file has #ATOMS, the chemical elements may be used."""
    known = collection.atoms or {symbol.casefold(): symbol for symbol in (*ATOMIC_WEIGHTS, *_OTHER_ATOMS)}
    used = collection.atoms
    for source, key, parts in collection.compositions:
        atoms: dict[str, int] = {}
        for part in parts:
            atom = known.get(part.name.casefold())
            if atom is None:
                hint = nearest(part.name, known.values())
                raise error_at(source.location(part.offset), f"atom {part.name!r} is not declared under #ATOMS{hint}")
            used.setdefault(atom.casefold(), atom)
            atoms[atom] = atoms.get(atom, 0) + int(part.coefficient)
        location, species = collection.species[key]
        collection.species[key] = (location, replace(species, atoms=atoms))


def _apply_lists(collection: Collection) -> tuple[str, ...]:
    """Apply #SETVAR and #SETFIX, check the names of all lists, and return the atoms under #CHECK."""
    checked: dict[str, str] = {}
    for location, command, name in collection.listed:
        members = collection.members(name)
        atom = collection.atoms.get(name.casefold())
        if command in _CHANGES:
            for key in members:
                where, species = collection.species[key]
                collection.species[key] = (where, replace(species, fixed=_CHANGES[command]))
        if command == "CHECK" and atom is not None:
            checked[name.casefold()] = atom
        found = atom is not None if command == "CHECK" else members or name.casefold() in GROUPS
        if not found and (atom is None or command in _CHANGES):
            what = "atom" if command == "CHECK" else "species"
            known = collection.atoms.values() if command == "CHECK" else collection.names()
            raise error_at(location, f"{what} {name!r} is not declared{nearest(name, known)}")
    return tuple(checked.values())


def _reactions(collection: Collection, meaning: NameResolver, rates: RatesFile) -> tuple[Reaction, ...]:
    """Return the reactions; the faults of several of them are reported together."""
    reactions: dict[str, Reaction] = {}
    faults = Faults()
    unknown: list[tuple[Location, str, UnknownName]] = []
    for number, (source, equation) in enumerate(collection.equations, start=1):
        label = equation.label or f"R{number}"
        first = reactions.get(label.casefold())
        try:
            if first is not None:
                again = f"the label <{label}> occurs twice; the first is at {first.location}"
                raise error_at(source.location(equation.offset), again)
            reaction = _reaction(source, equation, label, collection, meaning)
            for each in _in_terms(reaction, meaning, reactions):
                reactions[each.label.casefold()] = each
        except MechanismError as fault:
            faults.add(fault)
        if faults.many:
            break  # the search for nearest names takes time
        unknown += [(source.location(one.offset), label, one) for one in meaning.unknown]
        meaning.unknown.clear()
    sums = {key: each for source in collection.sources for key, each in source.sums_in_code.items()}
    for place in first_places(unknown):
        if place[2].name.casefold() in sums:
            faults.add(of_species(place, sums[place[2].name.casefold()], meaning))
    missing = missing_formulas([place for place in unknown if place[2].name.casefold() not in sums])
    if missing:
        error = unexplained(missing, rates, collection.sources[0].name)
        faults.add(error)
        raise MissingFormulasError(faults.text(), missing, meaning.open_names)
    if faults.found:
        raise MechanismError(faults.text())
    return tuple(reactions.values())


def _in_terms(reaction: Reaction, meaning: NameResolver, taken: Container[str]) -> tuple[Reaction, ...]:
    """Return a reaction with the sums and species of its rate as reactants; raise MechanismError if that is
    impossible.
    """
    species = [name for name in parameters(reaction.rate) if name.casefold() in meaning.variable]
    try:
        return tuple(expand_sums(reaction, [*meaning.sums.values(), *species], taken))
    except SumPowerError:
        raise of_power(reaction, species, meaning.sums.values()) from None


def _reaction(
    source: SourceFile, equation: EquationStatement, label: str, collection: Collection, meaning: NameResolver
) -> Reaction:
    check_label("reaction label", label, source.location(equation.offset))
    return Reaction(
        label=label,
        reactants=_amounts(source, equation.reactants, collection, ignored=(LIGHT, NOTHING)),
        products=_amounts(source, equation.products, collection, ignored=(LIGHT, NOTHING)),
        rate=_rate(source, equation, meaning),
        text=" ".join(source.text[equation.offset : equation.end].split()),
        location=source.location(equation.offset),
    )


def _rate(source: SourceFile, equation: EquationStatement, meaning: NameResolver) -> Expression:
    rate = _rate_expression(source, equation.rate, equation.offset, meaning)
    if isinstance(rate, Number) and rate.value < 0.0:
        raise error_at(source.location(equation.offset), f"the rate constant {rate} is negative")
    return rate


def _rate_expression(source: SourceFile, formula: Formula, offset: int, meaning: NameResolver) -> Expression:
    try:
        return meaning.expression(formula, offset)
    except MisplacedError as error:
        raise error_at(source.location(error.offset), error.message) from None


def _amounts(
    source: SourceFile, amounts: Sequence[Amount], collection: Collection, ignored: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """Return (declared name, coefficient) pairs, without light and, unless declared, the product for nothing."""
    result = []
    for amount in amounts:
        declared = collection.species.get(amount.name.casefold())
        if declared is not None:
            result.append((declared[1].name, amount.coefficient))
        elif amount.name.casefold() not in ignored:
            hint = nearest(amount.name, collection.names())
            raise error_at(source.location(amount.offset), f"species {amount.name!r} is not declared{hint}")
    return tuple(result)


def _factor(collection: Collection) -> float | None:
    """Return the last CFACTOR of the files."""
    given = [each for each in collection.values if each[1].name.casefold() == "cfactor"]
    return _constant(*given[-1]) if given else None


def _constant(source: SourceFile, statement: ValueStatement) -> float:
    meaning = NameResolver()
    value = _rate_expression(source, statement.value, statement.offset, meaning)
    if not isinstance(value, Number) or value.value < 0.0 or meaning.unknown:
        text = f"the initial value of {statement.name[:40]} is not a number >= 0"
        raise error_at(source.location(statement.offset), text)
    return value.value


def _initial(collection: Collection, factor: float) -> dict[str, float]:
    """Return the initial values [molecules cm-3]: CFACTOR times those of #INITVALUES, of which the last is used.

    A value of a group of species applies to those without a value of their own, wherever it is written.
    """
    groups: dict[str, float] = {}
    values: dict[str, float] = {}
    for source, statement in collection.values:
        key = statement.name.casefold()
        if key == "cfactor":
            continue
        members = collection.members(key)
        if not members and key not in GROUPS:
            hint = nearest(statement.name, collection.names())
            raise error_at(source.location(statement.offset), f"species {statement.name!r} is not declared{hint}")
        chosen = groups if key in GROUPS else values
        chosen |= dict.fromkeys(members, _constant(source, statement))
    found = groups | values
    for key, value in found.items():
        if not isfinite(factor * value):
            raise error_at(collection.species[key][0], f"the initial value of {key} times CFACTOR is too large")
    return {collection.species[key][1].name: factor * value for key, value in found.items()}

"""Writer of a network in the OpenAtmos format v1, as JSON or YAML, which reads back as the same network.

A rate that is one of the format's forms becomes that form. Everything else becomes USER_DEFINED under the reaction's
label, with its expression in the comment ``__rate``, which the reader here restores; other readers treat it as the open
parameter ``USER.<label>``. The comment also accompanies a form with a different notation than the source file.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from airshed.core.atomic import write_whole
from airshed.core.constants import NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Number, Symbol
from airshed.mechanism import rate_forms
from airshed.mechanism.expressions import SYMBOLS, Environment, Parameter, Value, evaluate, substitute
from airshed.mechanism.network import OpenParameter, Reaction, ReactionNetwork, Species
from airshed.mechanism.openatmos.document import YAML_SUFFIXES
from airshed.mechanism.openatmos.forms import Branch, Form, alike, branch, recognise, uptake
from airshed.mechanism.openatmos.rates import LABEL, NUMBER, PREFIXES, RADIUS, RATE, TEXTS, Amounts, expression_text
from airshed.mechanism.openatmos.reader import ATOMS, BINDINGS, CHECKED, PARAMETERS, SUMS
from airshed.mechanism.openatmos.species import CONSTANT, DIFFUSION, FIXED, INITIAL, MASS, MIXING_RATIO, THIRD_BODY
from airshed.mechanism.openatmos.units import concentration_to_molar, rate_from_molar, rate_to_molar, rate_unit

_DEFAULTS: Final = {
    "B": 0.0, "C": 0.0, "D": 300.0, "E": 0.0, "k0_B": 0.0, "k0_C": 0.0, "kinf_B": 0.0, "kinf_C": 0.0, "kint_B": 0.0,
    "kint_C": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """Item of the list of reactions.

    parameters  MICM's name of an open parameter -> its expression and the order of its unit
    declared    properties that our reader infers
    diffusion   diffusion coefficients that the item requires [m2/s]
    """

    content: Mapping[str, Any]
    parameters: Mapping[str, tuple[Expression, int]] = field(default_factory=dict)
    declared: tuple[OpenParameter, ...] = ()
    diffusion: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Entries:
    """Factory of entries; MICM refuses two parameters of one name, so that used names are recorded."""

    species: Mapping[str, Species]
    _taken: set[str] = field(default_factory=set)

    def of(self, reactions: tuple[Reaction, ...]) -> Iterator[Entry]:
        """Yield the entries in the order of the reactions; two branches of RO2 + NO become one."""
        number = 0
        while number < len(reactions):
            pair = _branches(reactions[number : number + 2])
            yield pair or self._entry(reactions[number])
            number += 2 if pair else 1

    def _entry(self, reaction: Reaction) -> Entry:
        form = recognise(reaction.rate)
        if form is not None and reaction.reactants:
            return Entry(_form_content(reaction, form))
        return self._surface(reaction) or self._open(reaction) or self._user_defined(reaction)

    def _surface(self, reaction: Reaction) -> Entry | None:
        found = uptake(reaction.rate)
        if found is None or not _alone(reaction):
            return None
        name = reaction.reactants[0][0]
        mass = self.species[name.casefold()].molar_mass
        radius, particles = f"SURF.{found.name}.{RADIUS}", f"SURF.{found.name}.{NUMBER}"
        if mass is None or not mass > 0.0 or radius in self._taken:
            return None
        numbers = Parameter(radius), Parameter(particles)
        rate = rate_forms.surface(*numbers, found.probability, found.diffusion, mass)
        if not alike(rate, reaction.rate):
            return None
        self._taken.update((radius, particles))
        content = {
            "type": "SURFACE",
            "name": found.name,
            **_label(reaction, found.name),
            "reaction probability": found.probability,
            "gas phase": "gas",
            "gas-phase species": name,
            "gas-phase products": _components(reaction.products),
        }
        declared = (
            OpenParameter(radius, "m", TEXTS[RADIUS]),
            OpenParameter(particles, "1/m3", TEXTS[NUMBER]),
        )
        opened = {radius: (numbers[0], 1), particles: (numbers[1], 1)}
        return Entry(content, opened, declared, {name: found.diffusion})

    def _open(self, reaction: Reaction) -> Entry | None:
        """Return the entry of a rate that is a parameter with a name like MICM's, times a number."""
        match fold(reaction.rate):
            case Parameter(parameter):
                factor = 1.0
            case Binary("*", Number(factor), Parameter(parameter)) if factor != 1.0:
                pass
            case _:
                return None
        for kind, prefix in PREFIXES.items():
            name = parameter.removeprefix(prefix)
            if name != parameter and parameter not in self._taken and _fits(kind, reaction):
                self._taken.add(parameter)
                content = {"type": kind, "name": name, **_label(reaction, name), "scaling factor": factor}
                order = _order(reaction)
                declared = (OpenParameter(parameter, rate_unit(order), TEXTS[kind]),)
                sides = _sides(reaction, reactants=kind != "EMISSION")
                return Entry({**content, **sides}, {parameter: (Parameter(parameter), order)}, declared)
        return None

    def _user_defined(self, reaction: Reaction) -> Entry:
        name = reaction.label
        while f"USER.{name}" in self._taken:
            name += "_"
        self._taken.add(f"USER.{name}")
        text = expression_text(reaction.rate, f"reaction <{reaction.label}>")
        content = {"type": "USER_DEFINED", "name": name, **_label(reaction, name), RATE: text, **_sides(reaction)}
        return Entry(content, {f"USER.{name}": (reaction.rate, _order(reaction))})


def _form_content(reaction: Reaction, form: Form) -> dict[str, Any]:
    order = _order(reaction)
    content: dict[str, Any] = {"type": form.kind, "name": reaction.label}
    if not alike(form.expression, reaction.rate):
        content[RATE] = expression_text(reaction.rate, f"reaction <{reaction.label}>")
    for key, value in form.numbers.items():
        if isinstance(value, float) and key in form.orders:
            content[key] = molar(value, order + form.orders[key])
        elif value != _DEFAULTS.get(key):
            content[key] = value
    return {**content, **_sides(reaction)}


def molar(value: float, order: int) -> float:
    """Return a rate constant in mol, m3, s that reads back as the same number in molecules, cm3, s, if there is one."""
    nearest = rate_to_molar(value, order)
    for candidate in (nearest, math.nextafter(nearest, math.inf), math.nextafter(nearest, -math.inf)):
        if rate_from_molar(candidate, order) == value:
            return candidate
    return nearest


def _branches(pair: tuple[Reaction, ...]) -> Entry | None:
    """Return two reactions as the alkoxy and the nitrate branch of one entry, if they are that."""
    if len(pair) < 2 or pair[0].reactants != pair[1].reactants:
        return None
    alkoxy, nitrate = branch(pair[0].rate), branch(pair[1].rate)
    if alkoxy is None or nitrate is None or not alkoxy.alkoxy or nitrate.alkoxy:
        return None
    name = pair[0].label.removesuffix("_alkoxy")
    labels = [f"{name}_alkoxy", f"{name}_nitrate"]
    if _numbers(alkoxy) != _numbers(nitrate) or [each.label for each in pair] != labels:
        return None
    order = _order(pair[0])
    content = {
        "type": "BRANCHED_NO_RO2",
        "name": name,
        **_numbers(alkoxy),
        "X": molar(alkoxy.X, order),
        "gas phase": "gas",
        "reactants": _components(pair[0].reactants),
        "alkoxy products": _components(pair[0].products),
        "nitrate products": _components(pair[1].products),
    }
    return Entry(content)


def _numbers(found: Branch) -> dict[str, float]:
    return {"X": found.X, "Y": found.Y, "a0": found.a0, "n": found.n}


def _order(reaction: Reaction) -> int:
    return int(sum(number for _, number in reaction.reactants))


def _alone(reaction: Reaction) -> bool:
    return _order(reaction) == 1


def _fits(kind: str, reaction: Reaction) -> bool:
    match kind:
        case "EMISSION":
            return not reaction.reactants
        case "PHOTOLYSIS" | "FIRST_ORDER_LOSS":
            return _alone(reaction)
    return kind == "USER_DEFINED"


def _label(reaction: Reaction, name: str) -> dict[str, str]:
    return {} if reaction.label == name else {LABEL: reaction.label}


def _sides(reaction: Reaction, *, reactants: bool = True) -> dict[str, Any]:
    left = {"reactants": _components(reaction.reactants)} if reactants else {}
    return {"gas phase": "gas", **left, "products": _components(reaction.products)}


def _components(amounts: Amounts) -> list[dict[str, Any]]:
    return [{"name": name, **({} if number == 1.0 else {"coefficient": number})} for name, number in amounts]


# Writing.


VERSION: Final = "1.0.0"
VERSION_OF_JPL19: Final = "1.4.0"
_SHARES: Final = {"O2": OXYGEN_FRACTION, "N2": NITROGEN_FRACTION}


def write_openatmos(network: ReactionNetwork, path: Path) -> None:
    """Write a network as OpenAtmos v1, YAML if the suffix is that of YAML, and else JSON.

    Content that the format cannot represent is in comments, see :mod:`airshed.mechanism.openatmos.writer`. MICM can
    read the file: it supports third bodies and constant mixing ratios. Other fixed species are ordinary ones there,
    whose concentration its user sets; :func:`musica_parameters` computes its parameters.

    Raises MechanismError for rates that are computed in Python, OutputError for a file that cannot be written.
    """
    content = openatmos_document(network)
    if path.suffix.lower() in YAML_SUFFIXES:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    else:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with write_whole(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def openatmos_document(network: ReactionNetwork) -> dict[str, Any]:
    """Return the network as the content of an OpenAtmos v1 file."""
    if network.callables:
        names = ", ".join(list(network.callables)[:5])
        message = (
            f"mechanism {network.name!r}: functions in Python compute {names}; a file of reactions cannot hold them"
        )
        raise MechanismError(f"{message}: bind expressions or numbers in their place")
    entries = _entries(network)
    declared = [each for entry in entries for each in entry.declared]
    extra = [_declared(each) for each in network.declared if each not in declared]
    fixed = {each.name for each in network.fixed}
    bindings = {
        name: expression_text(value, name)
        for name, value in network.bindings.items()
        if name not in fixed or not (value == Symbol("M") and name.upper() not in SYMBOLS)
    }
    comments = {
        ATOMS: list(network.atoms),
        CHECKED: list(network.checked),
        PARAMETERS: extra,
        BINDINGS: bindings,
        SUMS: {name: dict(weights) for name, weights in network.sums.items()},
    }
    species = network.species + network.fixed
    weighed = {name for entry in entries for name in entry.diffusion}
    newest = any(entry.content["type"].endswith("JPL19") for entry in entries)
    return {
        "version": VERSION_OF_JPL19 if newest else VERSION,
        "name": network.name,
        **{key: value for key, value in comments.items() if value},
        "species": [_species(each, network, weighed=each.name in weighed) for each in species],
        "phases": [{"name": "gas", "species": [_member(each, entries) for each in species]}],
        "reactions": [dict(entry.content) for entry in entries],
    }


def musica_parameters(network: ReactionNetwork, environment: Environment) -> dict[str, Value]:
    """Return the parameters that MICM requires for a file of :func:`write_openatmos`, in mol, m3 and s.

    ``environment`` holds the air (TEMP, PRESS, M ...) and the network's own parameters in molecules, cm3 and s; MICM
    multiplies with fixed species that are reactants. Raises MechanismError for missing values.
    """
    known = {**network.host_values(environment), **environment}
    return {
        name: rate_to_molar(1.0, order) * evaluate(fold(substitute(rate, network.bound)), known)
        for entry in _entries(network)
        for name, (rate, order) in entry.parameters.items()
    }


def _entries(network: ReactionNetwork) -> list[Entry]:
    species = {each.name.casefold(): each for each in network.species + network.fixed}
    return list(Entries(species).of(network.reactions))


def _species(species: Species, network: ReactionNetwork, *, weighed: bool) -> dict[str, Any]:
    initial = {name.casefold(): value for name, value in network.initial.items()}.get(species.name.casefold())
    content: dict[str, Any] = {"name": species.name}
    if species.mass is not None or weighed:
        content[MASS] = species.molar_mass
    if species.fixed:
        content |= _fixed(species, network.bindings, initial)
    if initial is not None:
        content[INITIAL] = initial
    if species.atoms:
        content[ATOMS] = dict(species.atoms)
    if species.text:
        content["__description"] = species.text
    return content


def _fixed(species: Species, bindings: Mapping[str, Expression], initial: float | None) -> dict[str, Any]:
    """Return the keys of a fixed species: for MICM as far as the format has them, and a comment for our reader."""
    match bindings.get(species.name):
        case None if species.name.upper() == "M":
            return {THIRD_BODY: True}
        case Symbol("M") if species.name.upper() not in SYMBOLS:
            return {THIRD_BODY: True}
        case None if species.name.upper() in _SHARES:
            return {MIXING_RATIO: _SHARES[species.name.upper()], FIXED: True}
        case Binary("*", Number(ratio), Symbol("M")):
            return {MIXING_RATIO: ratio, FIXED: True}
        case Number(value):
            return {CONSTANT: concentration_to_molar(value), FIXED: True}
        case None if species.name.upper() not in SYMBOLS and initial is not None:
            return {CONSTANT: concentration_to_molar(initial), FIXED: True}
    return {FIXED: True}


def _member(species: Species, entries: Sequence[Entry]) -> dict[str, Any]:
    found = [entry.diffusion[species.name] for entry in entries if species.name in entry.diffusion]
    return {"name": species.name, **({DIFFUSION: found[0]} if found else {})}


def _declared(parameter: OpenParameter) -> dict[str, Any]:
    members = {"unit": parameter.unit, "text": parameter.text, "default": parameter.default}
    return {"name": parameter.name, **{key: value for key, value in members.items() if value not in ("", None)}}

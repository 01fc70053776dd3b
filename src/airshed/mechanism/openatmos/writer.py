"""Writes a network in the OpenAtmos format v1, as JSON or YAML, which reads back as the same network."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from airshed.core.atomic import write_whole
from airshed.core.constants import NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Number, Symbol
from airshed.mechanism.expressions import SYMBOLS, Environment, Value, evaluate, substitute
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.openatmos.document import YAML_SUFFIXES
from airshed.mechanism.openatmos.entries import Entries, Entry
from airshed.mechanism.openatmos.rates import expression_text
from airshed.mechanism.openatmos.reader import ATOMS, BINDINGS, CHECKED, PARAMETERS, SUMS
from airshed.mechanism.openatmos.species import CONSTANT, DIFFUSION, FIXED, INITIAL, MASS, MIXING_RATIO, THIRD_BODY
from airshed.mechanism.openatmos.units import concentration_to_molar, rate_to_molar
from airshed.mechanism.reaction import OpenParameter, Species

VERSION: Final = "1.0.0"
VERSION_OF_JPL19: Final = "1.4.0"
_SHARES: Final = {"O2": OXYGEN_FRACTION, "N2": NITROGEN_FRACTION}


def write_openatmos(network: ReactionNetwork, path: Path) -> None:
    """Write a network as OpenAtmos v1, YAML where the suffix says so and else JSON.

    What the format has no words for stands in comments, see :mod:`airshed.mechanism.openatmos.entries`. MICM reads the
    file: it knows third bodies and constant mixing ratios; other fixed species are ordinary ones to it, whose
    concentration its user sets, and what it calls its parameters :func:`musica_parameters` computes.

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
        if name not in fixed or not _is_air(name, value)
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
    """Return the parameters that MICM needs for the file that :func:`write_openatmos` writes, in mol, m3 and s.

    ``environment`` holds the air (TEMP, PRESS, M ...) and the network's own parameters in molecules, cm3 and s; fixed
    species that are reactants are MICM's to multiply with. Raises MechanismError for what it does not give.
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


def _is_air(name: str, value: Expression) -> bool:
    """Return whether a binding of a fixed species is a third body's under another name than M: the format has these."""
    return value == Symbol("M") and name.upper() not in SYMBOLS


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

"""Each reaction of a network as an entry of an OpenAtmos v1 file, with the parameters that MICM then has for it.

A rate that is one of the format's forms becomes that form. Everything else becomes USER_DEFINED under the reaction's
label, with its expression in the comment ``__rate``, which our reader honours; other readers leave it open as
``USER.<label>``. The comment stands beside a form, too, that says the rate in another way than it was written.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airshed.formula.evaluate import fold
from airshed.formula.tree import Binary, Expression, Number
from airshed.mechanism import rate_forms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.openatmos.forms import Form, alike, recognised
from airshed.mechanism.openatmos.rates import NUMBER, PREFIXES, RADIUS, TEXTS, expression_text
from airshed.mechanism.openatmos.reactions import LABEL, RATE, Amounts
from airshed.mechanism.openatmos.special_forms import Branch, branch, uptake
from airshed.mechanism.openatmos.units import rate_from_molar, rate_to_molar, rate_unit
from airshed.mechanism.reaction import OpenParameter, Reaction, Species

_DEFAULTS: Final = {
    "B": 0.0, "C": 0.0, "D": 300.0, "E": 0.0, "k0_B": 0.0, "k0_C": 0.0, "kinf_B": 0.0, "kinf_C": 0.0, "kint_B": 0.0,
    "kint_C": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """An item of the list of reactions.

    parameters  name that MICM has for what is left open -> its expression and the order of the unit that it is in
    declared    what our reader finds out by itself about these
    diffusion   diffusion coefficients that the item needs [m2/s]
    """

    content: Mapping[str, Any]
    parameters: Mapping[str, tuple[Expression, int]] = field(default_factory=dict)
    declared: tuple[OpenParameter, ...] = ()
    diffusion: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Entries:
    """Makes the entries; MICM refuses two parameters of one name, so that names are kept."""

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
        form = recognised(reaction.rate)
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

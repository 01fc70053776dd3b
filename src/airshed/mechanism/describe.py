"""Description of a mechanism, checks, and conversion to other formats."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from airshed.core.atomic import write_whole
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import CaseError, MechanismError
from airshed.core.report import Cell, Report, Table
from airshed.core.saturation import saturation_vapour_pressure
from airshed.core.units import to
from airshed.formula.tree import Expression
from airshed.mechanism import inspect_mechanism
from airshed.mechanism.expressions import Environment, evaluate, parameters
from airshed.mechanism.kpp.rate_functions import MissingFormula, MissingFormulasError, side_file
from airshed.mechanism.load import OPENATMOS, save_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rates_file import rates_path
from airshed.mechanism.structure import Finding, atom_counts, differences, findings, imbalances, jacobian_pattern, shown

_UNITS = ("molecules/cm3/s", "1/s", "cm3/s", "cm6/s")


def environment_of(temperature: str, pressure: str, humidity: str, sun: float) -> dict[str, float]:
    """Return the environment of rates from values with units; raise CaseError.

    sun  cosine of the solar zenith angle, 0 at night
    """
    kelvin, pascal = to(temperature, "K", where="temperature"), to(pressure, "Pa", where="pressure")
    relative = to(humidity, "1", where="humidity")
    if not (50.0 < kelvin < 5000.0 and 0.0 < pascal < 1e9 and 0.0 <= relative <= 10.0 and 0.0 <= sun <= 1.0):
        raise CaseError(f"not a possible state of the air: {temperature}, {pressure}, humidity {humidity}, sun {sun:g}")
    number = 1e-6 / (BOLTZMANN * kelvin)
    air = pascal * number
    return {
        "TEMP": kelvin,
        "PRESS": pascal,
        "M": air,
        "O2": OXYGEN_FRACTION * air,
        "N2": NITROGEN_FRACTION * air,
        "H2O": relative * float(saturation_vapour_pressure(np.asarray(kelvin))) * number,
        "SUN": sun,
        "sec_zenith": 1.0 / max(sun, 1e-3),
        "daylight": 1.0 if sun > 0.0 else 0.0,
    }


def describe(mechanism: str, environment: Environment) -> Report:
    """Return species, reactions with rate constants in an environment, atom balance, and open parameters."""
    network = inspect_mechanism(mechanism)
    pattern = jacobian_pattern(network)
    entries, size = int(pattern.sum()), len(network.species)
    facts: dict[str, Cell] = {
        "species": f"{size} variable, {len(network.fixed)} fixed",
        "reactions": len(network.reactions),
        "read from": ", ".join(network.sources),
        "rates at": _conditions(environment),
        "Jacobian": f"{entries} of {size * size} entries, {100.0 * entries / size**2:.1f} %",
        "left open": ", ".join(each.name for each in network.open_parameters) or "nothing",
    }
    if network.callables:
        facts["in Python"] = f"{', '.join(sorted(network.callables))}: run only with --allow-code"
    if network.renamed:
        facts["other names than in its file"] = network.renaming
    tables = [_species(network), _reactions(network, environment), _balance(network), *_parameters(network)]
    return Report(f"Mechanism {network.name}", tables, facts)


def check(mechanism: str) -> Report:
    """Return all findings about a mechanism; not ok if a reaction loses an atom that the file declares as conserved."""
    network = inspect_mechanism(mechanism)
    found = findings(network)
    counts = Counter(each.kind for each in found)
    rows = [(each.kind, each.subject, each.text) for each in found]
    table = Table("Findings to review", ("kind", "location", "finding"), rows)
    facts: dict[str, Cell] = dict(counts.items()) or {"found": "nothing"}
    return Report(f"Check of mechanism {network.name}", [table] if rows else [], facts, ok=not _broken(network, found))


def write_rates(mechanism: str) -> Report:
    """Write a side file next to a reaction file with everything that its rates lack, to be completed; raise
    MechanismError.

    Known functions of other models are filled in; an existing side file is extended.
    """
    missing: Sequence[MissingFormula] = ()
    try:
        network = inspect_mechanism(mechanism)
        name, left_open = network.name, [each.name for each in network.open_parameters]
    except MissingFormulasError as error:
        name, missing = Path(mechanism).stem, error.missing
        written = {each.name.casefold() for each in missing if not each.arguments}
        left_open = [each for each in error.left_open if each.casefold() not in written]
    side = rates_path(Path(mechanism))
    if not Path(mechanism).is_file():
        raise MechanismError(f"{mechanism}: a side file requires a mechanism in a file; give its path")
    text = side_file(name, missing, left_open) if missing or left_open else ""
    if text:
        before = side.read_text(encoding="utf-8") if side.is_file() else ""
        with write_whole(side) as part:
            part.write_text(before + ("\n" if before else "") + text, encoding="utf-8", newline="\n")
    asked = sum(line.startswith("#?") for line in text.splitlines())
    facts: dict[str, Cell] = {
        "functions without a formula": len(missing),
        "values left open": len(left_open),
        "written": str(side) if text else "nothing: the rates are complete",
        "left to fill in": f"{asked} lines that begin with #?",
    }
    return Report(f"Side file of mechanism {name}", [], facts, ok=not missing)


def convert(mechanism: str, output: Path) -> Report:
    """Write a mechanism in the format of the output's suffix, and read it back; raise MechanismError."""
    network = inspect_mechanism(mechanism)
    written = save_mechanism(network, output)
    lost = differences(network, inspect_mechanism(output))
    facts: dict[str, Cell] = {
        "mechanism": f"{network.name}, {len(network.species)} species, {len(network.reactions)} reactions",
        "written": ", ".join(map(str, written)),
        "read back": "the same network" if not lost else f"not the same: {'; '.join(lost[:10])}",
    }
    if network.sums and output.suffix.lower() in OPENATMOS:
        names = ", ".join(network.sums)
        facts["note"] = (
            f"{names} is an ordinary species for other programs: start it as the sum (__sums in the file)"
            ", and apply the emission, deposition and transport of these species to it"
        )
    return Report("Conversion", [], facts, ok=not lost)


def _broken(network: ReactionNetwork, found: Sequence[Finding]) -> bool:
    return bool(network.checked) and any(each.kind == "imbalance" for each in found)


def _conditions(environment: Environment) -> str:
    names = ("TEMP", "K"), ("PRESS", "Pa"), ("M", "molecules cm-3"), ("H2O", "molecules cm-3"), ("SUN", "")
    return ", ".join(f"{name} {environment[name]:.5g} {unit}".rstrip() for name, unit in names)


def _species(network: ReactionNetwork) -> Table:
    rows = []
    for species in network.species + network.fixed:
        atoms = " + ".join(f"{'' if number == 1 else number}{atom}" for atom, number in species.atoms.items())
        mass = None if species.molar_mass is None else 1e3 * species.molar_mass
        name = f"{species.name} (fixed)" if species.fixed else species.name
        rows.append((name, atoms, mass, network.initial.get(species.name), species.text))
    columns = ("species", "atoms", "molar mass [g/mol]", "initial [molecules/cm3]", "")
    return Table("Species", columns, rows)


def _reactions(network: ReactionNetwork, environment: Environment) -> Table:
    rows = []
    settled = network.with_defaults().rate_constants
    for reaction, reactants, constant in zip(network.reactions, network.reactant_indices, settled, strict=True):
        try:
            with np.errstate(all="ignore"):
                value: float | None = float(np.asarray(evaluate(constant, environment)))
        except MechanismError:
            value = None
        unit = _UNITS[len(reactants)] if len(reactants) < len(_UNITS) else f"cm{3 * len(reactants) - 3}/s"
        note = "" if value is not None else f"{_left(network, constant)}: {', '.join(parameters(constant))}"
        rows.append((reaction.label, shown(reaction), value, unit if value is not None else note, str(reaction.rate)))
    note = "k includes the concentrations of fixed reactants."
    return Table("Reactions", ("label", "equation", "k", "unit of k", "rate"), rows, note)


def _left(network: ReactionNetwork, constant: Expression) -> str:
    """Return why a rate constant has no value here: code of a mechanism is not run for an inspection."""
    return "in Python" if all(name in network.callables for name in parameters(constant)) else "open"


def _balance(network: ReactionNetwork) -> Table:
    """Return the reactions that conserve each declared atom; a file may declare all elements."""
    rows = []
    for atom in network.atoms:
        if not any(atom_counts(network, atom)):
            continue
        changes = imbalances(network, atom)
        labels = ", ".join(f"{each.label} {each.change:+g}" for each in changes[:6])
        rows.append((atom, len(network.reactions) - len(changes), len(changes), labels + " ..." * (len(changes) > 6)))
    return Table("Atoms", ("atom", "conserved in reactions", "not in", "change in the first of them"), rows)


def _parameters(network: ReactionNetwork) -> list[Table]:
    rows = []
    for each in network.parameters:
        given = "a function in Python" if each.name in network.callables else each.default
        rows.append((each.name, each.unit, "open" if given is None else given, each.text))
    rows += [
        (name, "", str(value), "from the side file or code of its own") for name, value in network.bindings.items()
    ]
    return [Table("Parameters", ("name", "unit", "value", ""), rows)] if rows else []

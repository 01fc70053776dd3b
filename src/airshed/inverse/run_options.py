"""What is asked of a run as a function: which fields come out, and what it is given.

    outputs = {"O3": ["6 h", "12 h"], "NO2": "12 h"}        mixing ratios of species at times since the start
    inputs = {
        "factors": {"road": {"species": ["NO", "NO2"], "sectors": ["F_RoadTransport"], "regions": ["DE", "FR"]}},
        "initial": ["O3"],        mixing ratios at the beginning, that of the spin-up (level, lat, lon) [mol/mol]
        "boundary": ["O3"],       at the sides of the area (level,) [mol/mol]
        "top": ["O3"],            above it () [mol/mol]
        "rates": ["R1"],          factors on rate constants, by the labels of reactions ()
    }

A factor multiplies the emission of `species`, by default of all sources, or that of an inventory's `sectors` and
`regions`. There is one for the domain, () by default; one for each region with `per = "region"`, (region,); one for
each column with `per = "cell"`, (lat, lon). With `parts_of_day` = n there are n, of equal parts of the day (UTC), in
front. A list of species alone stands for a table with nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from pydantic import ValidationError

from airshed.case.messages import explain
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.core.units import to
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ControlSection

Outputs = dict[str, tuple[float, ...]]
"""Times [s] since the start of the case, by species."""

KINDS: Final = ("factors", "initial", "boundary", "top", "rates")
_OF_FACTORS: Final = ("species", "sectors", "regions", "per", "parts_of_day")


@dataclass(frozen=True)
class AskedInputs:
    """What a run is given: factors on emission, names of species by kind of input, labels of reactions."""

    factors: tuple[ControlSection, ...]
    species: Mapping[str, tuple[str, ...]]
    rates: tuple[str, ...]


def asked_outputs(outputs: Mapping[str, Any], end: float) -> Outputs:
    """Return the requested times of each species, in a case that ends at a time [s]; raises CaseError."""
    if not isinstance(outputs, Mapping) or not outputs:
        raise CaseError('outputs: give species with their times, such as {"O3": ["6 h", "12 h"]}')
    found = {}
    for name, given in outputs.items():
        listed = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        where = f"outputs {name}"
        times = tuple(float(each) if isinstance(each, Real) else to(each, "s", where=where) for each in listed)
        if not times or list(times) != sorted(set(times)) or not 0.0 <= times[0] <= times[-1] <= end:
            raise CaseError(f"{where} = {given!r}: give times that rise, within the case, 0 to {end:g} s")
        found[name] = times
    if not any(times[-1] > 0.0 for times in found.values()):
        raise CaseError("outputs: all are of the start of the case; ask for a later time")
    return found


def asked_inputs(inputs: Mapping[str, Any]) -> AskedInputs:
    """Return what a run is given; raises CaseError for unknown names, and for none."""
    for kind in inputs:
        if kind not in KINDS:
            raise CaseError(f"inputs: {kind!r} is no kind of them; {suggestion(kind, KINDS)}")
    factors = tuple(_factor(name, given) for name, given in _table(inputs.get("factors", {})).items())
    names = {kind: _names(kind, inputs.get(kind, ())) for kind in KINDS[1:]}
    if not factors and not any(names.values()):
        raise CaseError(f"inputs: give something that the run depends on: {', '.join(KINDS)}")
    return AskedInputs(factors, {kind: names[kind] for kind in KINDS[1:-1]}, names["rates"])


def with_countries_apart(case: Case, factors: Sequence[ControlSection]) -> Case:
    """Return a case whose inventory keeps countries apart, where a factor acts on some: as it does for 4D-Var."""
    if not any(each.regions for each in factors) or case.assimilation.tells_countries_apart:
        return case
    section = case.assimilation.model_copy(update={"scheme": "4dvar", "control": tuple(factors)})
    return case.model_copy(update={"assimilation": section})


def _table(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise CaseError(f"inputs factors = {given!r}: give a table of factors by their names")
    return given


def _names(kind: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise CaseError(f"inputs {kind} = {given!r}: give names, each once")
    return names


def _factor(name: str, given: Any) -> ControlSection:
    where = f"inputs factors {name}"
    settings = {"species": given} if not isinstance(given, Mapping) else dict(given)
    for key in settings:
        if key not in _OF_FACTORS:
            raise CaseError(f"{where}: {key!r} is not a setting; {suggestion(key, _OF_FACTORS)}")
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    data = {"name": name, "of": "emission", "per": "domain", **settings}
    try:
        return ControlSection.model_validate(data)
    except ValidationError as error:
        raise CaseError(explain(error, ControlSection, data, lambda key: where, None, where)) from error

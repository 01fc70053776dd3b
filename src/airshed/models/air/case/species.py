"""Names of species in a case: checks against the mechanism, and translation from another mechanism."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from airshed.case.messages import faults_in_words
from airshed.core.errors import CaseError
from airshed.core.text import listed, shown, suggestion
from airshed.models.air.case.case import Case
from airshed.models.air.species_map.parts import SpeciesMap
from airshed.models.air.weather.fields import by_name


def check_species(case: Case, species: Iterable[str], further: Iterable[str] = ()) -> None:
    """Raise CaseError for species of the case that the mechanism does not have, with the nearest names.

    Output may also name fields of the weather, and `further` fields, which processes add.
    """
    known = set(species)
    weather = {*(each.output for each in by_name().values()), *further}
    named: list[tuple[str, Iterable[str]]] = [
        (f"output.{index}.fields", [] if output.fields == "all" else [n for n in output.fields if n not in weather])
        for index, output in enumerate(case.output)
    ]
    named += [(f"emissions.point.{i}.species", (point.species,)) for i, point in enumerate(case.emissions.point)]
    named += [(f"emissions.area.{i}.rates", box.rates) for i, box in enumerate(case.emissions.area)]
    observed = case.assimilation.observations
    named += [("assimilation.observations.species", observed.species)]
    named += [("assimilation.observations.names", observed.names.values())]
    named += [(f"assimilation.control.{i}.species", each.species) for i, each in enumerate(case.assimilation.control)]
    named += [(f"{section}.{name}", table) for section, name, table in case.tables_by_species()]
    _refuse_unknown(case, named, known)


def check_receptor(case: Case, species: Iterable[str], measured: str) -> None:
    """Raise CaseError for a receptor or adjoint fields of species that the mechanism does not have.

    Runs skip this check: a case may run with a mechanism that lacks the species of its receptor.
    """
    _refuse_unknown(case, [("receptor.species", [measured]), ("receptor.fields", case.receptor.fields)], set(species))


def _refuse_unknown(case: Case, named: Iterable[tuple[str, Iterable[str]]], known: Collection[str]) -> None:
    faults = []
    for key, names in named:
        unknown = [name for name in dict.fromkeys(names) if name not in known]
        if unknown:
            mechanism = case.chemistry.mechanism
            place = case.provenance.get(key) or case.provenance.get(f"{key}.{unknown[0]}", "")
            text = f"{unknown[0]!r} is not a species of {mechanism}; {suggestion(unknown[0], known)}"
            if len(unknown) > 1:
                text = (
                    f"{listed([shown(name) for name in unknown])} are not species of {mechanism}; name species of "
                    "this mechanism, or map them under [names] of its species map, to a species or to `none`"
                )
            faults.append((place, f"{key}: {text}"))
    if faults:
        raise CaseError(faults_in_words(faults, case._file))


def translated(case: Case, species_map: SpeciesMap, species: Sequence[str]) -> Case:
    """Return the case with the species that the mechanism lacks replaced by the map's ``names``.

    A species without a counterpart is omitted from output, profile factors, mixing ratios and deposition velocities.
    Names that are not in the map are unchanged, and so is an output that would become empty:
    :func:`check_species` refuses them.
    Raises CaseError if two names become one species with different values.
    """
    names = {name: own for name, own in species_map.names.items() if name not in species}
    if not names:
        return case
    outputs = tuple(
        output if output.fields == "all" else output.model_copy(update={
            "fields": tuple(dict.fromkeys(own for n in output.fields if (own := names.get(n, n)))) or output.fields
        })
        for output in case.output
    )  # fmt: skip
    points = tuple(
        point.model_copy(update={"species": names.get(point.species) or point.species})
        for point in case.emissions.point
    )
    areas = tuple(_renamed(area, names, "rates", "emissions.area") for area in case.emissions.area)
    changed: dict[str, Any] = {
        "output": outputs,
        "emissions": case.emissions.model_copy(update={"point": points, "area": areas}),
    }
    for section, table, _ in case.tables_by_species():
        changed[section] = _renamed(changed.get(section, getattr(case, section)), names, table, section)
    return case.model_copy(update=changed)


def left_out(case: Case, species_map: SpeciesMap, species: Sequence[str]) -> list[str]:
    """Return the names in the output and the boundary of a case that :func:`translated` omits."""
    fields = [name for output in case.output if output.fields != "all" for name in output.fields]
    named = dict.fromkeys([*fields, *case.boundary.scale, *case.boundary.values])
    return [name for name in named if species_map.names.get(name) == "" and name not in species]


def _renamed(section: Any, names: Mapping[str, str], key: str, where: str) -> Any:
    renamed: dict[str, Any] = {}
    for name, value in getattr(section, key).items():
        own = names.get(name, name)
        if own and renamed.setdefault(own, value) != value:
            raise CaseError(
                f"{where}.{key}: {name} is {own} in this mechanism, which has another value; give {own} one value"
            )
    return section.model_copy(update={key: renamed})

"""Shipped species maps: completeness for their mechanisms, and conservation of emitted mass and carbon."""

from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.mechanism import load_mechanism, rates
from airshed.mechanism.openatmos import NO_MUSICA, has_musica, musica_file, read_openatmos
from airshed.models.air.assembly import assemble
from airshed.models.air.boundary import BoundaryProfiles
from airshed.models.air.case import Case
from airshed.models.air.case.species import translated
from airshed.models.air.emissions.split import kept_notes, read_split
from airshed.models.air.processes.dry_deposition.velocity import DepositionVelocities
from airshed.models.air.species_map import (
    SpeciesMap,
    find_species_map,
    fit,
    shipped_species_map,
    without_air,
)
from airshed.models.air.species_map.fit import bind_rates
from airshed.models.air.species_map.parts import ISOPRENE

COARSE = ["grid.spacing=5 deg", "time.spinup=0 h", "time.length=1 h"]
RUNNING = ("chapman", "emep", "pollu", "small_strato")
OF_NUMBERS = ("hires", "oregonator", "robertson")


@pytest.mark.parametrize("mechanism", RUNNING)
def test_the_shipped_case_takes_another_mechanism_by_one_setting(mechanism: str) -> None:
    parts = assemble(Case.load("west-europe", [*COARSE, f"chemistry.mechanism={mechanism}"]))
    names = parts.network.names
    assert parts.network.open_parameters == ()
    assert {name for source in parts.sources for name in source.species} <= set(names)
    assert set(parts.boundary.provenance) == set(names)
    fields = parts.case.output[0].fields
    assert fields == "all" or set(fields) <= set(names)
    assert ("NO" in fields) == ("NO" in names)
    notes = " ".join(note for part, note in parts.notes if part == "mechanism")
    assert ("of the case: omitted" in notes) == (mechanism != "emep")
    assert ("ISOPRE" in notes) == (mechanism != "emep")


def test_the_tracers_take_nothing_but_what_the_case_says() -> None:
    plain = [*COARSE, "chemistry.mechanism=tracer", "boundary.scale={}", "emissions.biogenic=true"]
    parts = assemble(Case.load("west-europe", [*plain, "output.0.fields=all", "output.1.fields=all"]))
    assert not any(each.species for each in parts.sources)
    assert [each.key for each in parts.processes] == ["advection", "vertical_mixing", "emission"]
    assert not parts.boundary.at(np.array([1e5])).any()
    with pytest.raises(CaseError, match=r"'O3', .* are not species of tracer"):
        assemble(Case.load("west-europe", plain))


@pytest.mark.parametrize(
    ("species", "told"),
    [(["x"] * 300, "'x' is not a species"), ([f"x{n}" for n in range(300)], "'x11' and 288 more are not species")],
)
def test_of_many_unknown_species_the_first_are_named_once(species: list[str], told: str) -> None:
    with pytest.raises(CaseError, match=f"assimilation.observations.species: .*{told}") as found:
        assemble(Case.load("west-europe", [*COARSE, f"assimilation.observations.species={species}"]))
    assert len(str(found.value)) < 400


@pytest.mark.parametrize("mechanism", OF_NUMBERS)
def test_a_test_problem_of_numbers_says_why_it_cannot(mechanism: str) -> None:
    with pytest.raises(CaseError, match=f"^mechanism {mechanism} cannot run in a case: .* Run it with airshed box"):
        assemble(Case.load("west-europe", [*COARSE, f"chemistry.mechanism={mechanism}"]))


def compounds() -> dict[str, str]:
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    return {each.name: pollutant for pollutant, parts in split.items() for each in parts} | {ISOPRENE: "vegetation"}


def of_musica(name: str) -> Path:
    """Return the file of a mechanism in the package musica; skip the test without the package."""
    if not has_musica():
        pytest.skip(f"needs {NO_MUSICA}")
    return musica_file(name)


@pytest.mark.parametrize(("name", "mass"), [("ts1", "99.7 % conserved"), ("carbon_bond", "unknown (no data for ETHA)")])
def test_a_mechanism_of_musica_is_mapped_completely(name: str, mass: str) -> None:
    path = of_musica(name)
    network = read_openatmos(path)
    found = find_species_map("auto", str(path), network.name, Path())
    network = without_air(network, found)
    fitted = fit(
        found, network, name, compounds=compounds(), boundary=network.names, deposition=network.names
    )  # fmt: skip
    bound = bind_rates(network, fitted.rates, fitted.source)
    assert bound.parameters == ()
    noon = {"TEMP": 298.0, "PRESS": 1e5, "M": 2.43e19, "O2": 5.1e18, "N2": 1.9e19, "H2O": 3e17, "SUN": 1.0}
    noon |= {"sec_zenith": 1.0, "daylight": 1.0}
    by_text = dict(zip((each.text for each in bound.reactions), rates(bound, noon), strict=True))
    assert [value for text, value in by_text.items() if text.startswith("NO2 = NO + O")] == [pytest.approx(1.01e-2)]
    assert np.all(rates(bound, noon | {"SUN": 0.0, "daylight": 0.0}) >= 0.0)
    profiles = BoundaryProfiles(network.names, fitted.boundary).at(np.geomspace(2e4, 1e5, 20))
    assert np.all((profiles >= 0.0) & (profiles < 1e-3))
    row = network.names.index
    emep = BoundaryProfiles(["O3", "CO"], shipped_species_map("emep").boundary).at(np.geomspace(2e4, 1e5, 20))
    np.testing.assert_array_equal(profiles[[row("O3"), row("CO")]], emep)
    deposited = DepositionVelocities(network.names, fitted.deposition.surrogate).species
    assert {"O3", "NO2", "HNO3", "PAN", "H2O2"} < set(deposited)
    assert not {"OH", "HO2", "CO", "CH4", "NO"} & set(deposited)
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    notes = kept_notes(split, fitted.emissions, network)
    assert f"NMVOC in species of {network.name}: its mass {mass}, its carbon 100.0 % conserved" in notes


def test_names_of_cases_are_of_emep_and_each_has_an_answer() -> None:
    emep = load_mechanism("emep").names
    for mechanism in ("chapman", "pollu", "small_strato"):
        own, names = load_mechanism(mechanism).names, shipped_species_map(mechanism).names
        assert set(emep) == set(names) | (set(emep) & set(own)), mechanism
        assert not set(names) & set(own), mechanism


def test_a_case_in_other_names() -> None:
    case = Case.load("west-europe", [*COARSE, "boundary.values={}", "boundary.scale={HCHO=3, MEK=2, O3=1.3}"])
    found = translated(case, SpeciesMap(names={"HCHO": "FORM", "MEK": "", "SA": "SULF"}), ("O3", "FORM", "SULF"))
    assert found.boundary.scale == {"FORM": 3.0, "O3": 1.3}
    assert {"FORM", "SULF"} < set(found.output[0].fields)
    assert not {"HCHO", "SA", "MEK"} & set(found.output[0].fields)
    assert case.boundary.scale["HCHO"] == 3.0, "the case as given stays"
    assert translated(case, SpeciesMap(names={"HCHO": "FORM"}), ("HCHO",)) is case
    with pytest.raises(CaseError, match=r"boundary\.scale: MEK is FORM in this mechanism, which has another value"):
        translated(case, SpeciesMap(names={"HCHO": "FORM", "MEK": "FORM"}), ("O3", "FORM"))
    nothing = translated(case, SpeciesMap(names=dict.fromkeys(case.output[0].fields, "")), ("TRACER",))
    assert nothing.output[0].fields == case.output[0].fields, "an error follows: no requested field exists"

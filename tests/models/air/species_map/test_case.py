"""Other mechanisms in the 3-D case: renamed species give the same results; one error lists all missing entries."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.core.errors import AirshedError, CaseError
from airshed.core.files import resource
from airshed.models.air.assembly import assemble
from airshed.models.air.case import Case
from airshed.models.air.species_map import SpeciesMap, find_species_map, shipped_species_map

from .conftest import EQUATIONS, MAP, NAMES


def smog_case(folder: Path, mechanism: str, **chemistry: str) -> Case:
    settings: dict[str, Any] = {
        "grid": {"area": {"lon": [4, 6], "lat": [50, 52]}, "spacing": "1 deg", "layers": ["50 m", "300 m", "1500 m"]},
        "time": {"start": "2022-08-31T11:00:00Z", "length": "30 min", "step": "5 min"},
        "chemistry": {"mechanism": mechanism, **chemistry},
        "meteorology": {"kind": "uniform", "eastward": "5 m/s", "diffusivity": "5 m2/s", "temperature": "295 K"},
        "emissions": {"inventory": str(resource("cases/west-europe/emissions")), "year": 2022, "biogenic": True},
        "boundary": {"profiles": "clean-air"},
        "run": {"threads": 1},
    }
    return Case.from_dict(settings, folder)


@pytest.mark.thorough
@pytest.mark.compiles
def test_another_mechanism_runs_and_names_change_nothing(smog: Path) -> None:
    runs = {}
    for name in ("smog", "same"):
        simulation = airshed.Simulation(smog_case(smog, f"{name}.eqn"))
        simulation.run()
        runs[name] = simulation
    for emep, own in NAMES.items():
        ours, theirs = runs["smog"][own].values, runs["same"][emep].values
        np.testing.assert_array_equal(ours, theirs)
        assert np.all(np.isfinite(ours)), own
        assert ours.max() > 0.0, own
    assert runs["smog"]["NIT1"].values[0].min() > 1e-10, "the inventory emits it"
    assert not np.array_equal(runs["smog"]["OZONE"].values, runs["smog"]["NIT2"].values)


def test_each_part_of_the_case_is_that_of_the_emep_names(smog: Path) -> None:
    """Without a step: sources, profiles and velocities by name, those of EMEP itself."""
    ours, emep = assemble(smog_case(smog, "smog.eqn")), assemble(smog_case(smog, "emep"))
    [dry] = [each.process for each in ours.processes if each.key == "dry_deposition"]
    assert set(dry.species) == {"OZONE", "NIT2", "PEROX"}
    pressure = np.array([1e5, 7e4])
    for name, own in NAMES.items():
        row, theirs = ours.network.index(own), emep.network.index(name)
        np.testing.assert_array_equal(ours.boundary.at(pressure)[row], emep.boundary.at(pressure)[theirs])
    rates = [dict(zip(p.sources[1].species, p.sources[1].rate(0.0), strict=True)) for p in (ours, emep)]
    assert set(rates[0]) == {"NIT1", "NIT2", "CMONO", "BUTANE"}
    for name, own in NAMES.items():
        if own in rates[0]:
            np.testing.assert_array_equal(rates[0][own], rates[1][name])
    assert ours.sources[0].species == ("RUBBER",)
    assert ("emission", "SOx: left out, by the species map") in ours.notes
    assert ("mechanism", "A toy.") in ours.notes


def test_all_that_is_missing_is_one_error(smog: Path) -> None:
    lacking = MAP.replace('"SO2", "SA", ', "").replace("RUBBER = { ISOP = 1 }\n", "").replace('"RUBBER"]', "]")
    lacking = (
        lacking.replace("k_fast =", "# k_fast =")
        .replace("isoprene =", "# isoprene =")
        .replace("NO = {", "# NO = {")
        .replace("CMO# NO", "CMONO")
    )
    (smog / "smog.species.toml").write_text(lacking)
    with pytest.raises(CaseError) as caught:
        assemble(smog_case(smog, "smog.eqn"))
    lines = str(caught.value).splitlines()
    assert lines[0] == f"mechanism smog: {smog / 'smog.species.toml'} lacks"
    assert [line.strip() for line in lines[1:5]] == [
        "[emissions] NO (of NOx), SO2 (of SOx), SA (of SOx), isoprene (of vegetation)",
        "[boundary] RUBBER",
        "[deposition] RUBBER",
        "[rates] k_fast",
    ]
    map_file, mechanism = smog / "smog.species.toml", smog / "smog.eqn"
    assert lines[5] == f"add them to {map_file}; airshed mechanism map {mechanism} prints a template"
    assert len(lines) == 6


def test_without_a_map_the_file_to_write_is_named(smog: Path) -> None:
    (smog / "smog.species.toml").unlink()
    with pytest.raises(CaseError) as caught:
        assemble(smog_case(smog, "smog.eqn"))
    message = str(caught.value)
    assert message.startswith(
        "mechanism smog: there is no species map, and the case needs\n  [emissions] NO (of NOx), "
    )
    assert "\n  [boundary] OZONE, NIT1, NIT2, CMONO, BUTANE, RUBBER, PEROX\n" in message
    assert f"add them to {smog / 'smog.species.toml'};" in message


def test_what_the_case_itself_gives_is_not_asked_for(smog: Path) -> None:
    """A mechanism without a map runs where nothing is made of one."""
    (smog / "plain.eqn").write_text(EQUATIONS.replace("j_light", "1e-3*SUN").replace("k_fast", "1e-16"))
    case = smog_case(smog, "plain.eqn").to_dict() | {"emissions": {}, "boundary": {"profiles": "zero"}}
    given = dict.fromkeys(NAMES.values(), "1 cm/s")
    for deposition in ({"scheme": "none"}, {"scheme": "resistance", "velocities": given}):
        assert assemble(Case.from_dict(case | {"deposition": deposition}, smog)).sources == ()
    with pytest.raises(CaseError, match=r"needs\n  \[deposition\] NIT1, NIT2"):
        assemble(Case.from_dict(case | {"deposition": {"velocities": {"OZONE": "1 cm/s"}}}, smog))


def test_the_map_can_be_chosen(smog: Path) -> None:
    (smog / "mine.toml").write_text(MAP.replace("1.45e-2", "2.9e-2"))
    mechanism = str(smog / "smog.eqn")
    for choice, rate in (("auto", "1.45e-2"), ("mine.toml", "2.9e-2"), (str(smog / "mine.toml"), "2.9e-2")):
        assert find_species_map(choice, mechanism, "smog", smog).rates["j_light"] == f"PHOTO({rate}, 0.4)"
    assert find_species_map("emep", mechanism, "smog", smog) is shipped_species_map("emep")
    assert find_species_map("auto", "nowhere/EMEP.eqn", "EMEP", smog) is shipped_species_map("emep")
    assert find_species_map("auto", "other", "other", smog) == SpeciesMap()
    for choice, message in (
        ("emp", r"species_map = 'emp': no shipped file has that name; did you mean emep\?"),
        ("no.toml", r"no file .*no\.toml"),
    ):
        with pytest.raises(CaseError, match=message):
            assemble(smog_case(smog, "smog.eqn", species_map=choice))


def test_species_that_are_the_air_itself(smog: Path) -> None:
    """Oxygen and water vapour of a mechanism that changes them become those of the cells."""
    text = EQUATIONS.replace("OZONE = 3O;", "OZONE = 3O; o2 = 2O; H2O = 2H + O;", 1)
    (smog / "smog.eqn").write_text(text + "<6> PEROX + H2O = o2 + NIT2 : 1e-20;\n")
    (smog / "smog.species.toml").write_text('air = ["O2", "h2o"]\n' + MAP)
    network = assemble(smog_case(smog, "smog.eqn")).network
    assert set(network.names) == set(NAMES.values())
    assert str(network.rate_constants[-1]) == "1e-20*H2O"
    (smog / "smog.species.toml").write_text('air = ["O2", "OZONE"]\n' + MAP)
    with pytest.raises(
        CaseError, match=r"air: 'OZONE' is not a species of smog and a gas of the model's air; known are H2O, o2"
    ):
        assemble(smog_case(smog, "smog.eqn"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "OZONE = { O3 = 1 }",
            "OZON = { O3 = 1 }",
            r"'OZON' under \[boundary\] is not a species; did you mean OZONE\?",
        ),
        ('"NIT1", "CMONO"', '"NIT3", "CMONO"', r"'NIT3' under \[deposition\] is not a species; did you mean NIT"),
        (
            "{ CMONO = 1 }",
            "{ CARBON = 1 }",
            r"smog.species.toml does not fit mechanism smog: 'CARBON' under \[emissions",
        ),
        (
            '"PAN"',
            '"PANN"',
            r"species.toml:\d+: deposition.PEROX = .PANN. is not in the deposition table; did you mean (PAN|MAPAN)\?",
        ),
        ("j_light =", "j_lihgt = 1\nj_light =", r"no rate of smog needs rates\.j_lihgt; did you mean j_light\?"),
        ('0.4)"', '0.4"', r"rates\.j_light = .*expected"),
        ("sqrt(", "sqr(", r"rates\.k_fast = .* is not a rate: .*no function 'sqr.*'; did you mean 'SQRT'"),
        ("sqrt(TEMP", "sqrt(TMP", r"rates refer to TMP, which are undefined or refer to each other in a circle"),
        ("[names]", 'unfit = "It is a\\n toy."\n[names]', r"^mechanism smog cannot run in a case: It is a toy\.$"),
    ],
)
def test_a_map_that_does_not_fit(smog: Path, before: str, after: str, message: str) -> None:
    path = smog / "smog.species.toml"
    assert before in MAP
    path.write_text(MAP.replace(before, after))
    with pytest.raises(AirshedError, match=message):
        assemble(smog_case(smog, "smog.eqn"))

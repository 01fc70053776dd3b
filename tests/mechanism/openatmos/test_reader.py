"""Mechanisms in the OpenAtmos format: species, units, parameters, files."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from airshed.core.errors import DataError, MechanismError
from airshed.formula.tree import Symbol
from airshed.mechanism import load_mechanism, rates
from airshed.mechanism.expressions import evaluate
from airshed.mechanism.openatmos import read_conditions, read_openatmos
from airshed.mechanism.openatmos.units import (
    concentration_from_molar,
    concentration_to_molar,
    rate_from_molar,
    rate_to_molar,
    rate_unit,
)

from .documents import SPECIES, camp, document, with_reaction

Save = Callable[..., Path]
F = 6.02214076e17
AIR = {"TEMP": 280.0, "PRESS": 8e4, "M": 2e19, "O2": 4e18, "N2": 1.5e19, "H2O": 1e17}


def test_units() -> None:
    assert concentration_from_molar(2.0) == 2.0 * F
    assert concentration_to_molar(F) == 1.0
    assert [rate_from_molar(3.0, order) for order in range(4)] == pytest.approx([3 * F, 3.0, 3 / F, 3 / F**2])
    assert all(rate_to_molar(rate_from_molar(3.0, n), n) == pytest.approx(3.0, rel=1e-15) for n in range(5))
    assert [rate_unit(n) for n in range(4)] == ["molecules/cm3/s", "1/s", "cm3/molecules/s", "cm6/molecules2/s"]


def test_species(save: Save) -> None:
    network = read_openatmos(save(document()))
    assert network.name == "all_types"
    assert network.names == ("A", "B", "C", "D")
    assert [each.name for each in network.fixed] == ["M", "K", "Q", "O2"]
    first, second, third, _ = network.species
    assert (first.mass, first.text) == (0.046, "the first")
    assert (second.atoms, network.atoms) == ({"N": 1, "O": 2}, ("N", "O"))
    assert third.atoms == {}  # elsewhere the comment is a number
    assert network.initial == {"K": 3.0 * F}


def test_fixed_species_are_what_the_file_says(save: Save) -> None:
    network = read_openatmos(save(document())).with_defaults()
    constant = evaluate(network.rate_constants[-1], AIR)
    k = 2.0 * F**-3.0
    assert constant == pytest.approx(k * (3.0 * F) * (0.25 * AIR["M"]) * (0.11 * AIR["M"]), rel=1e-14)


def test_a_third_body_of_any_name_is_the_air(save: Save) -> None:
    content = with_reaction(
        type="ARRHENIUS", A=1.0, reactants=[{"name": "A"}, {"name": "any"}], products=[], **{"gas phase": "gas"}
    )
    content["species"] = [{"name": "A"}, {"name": "any", "is third body": "true"}]
    content["phases"] = [{"name": "gas", "species": ["A", "any"]}]
    network = read_openatmos(save(content))
    assert network.bindings == {"any": Symbol("M")}
    assert evaluate(network.rate_constants[0], AIR) == pytest.approx(AIR["M"] / F)


def test_parameters_have_the_names_of_micm_and_units(save: Save) -> None:
    network = read_openatmos(save(document()))
    assert {each.name: each.unit for each in network.open_parameters} == {
        "SURF.dust.effective radius [m]": "m",
        "SURF.dust.particle number concentration [# m-3]": "1/m3",
        "PHOTO.jA": "1/s",
        "EMIS.of A": "molecules/cm3/s",
        "LOSS.A": "1/s",
        "USER.own": "cm3/molecules/s",
    }


def test_rates_by_hand(save: Save) -> None:
    network = read_openatmos(save(document())).with_defaults()
    opened = {each.name: 1.0 for each in network.open_parameters}
    k = dict(zip([each.label for each in network.reactions], rates(network, {**AIR, **opened}), strict=True))
    T, P = 280.0, 8e4
    assert k["R1"] == pytest.approx(2.1e6 / F * math.exp(250 / T) * (T / 280.0) ** -1.3 * (1 + 1e-6 * P))
    assert k["by energy"] == pytest.approx(3e-4 * math.exp(-2e-20 / 1.380649e-23 / T))
    assert k["R4"] == pytest.approx(9e5 / F * math.exp(-900 / T + 2.1e7 / T**3))
    assert k["peroxy_alkoxy"] + k["peroxy_nitrate"] == pytest.approx(1.6e6 / F * math.exp(360 / T))
    assert (k["jA"], k["own"], k["of A"]) == (0.7, 1.5, 2.0)


def test_camp_json_is_in_molecules(save: Save) -> None:
    for name, content in camp().items():
        path = save(content, f"folder/{name}")
    network = read_openatmos(path.parent)
    assert (network.name, network.names) == ("folder", ("A", "B"))
    assert len(network.sources) == 3
    assert evaluate(network.reactions[1].rate, AIR) == pytest.approx(6e-34 * (280 / 300) ** -2.4)
    assert network.reactions[1].text == "2 A + M = 0.5 B"


def test_camp_json_in_minutes(save: Save) -> None:
    one = {"type": "ARRHENIUS", "A": 6e-11, "reactants": {"A": {}, "B": {}}, "products": {}}
    for name, content in camp(**{"reactions.json": {"camp-data": [{**one, "time unit": "MIN"}, one]}}).items():
        save(content, name)
    minute, second = read_openatmos(save(camp()["config.json"], "config.json")).rate_constants
    assert evaluate(second, AIR) == 6e-11
    assert evaluate(minute, AIR) == pytest.approx(1e-12)


def test_sections_in_other_files(save: Save) -> None:
    content = document(species={"files": ["parts/one.json", "two.yaml"]}, reactions={"files": ["reactions.json"]})
    save(SPECIES[:2], "parts/one.json")
    save("\n".join(f"- {json.dumps(each)}" for each in SPECIES[2:]), "two.yaml")
    save(document()["reactions"], "reactions.json")
    network = read_openatmos(save(content))
    assert network.species == read_openatmos(save(document(), "whole.json")).species


def test_yaml_knows_no_words_of_its_own(save: Save) -> None:
    text = (
        "version: 1.0.0\nspecies:\n- name: NO\n- name: off\n- {name: Y}\nphases:\n- name: gas\n"
        "  species: [NO, off, Y]\nreactions:\n- type: ARRHENIUS\n  A: 1e-3\n  gas phase: gas\n"
        "  reactants: NO\n  products:\n  - name: 'off'\n    coefficient: .5\n"
    )
    network = read_openatmos(save(text, "test.yaml"))
    assert network.names == ("NO", "off", "Y")
    assert network.name == "test"
    assert (network.reactions[0].reactants, network.reactions[0].products) == ((("NO", 1.0),), (("off", 0.5),))
    assert str(network.reactions[0].location).endswith("test.yaml:10:3")
    assert evaluate(network.reactions[0].rate, {}) == 1e-3


def test_a_mechanism_without_reactions(save: Save) -> None:
    assert read_openatmos(save(document(reactions=[]))).reactions == ()


def test_load_mechanism_reads_the_format(save: Save) -> None:
    assert load_mechanism(save(document())).names == ("A", "B", "C", "D")


def test_no_probability_is_no_uptake(save: Save) -> None:
    content = document()
    content["reactions"][9]["reaction probability"] = 0
    network = read_openatmos(save(content))
    assert "SURF.dust.effective radius [m]" in {each.name for each in network.open_parameters}
    opened = {each.name: 1.0 for each in network.parameters}
    assert rates(network, {**AIR, **opened})[10] == 0.0


def test_conditions(save: Save) -> None:
    network = read_openatmos(save(document()))
    lines = (
        "CONC.A,2e-6\nCONC.X,1\nENV.temperature,290\nENV.air_density,40\nUSER.own,3\nEMIS.of A, 4\nSURF.dust,1e-7,2e9\n"
    )
    found = read_conditions(save(lines, "initial_conditions.csv"), network)
    assert found.initial == {"A": 2e-6 * F}
    assert found.environment == {"TEMP": 290.0, "M": 40.0 * F}
    assert found.parameters == {
        "USER.own": pytest.approx(3.0 / F),
        "EMIS.of A": 4.0 * F,
        "SURF.dust.effective radius [m]": 1e-7,
        "SURF.dust.particle number concentration [# m-3]": 2e9,
    }
    assert found.unknown == ("CONC.X",)


@pytest.mark.parametrize("line", ["CONC.A", "CONC.A,much", "CONC.A,nan", "SURF.dust,1e-7"])
def test_wrong_conditions_name_the_line(line: str, save: Save) -> None:
    network = read_openatmos(save(document()))
    with pytest.raises(DataError, match=r"initial.csv:2:1: "):
        read_conditions(save(f"CONC.B,1\n{line}\n", "initial.csv"), network)


def test_no_conditions(save: Save, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_conditions(tmp_path / "none.csv", read_openatmos(save(document())))


def test_a_folder_without_a_mechanism(tmp_path: Path) -> None:
    with pytest.raises(MechanismError, match=r"has none of config.yaml"):
        read_openatmos(tmp_path)

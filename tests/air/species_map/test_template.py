"""The template: filled in where names tell, and a map that runs once its questions are answered."""

import re
from pathlib import Path

import pytest

from airshed.air.species_map import Needs, fit, read_species_map
from airshed.air.species_map.template import template
from airshed.core.errors import CaseError
from airshed.mechanism import load_mechanism

from .test_shipped import compounds


def test_that_of_emep_is_its_map(tmp_path: Path) -> None:
    network = load_mechanism("emep")
    path = tmp_path / "emep.species.toml"
    path.write_text(re.sub(r"#\? NH3 =", "NH3 = {}", template(network)).replace("none = []\nO3", "none = 'others'\nO3"))
    found, shipped = read_species_map(path), read_species_map(_shipped())
    assert found.emissions.becomes == dict(shipped.emissions.becomes)
    assert found.boundary.zero == shipped.boundary.zero
    assert found.boundary.profile == shipped.boundary.profile
    assert dict(found.boundary.uniform) == pytest.approx(dict(shipped.boundary.uniform))
    assert dict(found.deposition.surrogate) == dict(shipped.deposition.surrogate)


def test_what_no_name_tells_is_asked_and_then_missing(smog: Path, tmp_path: Path) -> None:
    network = load_mechanism(smog / "smog.eqn")
    text = template(network)
    assert "smog.species.toml beside the mechanism" in text
    asked = re.findall(r'^#\? "?([\w>-]+)"? =', text, re.MULTILINE)
    path = tmp_path / "begun.toml"
    path.write_text(text)
    needs = Needs(compounds(), network.names, network.names)
    with pytest.raises(CaseError) as caught:
        fit(read_species_map(path), network, needs, "smog")
    assert (
        re.findall(r"[\w>-]+", re.sub(r"\(.*?\)|\[\w+\]", "", "".join(str(caught.value).splitlines()[1:-1]))) == asked
    )
    assert {"OZONE", "j_light", "isoprene", "NO"} < set(asked)


def _shipped() -> Path:
    from airshed.air.species_map.find import shipped_species_map

    return Path(shipped_species_map("emep").source)

"""A requested process without any effect is an error; species without an entry are matched by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError
from airshed.models.air.assembly import Parts, assemble

pytestmark = pytest.mark.standard

MAP = '[emissions]\nnone = "others"\n[boundary]\nzero = "others"\n[deposition]\nnone = "others"\n'


def case_of(folder: Path, **more: Any) -> airshed.Case:
    (folder / "soluble.spc").write_text("#DEFVAR\nHNO3 = IGNORE;\nSO2 = IGNORE;\nINERT = IGNORE;\n", encoding="utf-8")
    sections: dict[str, Any] = {
        "grid": {"area": {"lon": [0, 1], "lat": [50, 51]}, "spacing": "0.5 deg", "layers": ["1000 m", "2000 m"]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "soluble.spc"},
        "deposition": {"scheme": "none"}, "meteorology": {"kind": "uniform", "precipitation": "1 mm/h"},
    }  # fmt: skip
    return airshed.Case.from_dict({**sections, **more}, base=folder)


def parts_of(folder: Path, **more: Any) -> Parts:
    return assemble(case_of(folder, **more))


def test_species_go_into_rain_by_their_own_names_where_no_map_names_them(tmp_path: Path) -> None:
    """HNO3 of 1 ppb is 0.60653 ppb after an hour of 1 mm, SO2 0.86071: losses of 0.5 and 0.15 an hour."""
    for text in (None, '[boundary]\nzero = "others"\n[deposition]\nnone = ["INERT"]\n'):
        if text is not None:
            (tmp_path / "soluble.species.toml").write_text(text, encoding="utf-8")
        parts = parts_of(tmp_path, wet_deposition={"scheme": "ratios"})
        [bound] = [each for each in parts.processes if each.process.section == "wet_deposition"]
        assert bound.process.species == ("HNO3", "SO2")
        state = parts.meteorology.at(0.0)
        rate = bound.at(state, 0.0, lambda _, known=state: known)["wet_deposition_rate"][:, 0, 0, 0]
        np.testing.assert_allclose(3600.0 * rate, [0.5, 0.15], rtol=1e-12)


IDLE: dict[str, tuple[dict[str, Any], str]] = {
    "rain": ({"wet_deposition": {"scheme": "ratios"}}, 'wet_deposition: scheme = "ratios" finds no soluble species'),
    "one column": (
        {"horizontal_diffusion": {"diffusivity": "100 m2/s"}},
        "horizontal_diffusion: diffusivity has no effect in a single column",
    ),
    "one layer": ({"convection": {"mass_flux": True}}, "convection: mass_flux has no effect in a single layer"),
}
SMALL = {"grid": {"area": {"lon": [0, 0.5], "lat": [50, 50.5]}, "spacing": "0.5 deg", "layers": ["1000 m"]}}


@pytest.mark.parametrize("name", IDLE)
def test_what_acts_on_nothing_is_refused(tmp_path: Path, name: str) -> None:
    more, message = IDLE[name]
    (tmp_path / "soluble.species.toml").write_text(MAP, encoding="utf-8")
    with pytest.raises(CaseError) as raised:
        parts_of(tmp_path, **{**SMALL, **more})
    assert str(raised.value).startswith(message)
    assert parts_of(tmp_path, **SMALL).processes  # the case requests no such process


def test_what_the_species_map_leaves_out_is_noted(tmp_path: Path) -> None:
    """A case can switch to any mechanism by one setting: deliberate omissions of its species map are no errors."""
    (tmp_path / "soluble.species.toml").write_text(MAP, encoding="utf-8")
    parts = parts_of(tmp_path, deposition={"scheme": "constant"}, emissions={"biogenic": True})
    notes = [text for _, text in parts.notes]
    assert any("isoprene of vegetation: left out" in text for text in notes)
    assert any("no species deposits" in text for text in notes)
    assert not any("left out" in text or "no species" in text for _, text in parts_of(tmp_path).notes)


def test_it_is_refused_in_a_box_too(tmp_path: Path) -> None:
    (tmp_path / "inert.spc").write_text("#DEFVAR\nINERT = IGNORE;\n", encoding="utf-8")
    conditions = {
        "time": {"start": "0 s", "length": "1 h"}, "wet_deposition": {"scheme": "henry"},
        "environment": {"temperature": "285 K", "pressure": "1000 hPa", "height": "1 km"},
        "initial": {"INERT": "1 ppb"}, "weather": {"precipitation": "1 kg/m2/h"},
    }  # fmt: skip
    with pytest.raises(CaseError, match='wet_deposition: scheme = "henry" finds no soluble species'):
        airshed.box(tmp_path / "inert.spc", conditions)


WASHOUT = '''
from airshed.process import Process, loss, number

class Washout(Process, section="washout"):
    """A loss of chosen species."""

    rate = number(1e-4, "Loss [1/s].", ge=0.0)
    @property
    def species(self):
        """Those of a family that the mechanism does not have."""
        return tuple(name for name in self.context.species if name.startswith("Cl"))

    def prepare(self):
        """Nothing."""

    @loss(term="washed")
    def washed(rate):
        """At all levels."""
        return rate
'''


def test_a_process_of_the_users_own_too(tmp_path: Path) -> None:
    (tmp_path / "washout.py").write_text(WASHOUT, encoding="utf-8")
    case = case_of(tmp_path, process=[{"file": "washout.py"}]).allowing_code()
    with pytest.raises(CaseError, match=r"process.0: washed\(\) acts on no species of the mechanism"):
        assemble(case)

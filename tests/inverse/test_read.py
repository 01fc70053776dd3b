"""Sensitivities to numbers and fields of processes, by hand and compared with runs with other numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.laws.cases import small_case
from tests.laws.derivatives import uneven

import airshed
from airshed.inverse import Options, sensitivity

HOUR = 3600.0
USERS = Path(__file__).parents[1] / "models" / "air" / "processes" / "users"
WASHOUT = Path(__file__).parents[2] / "docs" / "how-to" / "adding-a-process.md"
RECEPTOR = {"species": "RN", "lon": -28.2, "lat": 41.1, "level": 0, "time": "1 h"}
MORNING = {"start": "2022-06-21T09:30:00Z", "length": "1 h", "step": "5 min"}
OTHER_LIBRARIES = pytest.mark.thorough, pytest.mark.compiles


def case(folder: Path, processes: list[dict[str, Any]], **sections: Any) -> airshed.Case:
    (folder / "chain.def").write_text("#DEFVAR\nRN = IGNORE;\nPO = IGNORE;\n#EQUATIONS\n")
    (folder / "washout.py").write_text(WASHOUT.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0])
    (folder / "sea_surface.py").write_text((USERS / "sea_surface.py").read_text())
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -26.0], "lat": [40.0, 42.0]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T12:00:00Z", "length": "1 h", "step": "2 min"},
        "chemistry": {"mechanism": "chain.def"}, "deposition": {"scheme": "none"},
        "meteorology": {"kind": "uniform", "temperature": "285 K", "pressure": "1010 hPa", "precipitation": "1 mm/h"},
        "initial": {"values": {"RN": "1 ppb"}}, "boundary": {"values": {"RN": "1 ppb"}}, "run": {"threads": 1},
        "process": processes,
    }  # fmt: skip
    return airshed.Case.from_dict(base | sections, base=folder)


def washout(folder: Path, coefficient: float = 1e-4) -> airshed.Case:
    return case(folder, [{"file": "washout.py", "coefficients": {"RN": f"{coefficient!r} 1/s"}}])


def sea(folder: Path, strength: float = 1.5) -> airshed.Case:
    table = {"velocities": {"RN": "1 cm/s"}, "strength": strength}
    return case(folder, [{"file": "sea_surface.py", **table}])


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_number_that_acts_on_fields_of_instants_by_hand(tmp_path: Path) -> None:
    """Compare with dq/dt = -a q at 1 mm/h: the derivative by a is -t q, and that by a factor on the rate is -a t q."""
    found = sensitivity(washout(tmp_path), RECEPTOR, allow_code=True)
    expected = -HOUR * 1e-9 * np.exp(-1e-4 * HOUR)
    assert float(found.process_setting.sel(setting="washout_coefficients_RN")) == pytest.approx(expected, rel=1e-3)
    assert float(found.relative_washout_rate.sum()) == pytest.approx(1e-4 * expected, rel=1e-3)
    assert found.relative_washout_rate.dims == ("washout_rate_species", "lat", "lon")


def particles(folder: Path, diameter: float = 2e-5) -> airshed.Case:
    """Return the small case with nitric acid as settling particles; their diameter [m] enters fields at instants."""
    return small_case(folder, time=MORNING, particles={"diameters": {"HNO3": f"{diameter!r} m"}})


def windy(folder: Path, strength: float = 1.5) -> airshed.Case:
    """Return the small case with a factor on deposition velocities over the sea, which steps read."""
    data = small_case(folder, time=MORNING).to_dict()
    data["process"][0]["strength"] = strength
    return airshed.Case.from_dict(data, base=folder).allowing_code()


@pytest.mark.parametrize(("make", "species", "name", "value"), [
    (particles, "HNO3", "particles_diameters_HNO3", 2e-5), (windy, "O3", "sea_surface_strength", 1.5),
    pytest.param(washout, "RN", "washout_coefficients_RN", 1e-4, marks=OTHER_LIBRARIES),
    pytest.param(sea, "RN", "sea_surface_strength", 1.5, marks=OTHER_LIBRARIES),
])  # fmt: skip
def test_numbers_against_whole_runs(tmp_path: Path, make: Any, species: str, name: str, value: float) -> None:
    asked: dict[str, Any] = {"receptor": {**RECEPTOR, "species": species}, "allow_code": True}
    found = sensitivity(make(tmp_path), **asked, initial=uneven_of(make(tmp_path)))
    step = 1e-4 * value
    ends = [
        float(sensitivity(make(tmp_path, value + sign * step), **asked, initial=uneven_of(make(tmp_path))).value)
        for sign in (1, -1)
    ]
    assert float(found.process_setting.sel(setting=name)) == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-6)


def uneven_of(case: airshed.Case) -> Any:
    """Return irregular mixing ratios for the small case; the other case is linear."""
    return uneven(case) if case.chemistry.mechanism == "small.kpp" else None


def test_only_requested_sensitivities_are_returned(tmp_path: Path) -> None:
    asked: dict[str, Any] = {**RECEPTOR, "species": "O3"}
    found = sensitivity(particles(tmp_path), asked, options=Options(read=False, reactions=False))
    assert not {"process_setting", "rate"} & set(found)
    whole = sensitivity(particles(tmp_path), asked)
    assert {"process_setting", "rate"} <= set(whole)
    np.testing.assert_array_equal(found.initial, whole.initial)


def test_a_missing_derivative_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: fields at instants that do not change with a number."""
    asked: dict[str, Any] = {**RECEPTOR, "species": "HNO3"}
    assert float(sensitivity(particles(tmp_path), asked).process_setting.sel(setting="particles_diameters_HNO3")) != 0.0
    monkeypatch.setattr("airshed.inverse.backward.field_derivatives", lambda bound, *_: dict.fromkeys(
        (each.name for each in bound.fields), np.zeros(())))  # fmt: skip
    found = sensitivity(particles(tmp_path), asked)
    assert float(found.process_setting.sel(setting="particles_diameters_HNO3")) == 0.0

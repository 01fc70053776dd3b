"""Combinations of settings: errors for missing partners, warnings for settings without effect."""

import tomllib
from typing import Any

import pytest

from airshed.case.locations import shipped_cases
from airshed.core.errors import CaseError
from airshed.mechanism import load_mechanism
from airshed.models.air.case import Case, case_notices, idle_settings
from airshed.runtime.registry import case_report


def small(**changes: Any) -> dict[str, Any]:
    """Return a small case with additional sections."""
    return {
        "grid": {"area": {"lon": [0, 10], "lat": [45, 55]}, "spacing": "0.5 deg", "layers": ["20 m", "50 m"]},
        "time": {"start": "2022-08-31T00:00Z", "length": "24 h"},
        **changes,
        "chemistry": {"mechanism": "tracer", **changes.get("chemistry", {})},
    }


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ["chemistry.integrator=strang", "chemistry.sweeps=3"],
            ["chemistry.sweeps has no effect with chemistry.integ"],
        ),
        (["chemistry.sweeps=3"], []),
        (["chemistry.solver=ros2", "chemistry.relative_tolerance=1e-3"], ["chemistry.solver", "chemistry.relative_to"]),
        (["chemistry.solver=ros2", "chemistry.integrator=strang"], []),
        (["parallel.balance=true"], ["parallel.balance has no effect with chemistry.integrator"]),
        (["parallel.balance=false"], []),
        (['meteorology.files=["x.nc"]'], ['meteorology.files has no effect with meteorology.kind = "uniform"']),
        (["meteorology.kind=given", "meteorology.eastward=1 m/s"], ["meteorology.eastward has no effect with"]),
        (["meteorology.eastward=1 m/s"], []),
        (["emissions.year=2020", "emissions.scale.NOx=2"], ["emissions.year has no", "emissions.scale has no"]),
        (["boundary.scale.TRACER=2"], ['boundary.scale has no effect with boundary.profiles = "zero"']),
    ],
)
def test_settings_that_do_nothing_are_told(overrides: list[str], told: list[str]) -> None:
    resolved = Case.from_dict(small(meteorology={"kind": "uniform"}), overrides=overrides)
    found = idle_settings(Case.from_dict(tomllib.loads(resolved.to_toml()), base=resolved.base))
    assert [line.startswith(each) for line, each in zip(found, told, strict=True)] == [True] * len(told), found


def test_the_shipped_cases_have_no_settings_that_do_nothing() -> None:
    for name in shipped_cases().keys() - {"queensland"}:
        assert idle_settings(Case.load(name)) == []


@pytest.mark.parametrize(
    ("mechanism", "settings", "told"),
    [
        ("chapman", {"sweeps": 1}, True),
        ("chapman", {"sweeps": 2}, False),
        ("tracer", {"sweeps": 1}, False),  # nothing to solve
    ],
)
def test_one_sweep_is_told_with_what_it_leaves(mechanism: str, settings: dict[str, Any], told: bool) -> None:
    case = Case.from_dict(small(chemistry={"mechanism": mechanism, **settings}))
    notices = case_notices(case, load_mechanism(mechanism))
    assert [("22 ppb" in notice and "quarter of the step" in notice) for notice in notices] == [True] * told
    shown = case_report(case).facts
    assert ("22 ppb" in str(shown.get("notice", ""))) is told


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ({"begin": "2 h"}, "point.0 emits nothing: it begins at 2 h, when the run is over"),
        ({"begin": "-3 h", "duration": "2 h"}, "it ends at -1 h, before the run begins"),
        ({"begin": "-3 h", "duration": "150 min"}, ""),
        ({"begin": "50 min"}, ""),
        ({"duration": "1 s"}, ""),
    ],
)
def test_a_release_at_other_times_than_those_of_the_run_is_told(times: dict[str, str], told: str) -> None:
    point = {"species": "TRACER", "lon": 5.0, "lat": 50.5, "rate": "1 mol/s", **times}
    data = small(emissions={"point": [point]}, chemistry={"mechanism": "tracer"})
    case = Case.from_dict(data, overrides=['time.length="1 h"', 'time.spinup="1 h"'])
    found = [each for each in case_notices(case, load_mechanism("tracer")) if "emits nothing" in each]
    assert [told in each for each in found] == [True] * bool(told)


def test_vertical_transport_apart_needs_a_splitting():
    apart = {"transport": {"vertical": "with chemistry"}}
    assert Case.from_dict(small(**apart, chemistry={"mechanism": "tracer", "integrator": "strang"})).moves_planes
    with pytest.raises(CaseError, match=r'vertical = "with chemistry" needs a splitting, such as chemistry.integrator'):
        Case.from_dict(small(**apart))

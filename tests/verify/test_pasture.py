"""Pasture in random cells and against the outputs of APSIM-GRASP: checks pass, and detect planted errors."""

import os
from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.models.pasture.fields import STATE
from airshed.verify import checks, pasture, pasture_reference
from airshed.verify.pasture import OPTIONS, SMOOTH, model, random_cells
from airshed.verify.pasture_reference import LACKING, NEEDED, VARIABLE, read_out

HERE = Path(__file__).parents[2]
CELLS = random_cells(60, 120, seed=3)


@pytest.fixture(scope="module")
def evenings() -> dict[str, np.ndarray]:
    points = model("as published")
    step = points.compiled()
    each = {spec.name: np.empty((CELLS.days, 60)) for spec in STATE if spec.name in points.outputs}
    step.advance({**CELLS.parameters, **CELLS.weather, **CELLS.state}, CELLS.days, records=each)
    return each


def missed(each: dict[str, np.ndarray]) -> set[str]:
    return {figure.what for figure in pasture.figures_of(each, CELLS, "pasture", "double") if not figure.ok}


@pytest.mark.compiles
def test_an_error_in_one_cell_of_one_day_is_detected(evenings: dict[str, np.ndarray]) -> None:
    assert not missed(evenings)
    planted = (
        ("dead_leaf", -1e-6, "least store [mm, kg/ha]"),
        ("water_3", 1e4, "water above saturation [mm]"),
        ("height", np.nan, "values that are no numbers"),
    )
    for name, value, what in planted:
        wrong = evenings[name].copy()
        wrong[60, 7] = value
        assert missed({**evenings, name: wrong}) == {what}
    for total, what in (("runoff_total", "water"), ("detachment_total", "standing dry matter")):
        wrong = evenings[total].copy()
        wrong[-1, 7] += 1e-3
        assert missed({**evenings, total: wrong}) == {f"balance of {what}, worst cell"}


def test_a_wrong_derivative_is_detected() -> None:
    points, random = model("all options"), np.random.default_rng(1)
    values = {**CELLS.smooth_day(1), **points.numbers}
    wrt = [name for name in SMOOTH if name in points.inputs]
    changes = {name: random.normal(size=values["rain"].shape) * 1e-2 * np.abs(values[name]) for name in wrt}
    tangents = pasture._tangents(points, values, changes)
    error, decided = pasture.compare_with_differences(points, values, changes, tangents)
    assert error < 1e-5
    assert decided > 0.9
    wrong = [1.001 * each for each in tangents]
    assert pasture.compare_with_differences(points, values, changes, wrong)[0] > 1e-4
    one, ones = [np.array([2.0, 3.0])], [np.ones(2)]
    assert pasture.dot_product(one, ones, one, ones) == 0.0
    assert pasture.dot_product(one, ones, [np.array([2.0, 3.0 + 1e-9])], ones) > 1e-12


@pytest.mark.parametrize("options", OPTIONS)
def test_derivatives_hold_for_sums_of_zero_after_a_reset(options: str) -> None:
    transpired, grown = CELLS.state["nitrogen_transpiration"], CELLS.state["nitrogen_growth"]
    assert ((transpired > 0.0) & (grown == 0.0)).any()
    assert not [figure for figure in pasture.check_derivatives(model(options), CELLS, options) if not figure.ok]


def test_random_cells_have_the_declared_properties() -> None:
    assert {*OPTIONS} == {"as published", "all options"}
    empty = [float((CELLS.state[name] == 0.0).mean()) for name in ("green_leaf", "litter")]
    assert all(0.1 < share < 0.6 for share in empty)
    assert (CELLS.parameters["thickness_4"] == 0.0).any()
    assert (CELLS.weather["min_temperature"] < 0.0).any()


def test_the_columns_of_an_output_file(tmp_path: Path) -> None:
    text = (
        "ApsimVersion = 6.1\nTitle = T\n date a a b\n () (mm) (mm) ()\n 01/01/1957 1.0 2.0 ?\n 02/01/1957 3.0 4.0 5.0\n"
    )
    (tmp_path / "a.out").write_text(text)
    found = read_out(tmp_path / "a.out")
    assert found["a"].tolist() == [1.0, 3.0]
    assert np.isnan(found["b"][0])
    (tmp_path / "a.out").write_text("nothing")
    with pytest.raises(DataError, match="no line with the names of columns"):
        read_out(tmp_path / "a.out")


def test_verify_reports_missing_outputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(checks, "checks", lambda *, full: {})
    assert str(checks.run().facts["not run"]).startswith("comparison with GRASP: it needs published outputs")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match=r"the folder lacks grasp_refset/narayen\.met; name one that has"):
        pasture_reference.reference_folder()


@pytest.fixture(scope="module")
def folder() -> Path:
    """Folder of the outputs: set by the environment, or next to the checkout."""
    beside = Path(os.environ.get("AIRSHED_SHARED") or HERE.parent / "shared") / "data" / "grasp_reference"
    found = pasture_reference.reference_folder() or (beside if (beside / NEEDED[0]).is_file() else None)
    if found is None:
        pytest.skip(LACKING)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["double", "single"])
def test_outputs_agree_with_grasp(folder: Path, precision) -> None:
    figures = pasture_reference.check(folder, precision)
    assert len(figures) == 10
    assert not [figure for figure in figures if not figure.ok or not figure.reference]


PLANTED = [
    ("check_step", ("step1",), {"soil_evaporation": {"method": "ritchie"}}),
    ("check_step", ("step3",), {"cover": {"litter_area": 5e-4}}),
    ("check_step", ("step6",), {"growth": {"half_light": 9.2}}),
    ("check_step", ("step6",), {"growth": {"light_use": 12.1}}),
    ("check_step", ("step6",), {"transpiration": {"ground_factor": 1.4}}),
    ("check_trees", (), {"trees": {"use_of_basal_area": 0.3}}),
    ("check_site67", (), {"soil_evaporation": {"method": "rickert"}}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("check", "of", "other"), PLANTED, ids=[str(other) for _, _, other in PLANTED])
def test_a_changed_model_does_not_agree_with_grasp(folder: Path, check: str, of: tuple[str, ...], other) -> None:
    assert not all(figure.ok for figure in getattr(pasture_reference, check)(folder, *of, **other))

"""Observations at the start constrain the initial state but not emission; a clipped state is reported."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.inverse.fourdvar.air_model import InitialControls
from airshed.inverse.fourdvar.results import outcome_report
from airshed.inverse.fourdvar.study import StudyObservations, open_study
from airshed.models.air.case.inverse import ControlSection

from .air_cases import case

HEAD = "station,lon,lat,species,value,unit,time,error\n"
OZONE = {"name": "ozone", "target": "initial", "species": ["O3"], "resolution": "domain", "sigma": 0.2}


def section(*controls: dict[str, Any], **more: Any) -> dict[str, Any]:
    observed = {"stations": ["start.csv"], "species": ["O3"], "averaging": "0 s",
                "representativeness_error": 0.0, "background_check": 100.0}  # fmt: skip
    return {"scheme": "4dvar", "iterations": 4, "observations": observed, "control": list(controls), **more}


def write(folder: Path, value: float, error: float = 1.0) -> None:
    text = f"{HEAD}A,2.5,46.5,O3,{value},ppb,2022-08-31T10:20Z,{error}\n"
    (folder / "start.csv").write_text(text, encoding="utf-8")


def test_an_observation_at_the_start_constrains_the_initial_state(tmp_path: Path) -> None:
    """Ozone is 35 ppb at the start: a factor of exp(0.2), one background deviation, gives 42.7 ppb."""
    write(tmp_path, 42.7)
    given = case(tmp_path, assimilation=section(OZONE))
    seen = StudyObservations.of_case(given)
    assert seen.instants.tolist() == [0.0, 1800.0]
    with open_study(given, seen) as study:
        outcome = study.run()
        factor = float(outcome.analysis.controls["ozone"][0])
        assert outcome_report(study, outcome).warnings == []
    gain = 49.0 / (49.0 + 1.0)
    assert factor == pytest.approx(np.exp(0.2 * gain), rel=0.02)


def test_emission_has_no_effect_at_the_start(tmp_path: Path) -> None:
    write(tmp_path, 42.7)
    emission = {"name": "e", "species": ["NO"], "resolution": "domain"}
    with pytest.raises(CaseError, match=r"start.csv, line 2: all observations are at the start"):
        StudyObservations.of_case(case(tmp_path, assimilation=section(emission)))
    StudyObservations.of_case(case(tmp_path, assimilation=section(emission, OZONE)))


def test_a_clipped_state_is_reported(tmp_path: Path) -> None:
    """The first iteration clips all cells at zero, where the gradient vanishes."""
    write(tmp_path, -40.0, error=10.0)
    increment = {"name": "less", "target": "initial", "species": ["O3"], "kind": "gaussian", "resolution": "domain",
                 "deviation": "300 ppb"}  # fmt: skip
    given = case(tmp_path, assimilation=section(increment, iterations=3))
    with open_study(given, StudyObservations.of_case(given)) as study:
        report = outcome_report(study, study.run())
    (name,) = report.warnings
    assert name == "control less is clipped at zero [% of cells]"
    assert report.facts[name] == pytest.approx(100.0)


def test_the_clipped_fraction_counts_cells_below_zero() -> None:
    control = ControlSection(name="d", target="initial", species=("O3",), kind="gaussian")
    initial = InitialControls(cast(Any, SimpleNamespace(network=SimpleNamespace(names=("NO", "O3")))), [control])
    assert initial.clipped({"d": np.zeros((2, 2, 2))}) == {}  # before the first run
    state = np.full((2, 2, 2, 2), 4e-8)
    change = np.zeros((2, 2, 2))
    change[0, 0, 0], change[1] = -5e-8, -4e-8
    initial.change({"d": change}, state)
    assert initial.clipped({"d": change}) == {"d": 0.125}
    assert initial.clipped({"d": 0.5 * change}) == {}

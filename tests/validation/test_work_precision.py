"""The work-precision study: its norms are correct, and its text agrees with its figures."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "explanation" / "integrators.md").read_text(encoding="utf-8")


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from validation.work_precision import report, runs

    return report, runs


def test_the_norm_is_the_relative_l1(study):
    _, runs = study
    reference = np.ones((3, len(runs.SPECIES), 2, 4, 5))
    result = reference.copy()
    result[:, 1, 0] = 1.5
    result[0, 2, 1] = 0.0
    errors = runs.errors(result, reference)
    assert errors["O3"] == {"all": 0.0, "ground": 0.0}
    assert errors["NO2"] == {"all": 0.25, "ground": 0.5}
    assert errors["OH"] == {"all": pytest.approx(1.0 / 6.0), "ground": 0.0}


def test_the_text_agrees_with_the_figures(study):
    report, _ = study
    assert (report.HERE / "README.md").read_text(encoding="utf-8") == report.text()


def test_the_documents_repeat_rows_of_the_study(study):
    report, _ = study
    rows = {line for line in report.text().splitlines() if line.startswith(("| imex, ", "| strang, "))}
    repeated = [line for line in DOCS.splitlines() if line.startswith(("| imex, ", "| strang, "))]
    assert len(repeated) >= 8
    assert set(repeated) <= rows
    assert repeated[0].replace("imex", "IMEX") not in rows


def test_both_integrators_agree_for_small_steps(study):
    """The integrators have the same limit: there they differ by much less than from their results by default.

    OH lives for less than any step: splitting lacks its loss by mixing within a step, some thousandths.
    """
    report, _ = study
    for content in report.read().values():
        limit = content["reference"]["strang, extrapolated"]
        usual = next(run for run in content["runs"] if report.name_of(run) == "imex, 2 sweeps" and run["step"] == 300.0)
        split = next(run for run in content["runs"] if run.get("solver") == "ros3" and run["step"] == 300.0)
        for name, errors in limit.items():
            assert errors["ground"] < 0.05 * split["errors"][name]["ground"]
            assert name == "OH" or errors["ground"] < 0.01 * usual["errors"][name]["ground"]

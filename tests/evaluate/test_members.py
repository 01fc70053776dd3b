"""The members of a sweep against observations: an ensemble whose statistics are those of its pairs."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from tests.evaluate.synthetic import hourly, ozone, write_observations, write_run
from typer.testing import CliRunner

from airshed.cli.program import app
from airshed.core.errors import OutputError
from airshed.core.version import __version__
from airshed.evaluate import ensemble
from airshed.evaluate.evaluation import evaluate
from airshed.io.run_state import RunState, case_hash

OFFSETS = (-6.0, 1.0, 4.0)


def member(folder: Path, offset: float, state: str = "finished") -> Path:
    """Write a run whose ozone is that of the observations and an offset [ppb]."""
    folder.mkdir(parents=True)
    write_run(folder / "output.nc", field=lambda *place: ozone(*place) + 1e-9 * offset)
    run = RunState(__version__, state, "now", case_hash(""), "", ("output",))  # type: ignore[arg-type]
    (folder / "run.json").write_text(json.dumps(asdict(run)))
    return folder


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    folder = tmp_path / "sweep"
    for number, offset in enumerate(OFFSETS):
        member(folder / "members" / f"{number:04d}", offset)
    member(folder / "members" / "0003", 100.0, state="interrupted")
    (folder / "members" / "0004.log").touch()
    (folder / "sweep.json").write_text(json.dumps({"dimensions": [{"name": "member"}]}))
    return folder


@pytest.fixture
def observed(tmp_path: Path) -> Path:
    return write_observations(tmp_path / "observed.csv", hourly("A", 7.2, 51.9))


def test_a_sweep_is_scored_as_an_ensemble_of_its_finished_members(sweep: Path, observed: Path) -> None:
    found = evaluate(sweep, observed)
    assert [run.label for run in found.runs] == ["0000", "0001", "0002"]
    size = found.matched.modelled[1] - found.matched.observations.value  # of 1 ppb
    np.testing.assert_allclose(found.matched.modelled[0] - found.matched.observations.value, -6.0 * size, rtol=1e-6)
    table, ranks = found.report().tables[:2]
    assert (table.title, ranks.title) == ("Ensemble", "Rank histogram")
    values = dict(zip(table.columns, table.rows[0], strict=True))
    assert (values["species"], values["N"], values["members"]) == ("O3", 24, 3)
    expected = ensemble.scores(found.matched.observations.value, found.matched.modelled)
    assert all(values[name] == expected[name] for name in ("RMSE", "spread", "ratio", "CRPS", "MAE"))
    assert values["spread"] / float(size.mean()) == pytest.approx(np.std(OFFSETS, ddof=1), rel=1e-6)
    assert ranks.rows[0] == ("O3", "0 24 0 0")


def test_the_dataset_of_a_sweep_stands_for_it(sweep: Path, observed: Path) -> None:
    (sweep / "sweep.zarr").mkdir()
    done = CliRunner().invoke(app, ["evaluate", str(sweep / "sweep.zarr"), "-o", str(observed), "-q"])
    assert done.exit_code == 0, done.output
    tables = json.loads((sweep / "evaluation" / "statistics.json").read_text())["tables"]
    assert [table["title"] for table in tables][:2] == ["Ensemble", "Rank histogram"]


@pytest.mark.parametrize("names", [["time.step"], ["emissions.scale.NOx", "member"]])
def test_varied_settings_are_no_ensemble(sweep: Path, observed: Path, names: list[str]) -> None:
    """The negative control: members that differ by design have no spread of an uncertainty."""
    (sweep / "sweep.json").write_text(json.dumps({"dimensions": [{"name": name} for name in names]}))
    found = evaluate(sweep, observed)
    assert [run.label for run in found.runs] == ["0000", "0001", "0002"]
    assert "Ensemble" not in [table.title for table in found.report().tables]


def test_a_damaged_plan_is_refused(sweep: Path, observed: Path) -> None:
    (sweep / "sweep.json").write_text("{}")
    with pytest.raises(OutputError, match=r"sweep\.json is damaged"):
        evaluate(sweep, observed)


def test_other_runs_are_no_ensemble(sweep: Path, observed: Path) -> None:
    """The negative control."""
    found = evaluate([sweep / "members" / "0000", sweep / "members" / "0001"], observed)
    assert "Ensemble" not in [table.title for table in found.report().tables]


def test_a_sweep_with_one_finished_member_is_no_ensemble(sweep: Path, observed: Path) -> None:
    for number in (0, 1):
        (sweep / "members" / f"{number:04d}" / "output.nc").unlink()
    with pytest.raises(OutputError, match="fewer than two finished members"):
        evaluate(sweep, observed)

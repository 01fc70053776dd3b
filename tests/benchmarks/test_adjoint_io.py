"""The benchmark of checkpoints and output runs on ranks; its shares and its model agree with the measured times."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import app
from benchmarks.adjoint_io.experiment import CHECKPOINTS, NOTHING, OUTPUT, RankMeasurements
from benchmarks.adjoint_io.model import Cost
from benchmarks.adjoint_io.report import hidden
from typer.testing import CliRunner

from airshed.core.errors import CaseError
from benchmarks import adjoint_io

ALPHA, BETA = 2e-3, 1e-9
STEPS, CELLS, LEVEL = 10, 30_000, 16_000_000


def found(ranks: int, *, cores: int = 2, share: float = 0.8) -> RankMeasurements:
    """Return measurements that agree with the model exactly."""
    level = LEVEL // ranks
    added = STEPS * (ALPHA + BETA * level) * max(1.0, ranks / cores)
    walls = {NOTHING: [1.0, 2.0, 3.0], "files:sync": [1.0 + added, 2.0 + added, 9.0]}
    later = {"files:async": [1.0 + (1 - share) * added, 2.0 + (1 - share) * added, 3.0]}
    return RankMeasurements(ranks, STEPS, CELLS, level, 0, {CHECKPOINTS: walls, OUTPUT: walls | later})


def test_the_share_is_the_ratio_of_added_times() -> None:
    assert hidden(found(1), "files").median == pytest.approx(0.8)
    assert hidden(found(1, share=0.0), "files").median == pytest.approx(0.0)


def test_the_fit_recovers_the_model_where_ranks_share_cores() -> None:
    measured = [found(ranks) for ranks in (1, 2, 4)]
    cost = Cost.fitted(measured, "files", cores=2)
    assert (cost.alpha, cost.beta) == (pytest.approx(ALPHA), pytest.approx(BETA))
    assert cost.error < 1e-9
    assert Cost.fitted(measured, "files", cores=4).error > 0.1  # the model of another machine


def test_costs_below_the_noise_have_no_number() -> None:
    walls = {NOTHING: [2.0], "files:sync": [1.9], "files:async": [1.8]}
    faster = replace(found(1), walls={CHECKPOINTS: walls, OUTPUT: walls})
    assert hidden(faster, "files") is None
    assert Cost.fitted([faster], "files", cores=2) is None


def test_an_unknown_store_is_refused() -> None:
    with pytest.raises(CaseError, match="'tape' cannot be measured; choose from files, mpiio, zarr"):
        adjoint_io.Experiment(stores=("tape",)).check()


@pytest.mark.thorough
def test_the_command_measures_on_ranks(tmp_path: Path) -> None:
    settings = ["--set", 'grid.spacing="2 deg"', "--case", "tracer-rotation", "--minutes", "20", "--rounds", "1"]
    settings += ["--ranks", "1,2", "--stores", "mpiio", "--outputs", "files", "--folder", str(tmp_path), "--json"]
    result = CliRunner().invoke(app, ["adjoint", "io", *settings])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [each["ranks"] for each in document["walls"]] == [1, 2]
    for each in document["walls"]:
        assert set(each["walls"][CHECKPOINTS]) == {NOTHING, "mpiio:sync"}
        assert set(each["walls"][OUTPUT]) == {NOTHING, "files:sync", "files:async"}
        assert each["steps"] > 0
        assert each["record"] > 0
    assert {(each["ranks"], each["by"]) for each in document["hidden"]} == {(1, "files"), (2, "files")}
    assert set(document["costs"]) == {"mpiio"}
    assert not list(tmp_path.iterdir())

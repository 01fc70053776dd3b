"""A case and its nests in one program: the nests get the state of the outer run after each of its steps."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.air.test_nesting import passive
from tests.started import python
from typer.testing import CliRunner

import airshed
from airshed.case.toml import write_toml
from airshed.cli.program import app
from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.models.air.nesting import run_nested

AREAS = {
    "outer": [-30.0, -20.0, 36.0, 46.0],
    "middle": [-27.0, -23.0, 39.0, 43.0],
    "inmost": [-26.0, -24.0, 40.0, 42.0],
}
SPACINGS = {"outer": "0.5 deg", "middle": "0.5 deg", "inmost": "0.25 deg"}
CHIMNEY = {"point": [{"species": "TRACER", "lon": -27.6, "lat": 41.5, "rate": "1 mol/s"}]}


def cases(folder: Path, **changes: dict[str, Any]) -> list[airshed.Case]:
    """Write three cases, each nested in the one before, and return them."""
    found, before = [], None
    for name, area in AREAS.items():
        nested = {} if before is None else {"boundary": {"run": f"../{before}"}, "initial": {"run": f"../{before}"}}
        emitted = {"emissions": CHIMNEY} if before is None else {}
        case = passive(
            area, SPACINGS[name], **{"output": [{"every": "30 min"}], **emitted, **nested, **changes.get(name, {})}
        )
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "case.toml").write_text(write_toml(case.to_dict()))
        found.append(airshed.load_case(folder / name))
        before = name
    return found


def test_nests_follow_their_outer_run_step_by_step(tmp_path: Path) -> None:
    """The nest with the spacing of the outer run reproduces it; the outer run has the bits of a run alone."""
    folders = [tmp_path / "runs" / name for name in AREAS]
    outer, middle, inmost = cases(tmp_path)
    summaries = run_nested([outer, middle, inmost], folders)
    assert [each.title for each in summaries or []] == [outer.title, middle.title, inmost.title]
    with airshed.Simulation(outer, output=tmp_path / "alone") as simulation:
        simulation.run()
    assert (tmp_path / "alone" / "output.nc").read_bytes() == (folders[0] / "output.nc").read_bytes()
    found = [airshed.open_run(folder)["TRACER"] for folder in folders]
    expected = found[0].sel(lat=found[1].lat, lon=found[1].lon)
    assert float(abs(found[1] - expected).max()) < 1e-6 * float(found[0].max())
    means = [float(each.isel(time=-1).sel(lat=slice(40, 42), lon=slice(-26, -24)).mean()) for each in found]
    assert means[0] > 0.0
    assert means[2] == pytest.approx(means[0], rel=0.05)


def test_a_nest_may_begin_later_and_end_earlier(tmp_path: Path) -> None:
    """It begins within a step of the outer run, with the state of that time."""
    time = {"start": "2022-06-01T00:32:00Z", "length": "1 h", "step": "7 min"}
    outer, middle, _ = cases(tmp_path, middle={"time": time}, outer={"emissions": {}})
    late = middle.patched({"time.start": np.datetime_as_string(outer.start + np.timedelta64(32, "m")) + "Z"})
    folders = [tmp_path / "runs" / name for name in ("outer", "middle")]
    run_nested([outer, late], folders)
    with airshed.open_run(folders[1]) as nest, airshed.open_run(folders[0]) as whole:
        assert nest.time.values[0] - whole.time.values[0] == np.timedelta64(32, "m")
        inside = whole["TRACER"].sel(lat=nest.lat, lon=nest.lon)
        assert float(inside.min()) - 1e-12 <= float(nest["TRACER"].min()) <= float(nest["TRACER"].max())


@pytest.mark.standard
def test_two_ranks_give_the_same_bits(tmp_path: Path) -> None:
    short = {name: {"time": {"start": "2022-06-01T00:00:00Z", "length": "30 min", "step": "5 min"}} for name in AREAS}
    run_nested(cases(tmp_path, **short)[:2], [tmp_path / "one" / name for name in ("outer", "middle")])
    options = ["-q", "--threads", "1", "--output", "two", "-n", "2"]
    command = [python(), "-m", "airshed", "run", "outer", "middle", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("outer", "middle"):
        one, two = (tmp_path / count / name / "output.nc" for count in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_the_command_runs_nests_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cases(tmp_path)
    done = CliRunner().invoke(app, ["run", "outer", "middle", "--threads", "1"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert (
        "2 species of the outer run outer in this program" in (tmp_path / "runs" / "middle" / "summary.txt").read_text()
    )
    assert "runs/middle: output.nc, summary.txt" in done.stdout
    again = CliRunner().invoke(app, ["run", "outer", "middle", "--threads", "1"])
    assert (again.exit_code, "hold the finished runs of these cases" in again.stderr) == (0, True)


def test_the_results_of_a_nest_belong_to_its_outer_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another outer case gives the nest a new folder; with the first one again, its first results are found."""
    monkeypatch.chdir(tmp_path)
    short = {"time": {"start": "2022-06-01T00:00:00Z", "length": "30 min", "step": "5 min"}}
    stronger = {**short, "emissions": {"point": [{**CHIMNEY["point"][0], "rate": "2 mol/s"}]}}
    command = ["run", "outer", "middle", "--threads", "1", "--quiet"]
    for outer in (short, stronger):
        cases(tmp_path, outer=outer, middle=short)
        assert CliRunner().invoke(app, command).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["middle", "middle-2", "outer", "outer-2"]
    cases(tmp_path, outer=short, middle=short)
    again = CliRunner().invoke(app, command[:-1])
    assert "runs/outer, runs/middle hold the finished runs of these cases" in again.stderr


@pytest.mark.parametrize(("arguments", "reason"), [
    (["middle"], "is the folder of a case, not of a run: run both together"),
    (["outer", "outer"], "outer is no nest: set boundary.run to the folder of its outer case"),
    (["outer", "inmost"], "inmost: boundary.run = '../middle' is none of the outer cases before it"),
    (["outer", "middle", "--set", "time.length=1 h"], "--set does not work with nests in one program"),
    (["outer", "middle", "--resume"], "--resume does not work with nests"),
    ([str(resource("cases") / "emep-box" / "conditions.toml"), "outer"], "only cases of the model air have nests"),
])  # fmt: skip
def test_an_impossible_combination_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    cases(tmp_path)
    done = CliRunner().invoke(app, ["run", *arguments])
    assert done.exit_code != 0
    assert reason in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_nest_beyond_the_period_of_its_outer_run_is_refused(tmp_path: Path) -> None:
    outer, middle, _ = cases(tmp_path)
    with pytest.raises(CaseError, match=r"middle lasts from .* to .*, its outer run outer from"):
        run_nested([outer, middle.patched({"time.length": "9 h"})])

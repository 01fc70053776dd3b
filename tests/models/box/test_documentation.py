"""The examples of docs/how-to/box.md run unchanged."""

import re
import tomllib
from pathlib import Path

import pytest

import airshed
from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions
from airshed.models.box.conditions import BoxEnvironment, BoxSolver, BoxTime
from airshed.models.box.run import BoxRun

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "box.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.compiles
def test_python_examples(capsys: pytest.CaptureFixture[str]) -> None:
    one, many = blocks("python")
    exec(compile(one, "docs/how-to/box.md", "exec"), {})
    number, unit = capsys.readouterr().out.split()
    assert 20.0 < float(number) < 120.0
    assert unit == "ppb"
    exec(compile(many, "docs/how-to/box.md", "exec"), {})
    assert capsys.readouterr().out == "('time', 'cell') (2, 3)\n"


def test_conditions_example(emep: ReactionNetwork) -> None:
    example, *_ = blocks("toml")
    run = BoxRun(emep, BoxConditions.from_dict(tomllib.loads(example)))
    series = run.run()
    assert set(series["daylight"].values) == {0.0, 1.0}
    assert float(series["time"][-1]) == 40 * 3600.0


def test_processes_example(emep: ReactionNetwork, tmp_path: Path) -> None:
    """HNO3 is washed out, O3 hardly; the process of the other page runs as well."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "adding-a-process.md").read_text(encoding="utf-8")
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "washout.py").write_text(code, encoding="utf-8")
    _, example, _ = blocks("toml")
    given = tomllib.loads(example) | {
        "time": {"start": "6 h", "length": "3 h"}, "rates": {"SUN": 0.0},
        "initial": {"HNO3": "1 ppb", "O3": "40 ppb", "HCHO": "1 ppb"},
    }  # fmt: skip
    run = BoxRun(emep, BoxConditions.from_dict(given, tmp_path), allow_code=True)
    assert [each.name for each in run.model.processes.acting] == ["wet_deposition", "washout"]
    series = run.run()
    left = {name: float(series[name][-1] / series[name][0]) for name in ("HNO3", "O3", "HCHO")}
    assert left["HNO3"] < 0.1 < 0.8 < left["HCHO"] < left["O3"]


def test_case_example(emep: ReactionNetwork) -> None:
    """Use the settings of a run with the conditions of the first example, without states."""
    conditions, _, run = (tomllib.loads(each) for each in blocks("toml"))
    given = {**conditions, **run, "time": {"length": "2 h"}, "states": ""}
    simulation = airshed.Simulation(BoxConditions.from_dict(given))
    simulation.run("30 min")
    assert simulation.case.output[0].fields == ("O3", "NO2")
    assert simulation["O3"].dims == ()


def test_states_example(tmp_path: Path) -> None:
    (example,) = blocks("csv")
    path = tmp_path / "states.csv"
    path.write_text(example, encoding="utf-8")
    conditions = tomllib.loads(blocks("toml")[0]) | {"time": {"start": "12 h", "length": "10 min"}}
    series = airshed.box("emep", conditions, path)
    assert series["O3"].shape == (2, 2)
    assert series["pressure"][0].values.tolist() == [1e5, 9e4]


def test_every_setting_is_there() -> None:
    sections = set(BoxConditions.model_fields) - {"title", "description", "model", "mechanism", "states"}
    assert all(f"[{section}]" in TEXT for section in sections)
    example, *_ = blocks("toml")
    keys = {*BoxTime.model_fields, *BoxEnvironment.model_fields, *BoxSolver.model_fields} - {"most_steps"}
    assert all(f"\n{key} = " in example for key in keys)

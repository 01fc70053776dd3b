"""The process of docs/how-to/adding-a-process.md, written into an empty folder and run as a user would.

With others it runs in test_users.py.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError

ROOT = Path(__file__).parents[4]
RAIN = 2.0  # mm/h
EXPECTED = 1e-4 * RAIN**0.79
CASE = """\
[grid]
area = { lon = [0.0, 2.0], lat = [50.0, 51.0] }
spacing = "0.25 deg"
layers = ["50 m", "200 m", "1000 m"]

[time]
start = 2022-06-21T06:00:00Z
length = "1 h"
step = "60 s"

[chemistry]
mechanism = "tracer.def"

[meteorology]
kind = "uniform"
eastward = "0 m/s"
precipitation = "RAIN mm/h"

[initial]
values = { A = "1 ppb", B = "1 ppb" }

[boundary]
values = { A = "1 ppb", B = "1 ppb" }

"""
MECHANISM = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n"


def blocks(language: str) -> str:
    text = (ROOT / "docs" / "how-to" / "adding-a-process.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "washout.py").write_text(blocks("python"))
    (tmp_path / "tracer.def").write_text(MECHANISM)
    (tmp_path / "case.toml").write_text(CASE.replace("RAIN", repr(RAIN)) + blocks("toml"))
    return tmp_path


def run(folder: Path, *overrides: str, **options: object) -> airshed.Simulation:
    case = airshed.Case.load(folder, list(overrides))
    simulation = airshed.Simulation(case, allow_code=True, **options)
    simulation.run()
    return simulation


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_it_does_what_its_equation_says(folder: Path, integrator: str) -> None:
    with run(folder, f"chemistry.integrator={integrator}") as simulation:
        np.testing.assert_allclose(simulation["A"].values, 1e-9 * np.exp(-3600.0 * EXPECTED), rtol=2e-4)
        np.testing.assert_allclose(simulation["B"].values, 1e-9, rtol=1e-12)
        budget = simulation.budget()
        washed = float(budget["washed"].sel(species="A"))
        assert washed > 0.0
        assert washed == pytest.approx(-float(budget["change"].sel(species="A")), rel=1e-12)
        assert abs(float(budget["residual"].sel(species="A"))) < 1e-13 * float(budget["throughput"].sel(species="A"))
        assert float(budget["washed"].sel(species="B")) == 0.0


@pytest.mark.thorough
@pytest.mark.compiles
def test_threads_and_a_restart_leave_its_bits(folder: Path, tmp_path: Path) -> None:
    with run(folder, "run.threads=1") as one, run(folder, "run.threads=2") as two:
        assert np.array_equal(one["A"].values, two["A"].values)
        expected = one["A"].values.copy()
    case = airshed.Case.load(folder, ["restart.every=20 min"])
    with airshed.Simulation(case, allow_code=True, output=tmp_path / "run") as simulation:
        simulation.run(until="40 min")
    with airshed.Simulation(case, allow_code=True, output=tmp_path / "run", resume=True) as simulation:
        assert simulation.model.steps > 0
        simulation.run()
        assert np.array_equal(simulation["A"].values, expected)
    shutil.rmtree(tmp_path / "run")


def test_it_does_not_run_unless_it_is_allowed(folder: Path) -> None:
    (folder / "washout.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(CaseError, match=r"process.0.file = 'washout.py' is code in Python.*--allow-code"):
        airshed.Simulation(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"1e-4 1/s"', '"1e-4 m"'), r"process.0, washout.py: coefficients.A"),
        (("A = ", "O3 = "), r"process.0.coefficients: 'O3' is not a species"),
        (("coefficients", "coeficients"), r"coeficients.*did you mean coefficients"),
        (("washout.py", "wash.py"), r"process.0.file = 'wash.py': there is no such file"),
    ],
)
def test_its_settings_are_checked(folder: Path, change: tuple[str, str], message: str) -> None:
    text = (folder / "case.toml").read_text()
    head, _, tail = text.partition("[[process]]")
    (folder / "case.toml").write_text(f"{head}[[process]]{tail.replace(*change)}")
    with pytest.raises(CaseError, match=message):
        airshed.Simulation(folder, allow_code=True)

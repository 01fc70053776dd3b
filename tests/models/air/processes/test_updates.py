"""Updates of processes in the air: their effect on species and on fields of the process, in whole runs."""

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError, NumericalError
from airshed.inverse import dot_product_test
from airshed.mechanism import load_mechanism
from airshed.models.air.programs.updates import UpdatesRunner
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun

EXAMPLES = Path(__file__).parents[4] / "examples" / "processes"
HALF_AN_HOUR = 1800.0


def gases(folder: Path, *files: str, k: dict[str, float] | None = None, **sections: Any) -> airshed.Case:
    """Return half an hour of ozone, nitric acid and ammonia in uniform air, with processes in files.

    k  a setting of the processes
    """
    (folder / "gases.kpp").write_text("#ATOMS\nN; O; H;\n#DEFVAR\nO3 = 3O; HNO3 = H + N + 3O; NH3 = N + 3H;\n")
    for name in files:
        if (EXAMPLES / name).is_file():
            shutil.copy(EXAMPLES / name, folder)
    amounts = {"O3": "60 ppb", "HNO3": "5 ppb", "NH3": "3 ppb"}
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -27.5], "lat": [40.0, 41.5]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m"]},
        "time": {"start": "2022-06-21T10:00:00Z", "length": "30 min", "step": "5 min"},
        "chemistry": {"mechanism": "gases.kpp"},
        "meteorology": {"kind": "uniform", "temperature": "285 K", "rotation": "60 h"},
        "initial": {"values": amounts}, "boundary": {"values": amounts}, "deposition": {"scheme": "none"},
        "process": [{"file": name} | ({"k": k} if k else {}) for name in files], "run": {"threads": 1},
    }  # fmt: skip
    chosen = base | {name: base.get(name, {}) | given for name, given in sections.items()}
    return airshed.Case.from_dict(chosen, base=folder).allowing_code()


def own(folder: Path, text: str) -> str:
    """Write a process in a file of the case; return its name."""
    lines = dedent(text).strip().replace("\n", "\n    ")
    (folder / "own.py").write_text(
        "from airshed.formula import *\nfrom airshed.process import *\n\n"
        f"class Own(Process, section='own'):\n    {lines}\n"
    )
    return "own.py"


GROWS = '@update("O3")\ndef grows(O3, time_step): return O3 + 1e-12 * time_step'
CHOICE_FILE = '@update("O3")\ndef taken(O3, time_step): return O3 - 1e-10 * time_step'
NO_NUMBER = 'seen = state("1", "Seen.")\n@update("seen")\ndef sees(seen, O3): return log(seen - 1.0 - O3)'
READS = """
    rate = number(2.0, "Factor.", settable=True)
    rain = weather("precipitation", "kg m-2 s-1")
    seen = state("1", "Value that the update reads.", start=3.0)
    made = flux("kg m-2 s-1", "Production in a step.")

    @at_instant("1")
    def shore(land_fraction): return 5.0 + 0.0 * land_fraction

    @update("seen", "made")
    def sees(seen, rate, rain, shore, air, air_density, pressure, temperature, thickness, water_vapour):
        density = pressure / (8.31446261815324 * temperature)
        return seen + rate * shore * thickness * air_density / density + 0.0 * (air + water_vapour), rain
"""


def with_own(folder: Path, text: str, **sections: Any) -> airshed.Case:
    """Return the case with a process of a text, and particles, so that its species are those of the examples."""
    return gases(folder, own(folder, text), "ammonium_nitrate.py", **sections)


def small_run(folder: Path) -> None:
    """Make a step of the examples by both kinds of integrators, for the catalogue of compiled libraries."""
    for integrator in ("imex", "strang"):
        with airshed.Simulation(both(folder, chemistry={"integrator": integrator})) as simulation:
            simulation.step()
    for text in (GROWS, CHOICE_FILE, NO_NUMBER, READS):
        with suppress(NumericalError), airshed.Simulation(with_own(folder, text)) as simulation:
            simulation.step()


def both(folder: Path, **sections: Any) -> airshed.Case:
    return gases(folder, "ozone_dose.py", "ammonium_nitrate.py", **sections)


def solid_by_hand(nitric: float, ammonia: float, temperature: float, pressure: float) -> float:
    """Return the particles of the equilibrium (nitric - x)(ammonia - x) = K by bisection."""
    product = np.exp(84.6 - 24220.0 / temperature - 6.1 * np.log(temperature / 298.0)) * 1e-18
    product *= (101325.0 / pressure) ** 2
    low, high = 0.0, min(nitric, ammonia)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (nitric - middle) * (ammonia - middle) > product else (low, middle)
    return low


def closes(simulation: airshed.Simulation) -> None:
    budget = simulation.budget()
    assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_the_examples_do_what_their_equations_say(tmp_path: Path, integrator: str) -> None:
    """Half an hour of 20 ppb over the threshold; particles and gases in equilibrium in the air of each level."""
    with airshed.Simulation(both(tmp_path, chemistry={"integrator": integrator})) as simulation:
        before = simulation.model.amounts()
        simulation.run("5 min")
        names = ("HNO3", "NH3", "NH4NO3")
        temperature, pressure = (simulation[name].values[:, 0, 0] for name in ("air_temperature", "air_pressure"))
        for level, (warm, heavy) in enumerate(zip(temperature, pressure, strict=True)):
            nitric, ammonia, solid = (float(simulation[name].values[level, 1, 2]) for name in names)
            assert solid == pytest.approx(solid_by_hand(5e-9, 3e-9, warm, heavy), rel=1e-9)
            assert solid != pytest.approx(solid_by_hand(5e-9, 3e-9, warm + 0.1, heavy), rel=1e-4), "a tenth of a degree"
            assert (nitric + solid, ammonia + solid) == pytest.approx((5e-9, 3e-9), rel=1e-9)
        simulation.run()
        np.testing.assert_allclose(simulation["aot40"].values, 20e-9 * 0.5, rtol=1e-12)
        budget = simulation.budget()
        made = budget["ammonium_nitrate"].sel(species=list(names)).values
        np.testing.assert_allclose(made[:2], -made[2], rtol=1e-12)
        assert made[2] > 0.2 * before[1]
        assert abs(float(budget["ammonium_nitrate"].sel(species="nitrogen"))) < 1e-12 * made[2]
        closes(simulation)


def test_the_documentation_shows_the_example() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "how-to" / "adding-a-process.md").read_text(encoding="utf-8")
    assert page.split("```python\n")[2].split("```")[0] == (EXAMPLES / "ozone_dose.py").read_text(encoding="utf-8")


def test_what_the_air_carries_leaves_with_the_wind_and_what_it_does_not_stays(tmp_path: Path) -> None:
    with airshed.Simulation(both(tmp_path)) as simulation:
        simulation["NH4NO3"] = "1 ppb"
        simulation["aot40"] = "1e-9 mol mol-1 h"
        simulation.run()
        budget = simulation.budget()
        assert float(budget["outflow"].sel(species="NH4NO3")) > 0.0 == float(budget["inflow"].sel(species="NH4NO3"))
        closes(simulation)
        np.testing.assert_allclose(simulation["aot40"].values, 1e-9 + 20e-9 * 0.5, rtol=1e-12)
        assert "aot40" not in budget["species"].values


def test_fields_of_processes_are_in_the_registry_and_in_output(tmp_path: Path) -> None:
    sections = {"output": [{"every": "30 min", "fields": ["aot40", "NH4NO3"], "statistic": "mean"}]}
    case = airshed.Case.from_dict(both(tmp_path).to_dict() | sections, base=tmp_path).allowing_code()
    with airshed.Simulation(case, output=tmp_path / "run") as simulation:
        fields = simulation.model.fields
        assert (fields["aot40"].unit, fields["aot40"].settable) == ("mol mol-1 h", True)
        assert fields["NH4NO3"].molar_mass == pytest.approx(0.080, rel=1e-2)
        simulation.run()
    with airshed.open_run(tmp_path / "run", "output") as results:
        assert results["aot40"].attrs["units"] == "mol mol-1 h"
        assert results["NH4NO3"].attrs["phase"] == "gas"
        np.testing.assert_allclose(results["aot40"].values[-1], 20e-9 * 0.5 / 2.0, rtol=0.2)


def test_a_change_of_an_update_is_carried_on_as_it_is(tmp_path: Path) -> None:
    """The two-step formula would make 3/2 of a change of the newest level alone."""
    outside = {"boundary": {"values": {"O3": "60 ppb", "HNO3": "0 ppb", "NH3": "0 ppb"}}}
    case = with_own(tmp_path, GROWS, meteorology={"rotation": "900 year"}, **outside)
    with airshed.Simulation(case) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["O3"].values[:, 1, 2], 60e-9 + 1e-12 * HALF_AN_HOUR, rtol=1e-9)
        assert float(simulation.budget()["own"].sel(species="O3")) > 0.0
        closes(simulation)
    with airshed.Simulation(case) as planted:
        executor = planted.model.executor
        first, last = executor.program.stages
        executor.program = replace(executor.program, stages=(first, replace(last, changes_history=False)))
        planted.run()
        assert planted["O3"].values[0, 1, 2] - 60e-9 > 1.3e-12 * HALF_AN_HOUR


def test_an_update_reads_weather_instants_numbers_and_the_air_of_its_cell(tmp_path: Path) -> None:
    with airshed.Simulation(with_own(tmp_path, READS, meteorology={"precipitation": "3.6 mm/h"})) as simulation:
        simulation.step()
        np.testing.assert_allclose(simulation["seen"].values[0], 3.0 + 2.0 * 5.0 * 50.0, rtol=1e-9)
        np.testing.assert_allclose(simulation["seen"].values[1], 3.0 + 2.0 * 5.0 * 150.0, rtol=1e-9)
        np.testing.assert_allclose(simulation["made"].values, 1e-3, rtol=1e-6)
        simulation["own_rate"] = 0.0
        before = simulation["seen"].values
        simulation.step()
        np.testing.assert_array_equal(simulation["seen"].values, before)
        with pytest.raises(CaseError, match="field made cannot be set while the model runs"):
            simulation["made"] = 1.0


def test_a_snapshot_and_a_branch_hold_the_fields_of_processes(tmp_path: Path) -> None:
    with airshed.Simulation(both(tmp_path)) as simulation:
        simulation.run("10 min")
        kept = simulation.snapshot()
        simulation.run()
        end = {name: simulation.values(name) for name in ("aot40", "NH4NO3", "HNO3")}
        simulation.restore(kept)
        np.testing.assert_allclose(simulation["aot40"].values, 20e-9 / 6.0, rtol=1e-12)
        simulation.run()
        for name, values in end.items():
            assert simulation.values(name).tobytes() == values.tobytes()


def test_a_step_that_makes_no_number_and_amounts_below_zero(tmp_path: Path) -> None:
    with airshed.Simulation(with_own(tmp_path, CHOICE_FILE)) as simulation:
        simulation.run()
        assert float(simulation.budget()["clipped"].sel(species="O3")) > 0.0 == simulation["O3"].values.min()
        closes(simulation)
    with (
        airshed.Simulation(with_own(tmp_path, NO_NUMBER)) as simulation,
        pytest.raises(NumericalError, match="process own: an update returned a value that is not finite"),
    ):
        simulation.step()


STATE = 'x = state("1", "X.")\n'
WRONG = {
    '@update("O4")\ndef f(O3): return O3': r"f\(\) returns 'O4', which is not a field of the state",
    '@update("O3")\ndef f(O4): return O4': r"f\(\) reads 'O4'.*known are HNO3, NH3, O3",
    STATE: "x is a state, but no update of the process returns it",
    'x = state("1", "X.", start=2.0, most=1.0)\n@update("x")\ndef f(x): return x': "x starts with 2.0",
    'x = state("K", "X.", transported=True)\n@update("x")\ndef f(x): return x': "transported fields are mixing",
    'nh3 = state("mol/mol", "X.", transported=True)\n@update("nh3")\ndef f(nh3): return nh3':
        "its field nh3 is also a species of the case",
    'k = per_species("1", "K.")\n@update("O3")\ndef f(O3, k): return k * O3':
        "a table by species; declare a plain number",
    'snow = weather("snow", "m", optional=True)\n@update("O3")\ndef f(O3, snow): return O3': "weather that may be",
    STATE + '@update("x")\ndef f(x, light, O3): return x\n' + 'light = number(1.0, "L.")': "declares light, which",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_an_update_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CaseError, match=WRONG[text]):
        airshed.Simulation(
            gases(tmp_path, own(tmp_path, text), **({"k": {"O3": 1.0}} if "per_species" in text else {}))
        )


def test_an_update_has_no_adjoint_and_does_not_run_in_a_box(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="updates cannot be recorded"):
        dot_product_test(both(tmp_path), steps=1)
    given = {"process": [{"file": own(tmp_path, GROWS)}], "time": {"length": "1 h"},
             "environment": {"temperature": "298 K", "pressure": "1000 hPa", "humidity": "50 %"}}  # fmt: skip
    with pytest.raises(CaseError, match=r"grows\(\) is an update, which boxes do not support"):
        BoxRun(load_mechanism("emep"), BoxConditions.from_dict(given, tmp_path), allow_code=True)
    with airshed.Simulation(both(tmp_path)) as simulation:
        assert isinstance(simulation.model.executor.runners["updates"], UpdatesRunner)
        assert str(simulation.model.program).splitlines()[-2].split()[:2] == ["2", "updates"]


def test_chemistry_ranks_run_updates(tmp_path: Path) -> None:
    groups = {"groups": {"transport": 1, "chemistry": 1}}
    case = gases(tmp_path, "ozone_dose.py", chemistry={"integrator": "strang"}, parallel=groups)
    stages = case.program(case.network(), updates=True).stages
    assert [(stage.key, stage.placement) for stage in stages if stage.kernel != "redistribute"] == [
        ("transport+column", "transport ranks"), ("updates", "chemistry ranks")
    ]  # fmt: skip

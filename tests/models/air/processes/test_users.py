"""Processes of users: a decay chain that settles, exchange with the sea, a loss that follows temperature and light."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from tests.models.air.processes.together import FILES, POINTS, WASHED, together, write_files

import airshed
from airshed.core.errors import CaseError, DataError
from airshed.mechanism import load_mechanism
from airshed.models.air import processes
from airshed.models.air.assembly import own_processes, processes_in
from airshed.models.air.processes.settling import settling_velocity
from airshed.process.discovery import processes_of
from airshed.verify.process import check_operators

HOUR = 3600.0
INTEGRATORS = ["imex", pytest.param("strang", marks=pytest.mark.thorough)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


def closes(simulation: airshed.Simulation) -> None:
    budget = simulation.budget()
    assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_each_process_does_what_its_equation_says(folder: Path, integrator: str) -> None:
    chosen = {"integrator": integrator, "relative_tolerance": 1e-6}
    stack = {"own": {"stack": True}}
    with airshed.Simulation(together(folder, files=stack, chemistry=chosen)) as simulation:
        before = simulation.model.amounts()
        assert not simulation.model.parts.land.any()
        simulation.run("10 min")
        np.testing.assert_allclose(simulation["RE"].values, 1e-9 * np.exp(-0.6), rtol=3e-3)
        simulation.run()
        # decays, the second of particles that settle
        first, second = np.log(2.0) / 1800.0, np.log(2.0) / 1200.0
        met = simulation.model.weather()
        speed = settling_velocity(np.array(5e-6), np.array(2000.0), met.temperature[-1], met.pressure[-1])
        gone = second + speed / 800.0  # of PO in the highest layer, into which nothing falls
        expected = 1e-9 * first / (gone - first) * (np.exp(-first * HOUR) - np.exp(-gone * HOUR))
        np.testing.assert_allclose(simulation["RN"].values, 1e-9 * np.exp(-first * HOUR), rtol=2e-4)
        np.testing.assert_allclose(simulation["PO"].values[-1], expected, rtol=5e-4)
        budget = simulation.budget()
        assert float(budget["settled"].sel(species="PB")) > float(budget["settled"].sel(species="PO")) > 0.0
        closes(simulation)
        # the sea: the layer of 50 m goes to the balance with v/dz; the Azores are far, so that all is water
        np.testing.assert_allclose(simulation["SA"].values[0], 1e-9 * np.exp(-0.01 / 50.0 * HOUR), rtol=2e-4)
        np.testing.assert_allclose(simulation["SB"].values[0], 3e-9 * (1.0 - np.exp(-0.002 / 50.0 * HOUR)), rtol=2e-4)
        np.testing.assert_allclose(simulation["SA"].values[1:], 1e-9, rtol=1e-12)
        sea = budget.sel(species="SB")
        gained = float(sea["given by the sea"]) - float(sea["taken by the sea"])
        assert gained == pytest.approx(float(sea["change"]), rel=1e-12)
        # an instant that acts in some layers only
        np.testing.assert_allclose(simulation["OW"].values[1:], 1e-9 * np.exp(-1e-4 * HOUR), rtol=1e-3)
        np.testing.assert_allclose(simulation["OW"].values[0], 1e-9, rtol=1e-12)
        # rain, by the example of docs/how-to/adding-a-process.md and by the package
        for name in ("WA", "WE"):
            np.testing.assert_allclose(simulation[name].values, 1e-9 * np.exp(-WASHED * HOUR), rtol=2e-4)
            washed = float(budget["washed"].sel(species=name))
            assert washed == pytest.approx(-float(budget["change"].sel(species=name)), rel=1e-12)
            assert washed > 0.0
        assert (budget["washed"].drop_sel(species=["WA", "WE"]) == 0.0).all()
        # settling: the highest layer has no inflow from above and loses v/dz; the flux to the ground leaves the air
        size, weight = np.array(30e-6), np.array(1000.0)
        speed = settling_velocity(size, weight, met.temperature[-1], met.pressure[-1])
        np.testing.assert_allclose(simulation["SE"].values[-1], 1e-9 * np.exp(-HOUR * speed / 800.0), rtol=1e-4)
        settled = float(budget["settled"].sel(species="SE"))
        assert settled == pytest.approx(-float(budget["change"].sel(species="SE")), rel=1e-12)
        assert settled > 0.0
        assert (budget["clipped"] == 0.0).all()
        # a conservative process leaves a uniform mixing ratio unchanged
        np.testing.assert_allclose(simulation["HD"].values, 1e-9, rtol=1e-13)
        # the release of a stack is in the air and in the report
        stack = budget.sel(species="ST")
        assert float(stack["emitted"]) == pytest.approx(2.0 * HOUR, rel=1e-12)
        number = simulation.model.parts.network.index("ST")
        assert (simulation.model.amounts() - before)[number] == pytest.approx(2.0 * HOUR, rel=1e-9)
        assert "point sources" in str(simulation.summary())


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_loss_follows_temperature_and_light(folder: Path, integrator: str) -> None:
    chosen = {
        "chemistry": {"integrator": integrator},
        "time": {"start": "2022-06-21T13:30:00Z", "length": "10 min", "step": "10 s"},
    }
    with airshed.Simulation(together(folder, **chosen)) as simulation:
        height = simulation.model.parts.light.cos_zenith(300.0)
        simulation.run()
        expected = 1e-9 * np.exp(-600.0 * 5e-3 * np.exp(-1000.0 / 285.0) * height)
        np.testing.assert_allclose(simulation["LT"].values, np.broadcast_to(expected, (3, 4, 8)), rtol=3e-4)
    chosen["time"]["start"] = "2022-06-21T00:30:00Z"
    with airshed.Simulation(together(folder, **chosen)) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["LT"].values, 1e-9, rtol=1e-13)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_all_of_them_together_have_the_same_bits_on_threads_and_after_a_restart(folder: Path, integrator: str) -> None:
    chosen = {"chemistry": {"integrator": integrator}, "restart": {"every": "20 min"},
              "meteorology": {"eastward": "8 m/s"}}  # fmt: skip
    case = together(folder, **chosen)
    with airshed.Simulation(case) as simulation:
        simulation.run()
        expected = simulation["PB"].values.copy()
        assert expected.max() > 0.0
        closes(simulation)
    with airshed.Simulation(together(folder, **chosen, run={"threads": 2})) as simulation:
        simulation.run()
        assert np.array_equal(simulation["PB"].values, expected)
    with airshed.Simulation(case, output=folder / "run") as simulation:
        simulation.run(until="30 min")
    with airshed.Simulation(case, output=folder / "run", resume=True) as simulation:
        assert simulation.model.steps > 0
        simulation.run()
        assert np.array_equal(simulation["PB"].values, expected)


@pytest.mark.compiles
def test_every_process_equals_its_twin_and_a_change_is_noticed(folder: Path) -> None:
    """All of the package and of users in one kernel; a field or a number of any of them that is off is noticed."""
    some = together(folder, convection={"mass_flux": True})
    place = _place(folder)
    found = processes_in(some, place, own_processes(some))
    acting = {each.section for each in processes_of(processes) if each.declaration.operators}
    assert {each.process.section for each in found} >= acting | set(FILES), "a new process is to be tried, too"
    operators = [operator for each in found if each.process.section != "own" for operator in each.operators]
    figures = check_operators("all", operators, load_mechanism(folder / "together.def"))
    assert len(figures) > 12
    assert [(each.what, each.value) for each in figures if not each.ok] == []


def _place(folder: Path) -> Any:
    """Return the description of the model that processes receive."""
    with airshed.Simulation(together(folder)) as simulation:
        return simulation.model.parts.processes[0].process.context


# ---- invalid values --------------------------------------------------------------------------------------------------

FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "a negative loss": ({"below": 1.0}, "gives -0.0001 at 0 h; a loss must not be negative"),
    "a negative source": ({"drained": 1.0}, "at 0 h; a source must not be negative"),
    "a logarithm": ({"logged": 1.0}, "gives nan"),
    "a division": ({"divided": 1.0}, "division.. gives inf"),
}


@pytest.mark.compiles
@pytest.mark.parametrize(("numbers", "message"), FAULTY.values(), ids=FAULTY)
def test_a_rate_that_cannot_be_is_refused(folder: Path, numbers: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        airshed.Simulation(together(folder, files={"own": numbers}))


PROCESS = """
import numpy as np
from airshed.process import *
class NAME(Process, section="own"):
    k = per_species("1/s", "Rates.")
    TEXT
"""
WRONG = {
    "the weather's unit": ("u = weather('friction_velocity', 'km/h')", "in km/h, which is in m s-1"),
    "no source": ("@releases\n    def put(self, weather): return [3]", "put.. must return sources"),
    "no sources": ("@releases\n    def put(self, weather): return None", "put.. must return sources"),
    "no species": ("@reactions\n    def r(self): return ['RN = X : 1e-3']", "'X' is not a species"),
}


def own(folder: Path, text: str, name: str = "Own", **settings: Any) -> airshed.Case:
    file = f"{name.lower()}.py"
    (folder / file).write_text(PROCESS.replace("TEXT", text).replace("NAME", name))
    data = together(folder).to_dict() | {"process": [{"file": file, "k": {"RN": "1e-4 1/s"}, **settings}]}
    return airshed.Case.from_dict(data, base=folder)


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_a_process_cannot_do_is_told(folder: Path, text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        airshed.Simulation(own(folder, text), allow_code=True)


def test_names_are_of_one_process_and_a_table_names_a_species(folder: Path) -> None:
    text = "@loss(term='gone')\n    def rate(k): return k"
    twice = own(folder, text).to_dict()
    twice["process"] = [*twice["process"], *twice["process"]]
    for some, message in (
        (
            airshed.Case.from_dict(twice, base=folder),
            "process.1 has the same class name as a process of process.0: own",
        ),
        (own(folder, text, "Settling"), "process.0 has the same class name as a process of the package: settling"),
        (own(folder, text, k={}), "process.0: nothing would act"),
    ):
        with pytest.raises(CaseError, match=message):
            airshed.Simulation(some, allow_code=True)


def test_an_update_of_what_the_air_does_not_have_is_refused(folder: Path) -> None:
    (folder / "drainage.py").write_text(dedent(f"    {POINTS}"))
    data = together(folder).to_dict() | {"process": [{"file": "drainage.py"}]}
    message = r"process Drainage: drains\(\) reads 'water', which is not a setting or weather of it, and not a field"
    with pytest.raises(CaseError, match=message):
        airshed.Simulation(airshed.Case.from_dict(data, base=folder), allow_code=True)


# ---- numbers that change while it runs -------------------------------------------------------------------------------


@pytest.mark.compiles
def test_a_settable_number_acts_from_the_next_step_on_and_a_restart_keeps_it(folder: Path) -> None:
    """Half an hour at strength 1, half an hour at 3: the loss is that of two hours at 1."""
    some = together(folder, restart={"every": "10 min"})
    with airshed.Simulation(some) as simulation:
        assert float(simulation["sea_surface_strength"]) == 1.0
        simulation.run(until="30 min")
        simulation["sea_surface_strength"] = 3.0
        simulation.run()
        expected = simulation["SA"].values.copy()
        np.testing.assert_allclose(expected[0], 1e-9 * np.exp(-0.01 / 50.0 * 2.0 * HOUR), rtol=1e-3)
        budget = simulation.budget()
        assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()
    with airshed.Simulation(some, output=folder / "run") as simulation:
        simulation.run(until="30 min")
        simulation["sea_surface_strength"] = 3.0
        simulation.run(until="45 min")
    with airshed.Simulation(some, output=folder / "run", resume=True) as simulation:
        assert float(simulation["sea_surface_strength"]) == 3.0
        simulation.run()
        assert np.array_equal(simulation["SA"].values, expected)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_number_is_set_within_a_step_and_at_the_time_of_a_restart(folder: Path, integrator: str) -> None:
    chosen = {"chemistry": {"integrator": integrator}, "time": {"step": "7 min"}, "restart": {"every": "28 min"}}
    some = together(folder, **chosen)
    for until, resumed in (("30 min", 28.0 * 60.0), ("28 min", 28.0 * 60.0), ("0 min", 0.0)):
        with airshed.Simulation(some) as simulation:
            simulation.run(until=until)
            simulation["sea_surface_strength"] = 3.0
            assert simulation.seconds == resumed  # within a step the clock returns to the start of the step
            simulation.run()
            expected = simulation["SA"].values.copy()
        strong = 1.0 + 2.0 * (1.0 - resumed / HOUR)
        np.testing.assert_allclose(expected[0], 1e-9 * np.exp(-0.01 / 50.0 * strong * HOUR), rtol=5e-2)
        run = folder / f"run {until}"
        with airshed.Simulation(some, output=run) as simulation:
            simulation.run(until=until)
            simulation["sea_surface_strength"] = 3.0
        with airshed.Simulation(some, output=run, resume=True) as simulation:
            assert float(simulation["sea_surface_strength"]) == 3.0
            simulation.run()
            assert np.array_equal(simulation["SA"].values, expected)


@pytest.mark.compiles
def test_a_snapshot_brings_numbers_back(folder: Path) -> None:
    with airshed.Simulation(together(folder)) as simulation:
        simulation.run(until="10 min")
        before = simulation.model.save().copied()
        simulation["sea_surface_strength"] = 3.0
        simulation.model.restore(before)
        assert float(simulation["sea_surface_strength"]) == 1.0
        simulation.run()
        np.testing.assert_allclose(simulation["SA"].values[0], 1e-9 * np.exp(-0.01 / 50.0 * HOUR), rtol=2e-4)


@pytest.mark.compiles
def test_a_number_that_stays_changes_no_bit(folder: Path) -> None:
    found = []
    for times in (0, 3):
        with airshed.Simulation(together(folder)) as simulation:
            for minutes in range(1, 1 + times):
                simulation.run(until=60.0 * minutes)
                simulation["sea_surface_strength"] = np.array(1.0)
            simulation.run()
            found.append(simulation["SA"].values.tobytes())
    assert found[0] == found[1]


@pytest.mark.compiles
def test_a_number_that_makes_steps_shorter_does(folder: Path) -> None:
    """An exchange of so much air that steps as planned before would be unstable."""
    with airshed.Simulation(together(folder, time={"step": "auto", "length": "30 min"})) as simulation:
        simulation.run(until="20 min")
        slow = simulation.model.steps
        assert simulation.model.longest_step(HOUR) > 200.0
        air = simulation.model.parts.grid.cell_volume.min() * 40.0
        simulation["own_strength"] = float(air / 100.0)
        assert simulation.model.longest_step(HOUR) < 20.0
        simulation.run()
        assert simulation.model.steps > slow + 25
        assert simulation["HD"].values.max() <= 1e-9 * (1.0 + 1e-12)


@pytest.mark.compiles
def test_what_cannot_be_set_is_refused_and_changes_nothing(folder: Path) -> None:
    with airshed.Simulation(together(folder)) as simulation:
        for name, value, message in (
            ("sea_surface_strength", -1.0, "sea_surface_strength cannot be -1.0"),
            ("sea_surface_strength", "much", "sea_surface_strength cannot be 'much'"),
            ("sea_surface_strength", float("nan"), "sea_surface_strength cannot be nan"),
            (
                "air_pressure",
                1e5,
                "field air_pressure cannot be set while the model runs; settable are: .*sea_surface_strength",
            ),
            ("sea_surface_strenght", 1.0, "did you mean"),
        ):
            with pytest.raises(CaseError, match=message):
                simulation[name] = value
        assert float(simulation["sea_surface_strength"]) == 1.0


@pytest.mark.compiles
def test_a_settable_number_of_a_species_reaches_functions_of_instants(folder: Path) -> None:
    with airshed.Simulation(together(folder)) as simulation:
        simulation.run(until="30 min")
        with pytest.raises(CaseError, match=r"cannot be '-1.0 1/s': .* must not be less than 0"):
            simulation["washout_coefficients_WA"] = -1.0
        simulation["washout_coefficients_WA"] = "0.0002 1/s"
        simulation.run()
        np.testing.assert_allclose(simulation["WA"].values, 1e-9 * np.exp(-WASHED * 1.5 * HOUR), rtol=5e-4)

"""Processes of users: a decay chain that settles, exchange with the sea, a loss that follows temperature and light."""

import re
import shutil
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.air import processes
from airshed.air.processes.settling import settling_velocity
from airshed.air.processes_of_case import processes_in
from airshed.core.errors import CaseError, DataError
from airshed.mechanism import load_mechanism
from airshed.process.discovery import processes_of
from airshed.verify.process import check_operators

USERS = Path(__file__).parent / "users"
HOUR = 3600.0
MECHANISM = "#DEFVAR\nRN = IGNORE;\nPO = IGNORE;\nPB = IGNORE;\n#EQUATIONS\n"
SETTINGS: dict[str, dict[str, Any]] = {
    "decay_chain": {"half_lives": {"RN": "30 min", "PO": "20 min"}, "diameters": {"PO": "5 um", "PB": "10 um"}},
    "sea_surface": {"velocities": {"RN": "1 cm/s", "PO": "2 mm/s"}, "balances": {"PO": "3 ppb"}},
    "sunlit_loss": {"rates": {"RN": "5e-3 1/s", "PB": "1e-3 1/s"}},
}
OF_PACKAGE: dict[str, dict[str, Any]] = {
    "settling": {"diameters": {"PB": "10 um"}},
    "wet_deposition": {"coefficients": {"RN": "1e-4 1/s", "PB": "1e-5 1/s"}},
    "horizontal_diffusion": {"diffusivity": "smagorinsky"},
    "convection": {"mass_flux": True},
    "deposition": {"velocities": {"PO": "1 cm/s"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chain.def").write_text(MECHANISM)
    for file in USERS.glob("*.py"):
        shutil.copy(file, tmp_path)
    return tmp_path


def case(folder: Path, *users: str, **sections: Any) -> airshed.Case:
    base: dict[str, Any] = {
        "grid": {"area": {"lon": [-30.0, -26.0], "lat": [40.0, 42.0]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T12:00:00Z", "length": "1 h", "step": "1 min"},
        "chemistry": {"mechanism": "chain.def"}, "deposition": {"scheme": "none"},
        "meteorology": {"kind": "uniform", "temperature": "285 K", "pressure": "1010 hPa"},
        "initial": {"values": {"RN": "1 ppb"}}, "boundary": {"values": {"RN": "1 ppb"}}, "run": {"threads": 1},
        "process": [{"file": f"{name}.py", **SETTINGS[name]} for name in users],
    }  # fmt: skip
    both = {key: {**base.get(key, {}), **sections.get(key, {})} for key in [*base, *sections] if key != "process"}
    return airshed.Case.from_dict(both | {"process": base["process"]}, base=folder)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", pytest.param("strang", marks=pytest.mark.thorough)])
def test_a_chain_decays_as_bateman_says_and_settles(folder: Path, integrator: str) -> None:
    chosen = {"integrator": integrator, "relative_tolerance": 1e-6}
    with airshed.Simulation(case(folder, "decay_chain", chemistry=chosen), allow_code=True) as simulation:
        simulation.run()
        first, second = np.log(2.0) / 1800.0, np.log(2.0) / 1200.0
        met = simulation.model.weather()
        speed = settling_velocity(np.array(5e-6), np.array(2000.0), met.temperature[-1], met.pressure[-1])
        gone = second + speed / 800.0  # of PO in the highest layer, into which nothing falls
        expected = 1e-9 * first / (gone - first) * (np.exp(-first * HOUR) - np.exp(-gone * HOUR))
        np.testing.assert_allclose(simulation["RN"].values, 1e-9 * np.exp(-first * HOUR), rtol=2e-4)
        np.testing.assert_allclose(simulation["PO"].values[-1], expected, rtol=5e-4)
        budget = simulation.budget()
        assert float(budget["settled"].sel(species="PB")) > float(budget["settled"].sel(species="PO")) > 0.0
        assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()


@pytest.mark.compiles
def test_the_sea_takes_and_gives_until_they_are_in_balance(folder: Path) -> None:
    """The layer of 50 m goes to the balance with v/dz; the Azores are far, so that all is water."""
    with airshed.Simulation(case(folder, "sea_surface"), allow_code=True) as simulation:
        simulation.run()
        assert not simulation.model.parts.land.any()
        np.testing.assert_allclose(simulation["RN"].values[0], 1e-9 * np.exp(-0.01 / 50.0 * HOUR), rtol=2e-4)
        np.testing.assert_allclose(simulation["PO"].values[0], 3e-9 * (1.0 - np.exp(-0.002 / 50.0 * HOUR)), rtol=2e-4)
        np.testing.assert_allclose(simulation["RN"].values[1:], 1e-9, rtol=1e-12)
        budget = simulation.budget().sel(species="PO")
        gained = float(budget["given by the sea"]) - float(budget["taken by the sea"])
        assert gained == pytest.approx(float(budget["change"]), rel=1e-12)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", pytest.param("strang", marks=pytest.mark.thorough)])
def test_a_loss_follows_temperature_and_light(folder: Path, integrator: str) -> None:
    chosen = {
        "chemistry": {"integrator": integrator},
        "time": {"start": "2022-06-21T13:30:00Z", "length": "10 min", "step": "10 s"},
    }
    with airshed.Simulation(case(folder, "sunlit_loss", **chosen), allow_code=True) as simulation:
        height = simulation.model.parts.light.cos_zenith(300.0)
        simulation.run()
        expected = 1e-9 * np.exp(-600.0 * 5e-3 * np.exp(-1000.0 / 285.0) * height)
        np.testing.assert_allclose(simulation["RN"].values, np.broadcast_to(expected, (3, 4, 8)), rtol=3e-4)
    night = {
        "chemistry": {"integrator": integrator},
        "time": {"start": "2022-06-21T00:30:00Z", "length": "10 min", "step": "10 s"},
    }
    with airshed.Simulation(case(folder, "sunlit_loss", **night), allow_code=True) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["RN"].values, 1e-9, rtol=1e-13)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", pytest.param("strang", marks=pytest.mark.thorough)])
def test_all_of_them_together_have_the_same_bits_on_threads_and_after_a_restart(folder: Path, integrator: str) -> None:
    chosen = {"chemistry": {"integrator": integrator}, "restart": {"every": "20 min"}, **OF_PACKAGE,
              "convection": {}, "meteorology": {"precipitation": "1 mm/h", "eastward": "8 m/s"}}  # fmt: skip
    together = case(folder, *SETTINGS, **chosen)
    with airshed.Simulation(together, allow_code=True) as simulation:
        simulation.run()
        expected = simulation["PB"].values.copy()
        assert expected.max() > 0.0
        budget = simulation.budget()
        assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()
    with airshed.Simulation(case(folder, *SETTINGS, **chosen, run={"threads": 2}), allow_code=True) as simulation:
        simulation.run()
        assert np.array_equal(simulation["PB"].values, expected)
    with airshed.Simulation(together, allow_code=True, output=folder / "run") as simulation:
        simulation.run(until="30 min")
    with airshed.Simulation(together, allow_code=True, output=folder / "run", resume=True) as simulation:
        assert simulation.model.steps > 0
        simulation.run()
        assert np.array_equal(simulation["PB"].values, expected)


ACTING = {each.section for each in processes_of(processes) if each.declaration.acts}
NAMES = [*SETTINGS, *sorted(ACTING)]


@pytest.mark.compiles
@pytest.mark.parametrize("name", NAMES)
def test_every_process_equals_its_twin_and_a_change_is_noticed(folder: Path, name: str) -> None:
    assert set(NAMES) == {*SETTINGS, *OF_PACKAGE, "transport"}, "a new process is to be tried, too"
    chosen = {name: OF_PACKAGE[name]} if name in OF_PACKAGE else {}
    some = case(folder, *([name] if name in SETTINGS else []), **chosen).allowing_code()
    with airshed.Simulation(case(folder), allow_code=True) as simulation:
        place = simulation.model.parts.processes[0].process.place
    found = [each for each in processes_in(some, place) if name == "transport" or each.process.section == name]
    figures = [
        figure for each in found
        for figure in check_operators(each.key, each.operators, load_mechanism(folder / "chain.def"))
    ]  # fmt: skip
    assert len(figures) > 2
    assert [(each.what, each.value) for each in figures if not each.ok] == []


# ---- what is refused -------------------------------------------------------------------------------------------------

PROCESS = """
import numpy as np
from airshed.formula import log
from airshed.process import *
class NAME(Process, section="own"):
    k = per_species("1/s", "Rates.")
    TEXT
"""
WRONG = {
    "a negative loss": ("@loss(term='gone')\n    def rate(k): return -k", DataError, "gives -0.0001 at 0 s; a loss is"),
    "a negative source": ("@source(term='made')\n    def rate(k): return -k", DataError, "at 0 s; a source is"),
    "a logarithm": ("@loss(term='gone')\n    def rate(k, pressure): return k * log(-pressure)", DataError, "gives nan"),
    "a division": ("@loss(term='gone')\n    def rate(k, air): return k / (air - air)", DataError, "rate.. gives inf"),
    "the weather's unit": ("u = weather('friction_velocity', 'km/h')", CaseError, "in km/h, which is in m s-1"),
    "no source": ("@releases\n    def put(self, weather): return [3]", CaseError, "put.. is to return sources"),
    "no sources": ("@releases\n    def put(self, weather): return None", CaseError, "put.. is to return sources"),
    "no species": ("@reactions\n    def r(self): return ['RN = X : 1e-3']", CaseError, "'X' is no species"),
}  # fmt: skip


def own(folder: Path, text: str, name: str = "Own", **settings: Any) -> airshed.Case:
    file = f"{name.lower()}.py"
    (folder / file).write_text(PROCESS.replace("TEXT", text).replace("NAME", name))
    data = case(folder).to_dict() | {"process": [{"file": file, "k": {"RN": "1e-4 1/s"}, **settings}]}
    return airshed.Case.from_dict(data, base=folder)


@pytest.mark.compiles
@pytest.mark.parametrize(("text", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_a_process_cannot_do_is_told(folder: Path, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        airshed.Simulation(own(folder, text), allow_code=True)


@pytest.mark.compiles
def test_reactions_of_a_method_are_text_too_and_prod_is_nothing(folder: Path) -> None:
    some = own(folder, "@reactions\n    def r(self): return ['RN = PROD : 1e-3']")
    with airshed.Simulation(some, allow_code=True) as simulation:
        simulation.run(until="10 min")
        np.testing.assert_allclose(simulation["RN"].values, 1e-9 * np.exp(-0.6), rtol=3e-3)


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


PAGE = (Path(__file__).parents[3] / "docs" / "declaring.md").read_text(encoding="utf-8")
LAYERS, STACK, POINTS = (indent(text, "    ").strip() for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


def test_a_process_of_a_model_of_points_is_refused_in_the_air(folder: Path) -> None:
    (folder / "drainage.py").write_text(dedent(f"    {POINTS}"))
    data = case(folder).to_dict() | {"process": [{"file": "drainage.py"}]}
    message = r"process.0, drainage.py: drains\(\) is an update, which models of points have; in the air a process"
    with pytest.raises(CaseError, match=message):
        airshed.Simulation(airshed.Case.from_dict(data, base=folder), allow_code=True)


@pytest.mark.compiles
def test_what_a_process_releases_is_in_the_air_and_in_the_report(folder: Path) -> None:
    with airshed.Simulation(own(folder, STACK), allow_code=True) as simulation:
        before = simulation.model.amounts()
        simulation.run()
        budget = simulation.budget().sel(species="RN")
        assert float(budget["emitted"]) == pytest.approx(2.0 * HOUR, rel=1e-12)
        assert (simulation.model.amounts() - before)[0] == pytest.approx(2.0 * HOUR, rel=1e-9)
        assert "point sources" in str(simulation.summary())


@pytest.mark.compiles
def test_an_instant_acts_in_some_layers_only(folder: Path) -> None:
    text = f"""rate = number(1e-4, "Rate [1/s].", ge=0.0)
    {LAYERS.replace("2000.0", "100.0")}
    @loss(term="pulled")
    def pulled(pull, k): return pull + 0.0 * k"""
    with airshed.Simulation(own(folder, text), allow_code=True) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["RN"].values[1:], 1e-9 * np.exp(-1e-4 * HOUR), rtol=1e-3)
        np.testing.assert_allclose(simulation["RN"].values[0], 1e-9, rtol=1e-12)


# ---- numbers that change while it runs -------------------------------------------------------------------------------


@pytest.mark.compiles
def test_a_settable_number_acts_from_the_next_step_on_and_a_restart_keeps_it(folder: Path) -> None:
    """Half an hour at strength 1, half an hour at 3: the loss is that of two hours at 1."""
    some = case(folder, "sea_surface", restart={"every": "10 min"})
    with airshed.Simulation(some, allow_code=True) as simulation:
        assert float(simulation["sea_surface_strength"]) == 1.0
        simulation.run(until="30 min")
        simulation["sea_surface_strength"] = 3.0
        simulation.run()
        expected = simulation["RN"].values.copy()
        np.testing.assert_allclose(expected[0], 1e-9 * np.exp(-0.01 / 50.0 * 2.0 * HOUR), rtol=1e-3)
        budget = simulation.budget()
        assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()
    with airshed.Simulation(some, allow_code=True, output=folder / "run") as simulation:
        simulation.run(until="30 min")
        simulation["sea_surface_strength"] = 3.0
        simulation.run(until="45 min")
    with airshed.Simulation(some, allow_code=True, output=folder / "run", resume=True) as simulation:
        assert float(simulation["sea_surface_strength"]) == 3.0
        simulation.run()
        assert np.array_equal(simulation["RN"].values, expected)


@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", pytest.param("strang", marks=pytest.mark.thorough)])
def test_a_number_is_set_within_a_step_and_at_the_time_of_a_restart(folder: Path, integrator: str) -> None:
    chosen = {"chemistry": {"integrator": integrator}, "time": {"step": "7 min"}, "restart": {"every": "28 min"}}
    some = case(folder, "sea_surface", **chosen)
    for until, resumed in (("30 min", 28.0 * 60.0), ("28 min", 28.0 * 60.0), ("0 min", 0.0)):
        with airshed.Simulation(some, allow_code=True) as simulation:
            simulation.run(until=until)
            simulation["sea_surface_strength"] = 3.0
            assert simulation.seconds == resumed  # amid a step time goes back to its begin
            simulation.run()
            expected = simulation["RN"].values.copy()
        strong = 1.0 + 2.0 * (1.0 - resumed / HOUR)
        np.testing.assert_allclose(expected[0], 1e-9 * np.exp(-0.01 / 50.0 * strong * HOUR), rtol=5e-2)
        run = folder / f"run {until}"
        with airshed.Simulation(some, allow_code=True, output=run) as simulation:
            simulation.run(until=until)
            simulation["sea_surface_strength"] = 3.0
        with airshed.Simulation(some, allow_code=True, output=run, resume=True) as simulation:
            assert float(simulation["sea_surface_strength"]) == 3.0
            simulation.run()
            assert np.array_equal(simulation["RN"].values, expected)


@pytest.mark.compiles
def test_a_snapshot_brings_numbers_back(folder: Path) -> None:
    with airshed.Simulation(case(folder, "sea_surface"), allow_code=True) as simulation:
        simulation.run(until="10 min")
        before = simulation.model.save().copied()
        simulation["sea_surface_strength"] = 3.0
        simulation.model.restore(before)
        assert float(simulation["sea_surface_strength"]) == 1.0
        simulation.run()
        np.testing.assert_allclose(simulation["RN"].values[0], 1e-9 * np.exp(-0.01 / 50.0 * HOUR), rtol=2e-4)


@pytest.mark.compiles
def test_a_number_that_stays_changes_no_bit(folder: Path) -> None:
    found = []
    for times in (0, 3):
        with airshed.Simulation(case(folder, "sea_surface"), allow_code=True) as simulation:
            for minutes in range(1, 1 + times):
                simulation.run(until=60.0 * minutes)
                simulation["sea_surface_strength"] = np.array(1.0)
            simulation.run()
            found.append(simulation["RN"].values.tobytes())
    assert found[0] == found[1]


STIR = """strength = number(1.0, "Air that is exchanged [mol/s].", settable=True, ge=0.0)
    @face_exchange
    def stirred(strength): return strength, strength"""


@pytest.mark.compiles
def test_a_number_that_makes_steps_shorter_does(folder: Path) -> None:
    """An exchange of so much air that steps as planned before would be unstable."""
    some = own(folder, STIR).to_dict()
    some["time"] |= {"step": "auto"}
    with airshed.Simulation(airshed.Case.from_dict(some, base=folder), allow_code=True) as simulation:
        simulation.run(until="20 min")
        slow = simulation.model.steps
        assert simulation.model.longest_step(HOUR) > 200.0
        air = simulation.model.parts.grid.cell_volume.min() * 40.0
        simulation["own_strength"] = float(air / 100.0)
        assert simulation.model.longest_step(HOUR) < 20.0
        simulation.run()
        assert simulation.model.steps > slow + 100
        assert simulation["RN"].values.max() <= 1e-9 * (1.0 + 1e-12)


@pytest.mark.compiles
def test_what_cannot_be_set_is_refused_and_changes_nothing(folder: Path) -> None:
    with airshed.Simulation(case(folder, "sea_surface"), allow_code=True) as simulation:
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
def test_a_settable_number_of_a_species_reaches_functions_of_instants(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "adding-a-process.md").read_text(encoding="utf-8")
    (tmp_path / "washout.py").write_text(text.split("```python\n")[1].split("```")[0])
    (tmp_path / "chain.def").write_text(MECHANISM)
    some = case(tmp_path, meteorology={"precipitation": "1 mm/h"}).to_dict()
    some["process"] = [{"file": "washout.py", "coefficients": {"RN": "1e-4 1/s"}}]
    with airshed.Simulation(airshed.Case.from_dict(some, base=tmp_path), allow_code=True) as simulation:
        simulation.run(until="30 min")
        with pytest.raises(CaseError, match=r"cannot be '-1.0 1/s': .* must not be less than 0"):
            simulation["washout_coefficients_RN"] = -1.0
        simulation["washout_coefficients_RN"] = "0.0002 1/s"
        simulation.run()
        np.testing.assert_allclose(simulation["RN"].values, 1e-9 * np.exp(-1e-4 * 1.5 * HOUR), rtol=5e-4)

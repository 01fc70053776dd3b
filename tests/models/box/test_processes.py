"""Processes in boxes, of the package and in files, compared with analytic solutions for both kinds of solvers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import CLOSED, write_toy
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import AirshedError
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.air.light import cos_zenith
from airshed.models.air.processes.settling import settling_velocity
from airshed.models.box import BoxConditions, states_from_dataset
from airshed.models.box.conditions import PROCESSES
from airshed.models.box.run import BoxRun

Run = Callable[..., BoxRun]

USERS = Path(__file__).parents[1] / "air" / "processes" / "users"
HOUR = 3600.0
MECHANISM = "#DEFVAR\nRN = H;\nPO = H;\nPB = H;\n#EQUATIONS\n"
BASE: dict[str, Any] = {
    "time": {"length": "2 h"},
    "environment": {"temperature": "285 K", "pressure": "1010 hPa", "height": "800 m"},
    "initial": {"RN": "1 ppb", "PB": "1 ppb"},
}
SOLVERS: dict[str, tuple[dict[str, Any], float]] = {
    "rodas4": ({}, 2e-6),
    "gauss-seidel": ({"method": "gauss-seidel", "step": "20 s"}, 5e-5),
}
"""Settings of solvers, and their errors relative to the analytic solutions."""

LINEAR_RAIN = "(1 + t/7200)**(1/0.79)/3600"
"""Rain [kg m-2 s-1] whose 0.79th power increases linearly with time, from 1 mm/h at t = 0."""

both = pytest.mark.parametrize(
    "solver", ["rodas4", pytest.param("gauss-seidel", marks=[pytest.mark.thorough, pytest.mark.compiles])]
)
"""Gauss-Seidel needs a library for each set of processes: `test_all_together_by_gauss_seidel` has one with all."""


@pytest.fixture
def chain(tmp_path: Path) -> ReactionNetwork:
    (tmp_path / "chain.def").write_text(MECHANISM, encoding="utf-8")
    return load_mechanism(tmp_path / "chain.def")


@pytest.fixture
def make(toy: ReactionNetwork, tmp_path: Path) -> Run:
    """Return a function that returns a box with additional sections of its conditions."""

    base = {**BASE, "rates": CLOSED, "fixed": {"X": "0 molecules/cm3"}}

    def boxes(*, states: xr.Dataset | None = None, allow_code: bool = True, **sections: Any) -> BoxRun:
        together = {
            key: {**base.get(key, {}), **each} if isinstance(each, dict) else each for key, each in sections.items()
        }
        conditions = BoxConditions.from_dict({**base, **together}, tmp_path)
        cells = None if states is None else states_from_dataset(states, toy)
        return BoxRun(toy, conditions, states=cells, allow_code=allow_code)

    return boxes


@pytest.fixture
def declare(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that writes a process of a user and returns its entry in the conditions."""

    def entry(body: str, **settings: Any) -> dict[str, Any]:
        head = "import numpy as np\nfrom airshed.process import *\n\nclass Own(Process, section='own'):\n"
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "own.py").write_text(f"{head}{lines}", encoding="utf-8")
        return {"file": "own.py", **settings}

    return entry


def of_users(name: str, **settings: Any) -> dict[str, Any]:
    return {"file": str(USERS / f"{name}.py"), **settings}


def shares(series: xr.Dataset, name: str) -> np.ndarray:
    """Return the mixing ratio of a species over time [1e-9]."""
    return np.asarray(1e9 * series[name].values / series["M"].values)


LOSS = """
rates = per_species("1/s", "Rates.")

@loss(term="lost")
def lost(rates):
    return rates
"""


@both
def test_a_loss_is_an_exponential(make: Run, declare: Any, solver: str) -> None:
    """It is added to the loss rate of the conditions; other species are unchanged."""
    settings, near = SOLVERS[solver]
    entry = declare(LOSS, rates={"RN": "2e-4 1/s", "PO": "1e-4 1/s"})
    run = make(process=[entry], deposition={"RN": "1e-4 1/s"}, emission={"PO": "1e5 molecules/cm3/s"}, solver=settings)
    series = run.run()
    times = series["time"].values
    np.testing.assert_allclose(shares(series, "RN"), np.exp(-3e-4 * times), rtol=near)
    np.testing.assert_allclose(series["PO"].values, 1e9 * (1.0 - np.exp(-1e-4 * times)), rtol=near)
    np.testing.assert_allclose(shares(series, "PB"), 1.0, rtol=1e-14)


@both
def test_rain_that_follows_a_formula_washes_out(make: Run, solver: str) -> None:
    """Lambda = c (1 + t/7200 s), whose integral is c (t + t^2/14400 s)."""
    settings, near = SOLVERS[solver]
    series = make(
        wet_deposition={"coefficients": {"RN": "1e-4 1/s"}}, weather={"precipitation": LINEAR_RAIN}, solver=settings
    ).run()
    times = series["time"].values
    np.testing.assert_allclose(shares(series, "RN"), np.exp(-1e-4 * (times + times**2 / 14400.0)), rtol=near)


def test_rain_of_a_column_of_a_file(make: Run, tmp_path: Path) -> None:
    """The unit is in the column heading; 1 kg/m2/h is 1 mm/h, and half of the box is above the cloud base."""
    (tmp_path / "rain.csv").write_text("time [h],P [kg/m2/h]\n0,1\n3,1\n", encoding="utf-8")
    series = make(
        wet_deposition={"coefficients": {"RN": "1e-4 1/s"}, "precipitation_top": "400 m"},
        weather={"precipitation": {"csv": "rain.csv", "column": "P"}},
    ).run()
    expected = np.exp(-1e-4 * 0.5**0.79 * series["time"].values)
    np.testing.assert_allclose(shares(series, "RN"), expected, rtol=2e-6)


@pytest.mark.thorough
@pytest.mark.compiles
@both
def test_a_chain_decays_as_bateman_says_and_settles(make: Run, solver: str) -> None:
    settings, near = SOLVERS[solver]
    half_lives, diameters = {"RN": "30 min", "PO": "20 min"}, {"PO": "5 um", "PB": "10 um"}
    run = make(
        process=[of_users("decay_chain", half_lives=half_lives, diameters=diameters)], initial={"PB": "0 ppb"},
        solver=settings,
    )  # fmt: skip
    assert [reaction.label for reaction in run.model.network.reactions][3:] == [
        "decay_chain_decays_1",
        "decay_chain_decays_2",
    ]
    series = run.run()
    air = np.array(2000.0), np.array(285.0), np.array(101000.0)
    falls = [float(settling_velocity(np.array(diameter), *air)) / 800.0 for diameter in (5e-6, 10e-6)]
    first, second = np.log(2.0) / 1800.0, np.log(2.0) / 1200.0
    gone, left = second + falls[0], falls[1]
    times = series["time"].values
    np.testing.assert_allclose(shares(series, "RN"), np.exp(-first * times), rtol=near)
    middle = first / (gone - first) * (np.exp(-first * times) - np.exp(-gone * times))
    np.testing.assert_allclose(shares(series, "PO"), middle, rtol=3.0 * near)
    last = first * second * sum(
        np.exp(-a * times) / ((b - a) * (c - a))
        for a, b, c in ((first, gone, left), (gone, first, left), (left, first, gone))
    )  # fmt: skip
    np.testing.assert_allclose(shares(series, "PB"), last, rtol=3.0 * near, atol=1e-14)


@both
def test_the_sea_takes_and_gives_over_the_height(make: Run, solver: str) -> None:
    """The rate is v (1 - land)/height, towards the equilibrium."""
    settings, near = SOLVERS[solver]
    sea = of_users("sea_surface", velocities={"RN": "1 cm/s", "PO": "2 mm/s"}, balances={"PO": "3 ppb"})
    series = make(
        process=[sea], environment={"land_fraction": 0.25, "height": "50 m"}, solver=settings,
        weather={"friction_velocity": "0.3 + 0.1*sin(t/3600) m/s"},
    ).run()  # fmt: skip
    times = series["time"].values
    np.testing.assert_allclose(shares(series, "RN"), np.exp(-0.0075 / 50.0 * times), rtol=near)
    np.testing.assert_allclose(
        shares(series, "PO"), 3.0 * (1.0 - np.exp(-0.0015 / 50.0 * times)), rtol=near, atol=1e-14
    )


@both
def test_a_loss_follows_light_and_the_temperature_of_each_cell(make: Run, solver: str) -> None:
    """SUN = sin(2 pi t/day) in the morning; a single box has the same bits as one of several."""
    settings, near = SOLVERS[solver]
    temperatures = np.linspace(250.0, 310.0, 11)
    states = xr.Dataset(
        {"RN": ("cell", np.full(11, 1.0), {"units": "ppb"}), "temperature": ("cell", temperatures, {"units": "K"})}
    )
    sections = {
        "process": [of_users("sunlit_loss", rates={"RN": "5e-3 1/s"})], "rates": {"SUN": "sin(2*pi*t/86400)"},
        "solver": settings,
    }  # fmt: skip
    series = make(states=states, **sections).run()
    day = 2.0 * np.pi / 86400.0
    light = (1.0 - np.cos(day * series["time"].values)) / day
    expected = np.exp(-5e-3 * np.exp(-1000.0 / temperatures) * light[:, None])
    np.testing.assert_allclose(shares(series, "RN"), expected, rtol=near)
    alone = make(states=states.isel(cell=[7]), **sections).run()
    assert np.array_equal(alone["RN"].values[:, 0], series["RN"].values[:, 7])


METHOD = """
rates = per_species("1/s", "Rates.")

@at_instant("1/s", "cells", by_species=True)
def rate(self, met, seconds):
    rates = np.array([each.value for each in self.rates.values()])[:, None, None, None]
    sun = np.maximum(self.context.sun_height(seconds), 0.0)[None, None]
    return rates * (met.temperature / 285.0) * met.cloud_cover * sun * (1.0 if seconds < 43200.0 else 0.0)

@loss(term="lost")
def lost(rate):
    return rate
"""


def test_a_method_is_given_one_time_after_the_other(make: Run, declare: Any) -> None:
    """It may read the position of the sun, the time, and fields that it does not declare."""
    given = {
        "process": [declare(METHOD, rates={"RN": "1e-3 1/s"})], "time": {"start": "10.5 h"},
        "environment": {"location": {"lat": 50, "lon": 15, "date": "2022-06-21"}},
    }  # fmt: skip
    series = make(**given, weather={"cloud_cover": 0.5}).run()
    when = np.datetime64("2022-06-21T09:30") + np.arange(0, 90 * 60 + 1).astype("timedelta64[s]")
    expected = np.exp(-0.5e-3 * np.trapezoid(cos_zenith(when[::30], 15.0, 50.0), dx=30.0))
    assert shares(series, "RN")[-1] == pytest.approx(expected, rel=1e-5)
    with pytest.raises(AirshedError, match=r"own needs cloud_cover, which the conditions do not give; write cloud_cov"):
        make(**given).run()


@both
def test_methods_and_many_boxes(make: Run, declare: Any, solver: str) -> None:
    """The rate depends on the temperature of each box; a single box has the same bits as one of several."""
    settings, near = SOLVERS[solver]
    temperatures = np.linspace(250.0, 310.0, 5)
    states = xr.Dataset(
        {"RN": ("cell", np.full(5, 1.0), {"units": "ppb"}), "temperature": ("cell", temperatures, {"units": "K"})}
    )
    sections = {
        "process": [declare(METHOD, rates={"RN": "2e-4 1/s"})], "rates": {"SUN": 0.5}, "weather": {"cloud_cover": 1},
        "solver": settings,
    }  # fmt: skip
    series = make(states=states, **sections).run()
    expected = np.exp(-1e-4 * temperatures / 285.0 * series["time"].values[:, None])
    np.testing.assert_allclose(shares(series, "RN"), expected, rtol=near)
    alone = make(states=states.isel(cell=[3]), **sections).run()
    assert np.array_equal(alone["RN"].values[:, 0], series["RN"].values[:, 3])


SOURCE = """
shares = per_species("1", "Parts of the water.")
other = weather("other_gas", "mol/mol")
strength = quantity("1e-7 1/s", "1/s", "Of the source.")
wind = weather("eastward_wind", "m/s", shape="surface")

@at_instant("1")
def by_the_wind(wind, other, seconds, layer_thickness, cell_area):
    return np.abs(wind) * other / 2e-8 * seconds / 3600.0 * layer_thickness / 800.0 * cell_area

@source(term="made")
def made(strength, shares, water_vapour, by_the_wind):
    return strength * shares * water_vapour * by_the_wind
"""


@both
def test_a_source_is_a_mixing_ratio_and_weather_may_be_below_zero(make: Run, declare: Any, solver: str) -> None:
    """dq/dt = 2e-7 s-1 q_H2O |u| t/3600 s with 1 % of water in air, also if the air warms and expands."""
    settings, near = SOLVERS[solver]
    series = make(
        process=[declare(SOURCE, shares={"PO": 2.0})], fixed={"H2O": "0.01*M"},
        weather={"eastward_wind": "-3 m/s", "other_gas": "20 ppb"},
        environment={"temperature": "285 + t/1000"}, solver=settings,
    ).run()  # fmt: skip
    expected = 1e9 * 2e-7 * 0.01 * 3.0 * series["time"].values ** 2 / 7200.0
    np.testing.assert_allclose(shares(series, "PO"), expected, rtol=near)


OWN = """
rates = per_species("1/s", "Rates of a loss in sunlight.", missing=0.0)
losses = per_species("1/s", "Rates of a loss.", missing=0.0)
shares = per_species("1", "Parts of the water.", missing=0.0)
other = weather("other_gas", "mol/mol")
strength = quantity("1e-7 1/s", "1/s", "Of the source.")
wind = weather("eastward_wind", "m/s", shape="surface")

@at_instant("1/s", "cells", by_species=True)
def rate(self, met, seconds):
    rates = np.array([self.rates[name].value if name in self.rates else 0.0 for name in self.species])
    sun = np.maximum(self.context.sun_height(seconds), 0.0)[None, None]
    return rates[:, None, None, None] * (met.temperature / 285.0) * met.cloud_cover * sun

@at_instant("1")
def by_the_wind(wind, other, seconds, layer_thickness, cell_area):
    return np.abs(wind) * other / 2e-8 * seconds / 3600.0 * layer_thickness / 800.0 * cell_area

@loss(term="lost")
def lost_in_light(rate):
    return rate

@loss(term="lost")
def lost(losses):
    return losses

@source(term="made")
def made(strength, shares, water_vapour, by_the_wind):
    return strength * shares * water_vapour * by_the_wind
"""


@pytest.mark.compiles
def test_all_together_by_gauss_seidel(make: Run, declare: Any) -> None:
    """Repeat the tests of single processes for all processes together, on other species."""
    settings, near = SOLVERS["gauss-seidel"]
    own = declare(OWN, rates={"TRACER": "2e-4 1/s"}, losses={"TRACER": "1e-4 1/s"}, shares={"TRACER2": 2.0})
    half_lives, diameters = {"RN": "30 min", "PO": "20 min"}, {"PO": "5 um", "PB": "10 um"}
    processes = [
        own,
        of_users("decay_chain", half_lives=half_lives, diameters=diameters),
        of_users("sea_surface", velocities={"A": "1 cm/s", "B": "2 mm/s"}, balances={"B": "3 ppb"}),
        of_users("sunlit_loss", rates={"TRACER": "2e-3 1/s"}),
    ]
    run = make(
        process=processes, solver=settings, initial={"A": "1 ppb", "TRACER": "1 ppb", "PB": "0 ppb"},
        wet_deposition={"coefficients": {"TRACER": "1e-4 1/s"}}, deposition={"TRACER": "1e-4 1/s"},
        fixed={"H2O": "0.01*M"}, rates={"SUN": 0.5}, environment={"land_fraction": 0.25},
        weather={
            "precipitation": LINEAR_RAIN, "cloud_cover": 1, "eastward_wind": "-3 m/s", "other_gas": "20 ppb",
            "friction_velocity": "0.3 + 0.1*sin(t/3600) m/s",
        },
    )  # fmt: skip
    assert [reaction.label for reaction in run.model.network.reactions][3:] == [
        "decay_chain_decays_1",
        "decay_chain_decays_2",
    ]
    series = run.run()
    t = series["time"].values
    air = np.array(2000.0), np.array(285.0), np.array(101000.0)
    falls = [float(settling_velocity(np.array(diameter), *air)) / 800.0 for diameter in (5e-6, 10e-6)]
    first, second = np.log(2.0) / 1800.0, np.log(2.0) / 1200.0
    gone, left = second + falls[0], falls[1]
    lost = t * (1e-4 + 1e-4 + 1e-4 + 1e-3 * np.exp(-1000.0 / 285.0)) + 1e-4 * (t + t**2 / 14400.0)
    expected = {
        "TRACER": np.exp(-lost),
        "TRACER2": 1e9 * 2e-7 * 0.01 * 3.0 * t**2 / 7200.0,
        "A": np.exp(-0.0075 / 800.0 * t),
        "B": 3.0 * (1.0 - np.exp(-0.0015 / 800.0 * t)),
        "RN": np.exp(-first * t),
        "PO": first / (gone - first) * (np.exp(-first * t) - np.exp(-gone * t)),
        "PB": first * second * sum(
            np.exp(-a * t) / ((b - a) * (c - a))
            for a, b, c in ((first, gone, left), (gone, first, left), (left, first, gone))
        ),
    }  # fmt: skip
    for name, values in expected.items():
        factor = 3.0 if name in ("PO", "PB") else 1.0
        np.testing.assert_allclose(shares(series, name), values, rtol=factor * near, atol=1e-14, err_msg=name)


def test_nothing_changes_a_bit_where_no_process_acts(make: Run) -> None:
    plain, asked = make().run(), make(particles={}, weather={"precipitation": "1 kg/m2/h"})
    with_note = asked.run()
    assert all(np.array_equal(plain[name], with_note[name]) for name in plain.data_vars)
    assert with_note.attrs["comment"].endswith(
        "particles has no effect: its settings disable it, or name no species of boxes"
    )
    assert "comment" not in plain.attrs


def test_what_acts_between_cells_is_passed_over(make: Run) -> None:
    run = make(convection={"mass_flux": True}, horizontal_diffusion={"diffusivity": "10 m2/s"})
    assert run.model.notes == [
        f"{name} has no effect in a box: it acts between cells" for name in ("horizontal_diffusion", "convection")
    ]
    np.testing.assert_array_equal(shares(run.run(), "RN")[-1:], shares(make().run(), "RN")[-1:])


WASHED = {"coefficients": {"RN": "1e-4 1/s"}}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no height": (
        {"particles": {"diameters": {"PB": "10 um"}}, "environment": {"height": None}},
        'particles needs the height of the box; give environment.height, such as "1 km"',
    ),
    "no weather": (
        {"wet_deposition": WASHED},
        "wet_deposition needs precipitation [kg m-2 s-1], which the conditions do not give; write precipitation under "
        "[weather]",
    ),
    "no land": (
        {"process": [of_users("sea_surface", velocities={"RN": "1 cm/s"})], "weather": {"friction_velocity": "1 m/s"}},
        "sea_surface needs the land fraction; give environment.land_fraction, from 0 to 1",
    ),
    "no sun": (
        {"process": [of_users("sunlit_loss", rates={"RN": "1e-3 1/s"})]},
        "sunlit_loss needs values that the conditions do not give: rates.SUN, rates.sec_zenith or environment.location",
    ),
    "no temperature": (
        {"particles": {"diameters": {"PB": "10 um"}}, "environment": {"temperature": None}},
        "environment.temperature",
    ),
    "a species that is not there": (
        {"particles": {"diameters": {"PX": "10 um"}}},
        "particles.diameters: 'PX' is not a species of chain; known are PB, PO, RN",
    ),
    "a species of a file": (
        {"process": [of_users("sunlit_loss", rates={"XY": "1e-3 1/s"})]},
        "process.0.rates: 'XY' is not a species of chain;",
    ),
    "another unit of the weather": (
        {"wet_deposition": WASHED, "weather": {"precipitation": "3 K"}},
        "weather.precipitation = '3 K' has the wrong kind of unit",
    ),
    "a field that no process reads": (
        {"weather": {"precipitaton": "1 kg/m2/h"}},
        "weather.precipitaton: no process reads this field; did you mean precipitation?",
    ),
    "the air twice": (
        {"weather": {"temperature": "280 K"}},
        "weather.temperature follows from [environment] and [fixed]; remove it",
    ),
    "a value that is none": (
        {"weather": {"precipitation": True}}, "weather.precipitation must be a number with its unit, or a formula",
    ),
    "a column without a file": ({"weather": {"precipitation": {"column": "P"}}}, "weather.precipitation has no csv"),
    "a setting that is none": (
        {"wet_deposition": {"coeficients": {}}},
        "wet_deposition.coeficients is not a setting; did you mean wet_deposition.coefficients?",
    ),
    "a section of the model": ({"transport": {"advection": True}}, "transport is not a setting;"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("chain")
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, fault: str) -> None:
    sections, message = FAULTS[fault]
    given = {**BASE, **sections}
    environment = {**BASE["environment"], **given["environment"]}
    given["environment"] = {key: value for key, value in environment.items() if value is not None}
    network = load_mechanism(tmp_path / "chain.def")
    with pytest.raises(AirshedError) as caught:
        BoxRun(network, BoxConditions.from_dict(given), allow_code=True)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_light_below_zero_is_refused(make: Run) -> None:
    loss = of_users("sunlit_loss", rates={"RN": "1e-3 1/s"}, activation="0 K")
    with pytest.raises(
        AirshedError, match=r"^rates\.SUN = 't - 9' is -9 at t = 0 s; it must be finite and not below 0$"
    ):
        make(process=[loss], rates={"SUN": "t - 9"})


def test_a_loss_below_zero_names_its_process(make: Run, declare: Any) -> None:
    body = LOSS.replace(
        "def lost(rates):\n    return rates", "def lost(rates, temperature):\n    return rates - 0.01*temperature/285"
    )
    with pytest.raises(AirshedError, match=r"own: deposition of RN is -0\.0099; it must be finite and not below 0"):
        make(process=[declare(body, rates={"RN": "1e-4 1/s"})])


def test_files_run_only_where_they_may(make: Run, declare: Any) -> None:
    entry = declare(LOSS + "\nopen('RAN', 'w')", rates={"RN": "1e-4 1/s"})
    with pytest.raises(AirshedError, match="read it, then give --allow-code, or allow_code=True in Python"):
        make(process=[entry], allow_code=False)
    with pytest.raises(AirshedError, match=r"process\.0\.file = 'no\.py': there is no such file in "):
        make(process=[{"file": "no.py"}])


CONDITIONS = """
[time]
length = "6 h"
[environment]
temperature = "285 K"
pressure = "1000 hPa"
[initial]
A = "1e6 molecules/cm3"
[rates]
j_A = "0 1/s"
k_AX = "0 cm3/s"
k_grow = "1e-10 cm3/s"
[fixed]
X = "0 molecules/cm3"
[[process]]
file = "own.py"
rates = { A = "1e-5 1/s" }
"""


def test_the_replay_of_a_failure_has_the_processes_too(declare: Any, tmp_path: Path) -> None:
    """The solution of dA/dt = k A^2 - L A diverges near 1.1e4 s; the report of a shorter run names the process."""
    declare(LOSS)
    mechanism = write_toy(tmp_path)
    (tmp_path / "grow.toml").write_text(CONDITIONS, encoding="utf-8")
    (tmp_path / "out").mkdir()

    def run(conditions: Path, *more: str) -> tuple[int, str]:
        output = str(tmp_path / "out" / "box.nc")
        command = ["box", str(mechanism), "--conditions", str(conditions), "--output", output, *more]
        result = CliRunner().invoke(app, command)
        return result.exit_code, result.output + result.stderr

    code, first = run(tmp_path / "grow.toml", "--allow-code")
    assert code == 2
    replay = tmp_path / "out" / "box-failed.toml"
    assert f"--conditions {replay} --allow-code" in first.replace("\n", "")
    assert 'file = "../own.py"' in replay.read_text(encoding="utf-8")
    code, again = run(replay, "--allow-code")
    assert code == 2
    assert again.partition("; to replay it")[0] == first.partition("; to replay it")[0]
    (tmp_path / "short.toml").write_text(CONDITIONS.replace("6 h", "1 h"), encoding="utf-8")
    code, report = run(tmp_path / "short.toml", "--allow-code")
    assert code == 0, report
    assert "processes" in report
    assert "reactions 3; own" in report


def test_conditions_are_what_they_were_when_they_are_read_again(make: Run) -> None:
    run = make(wet_deposition=WASHED, weather={"precipitation": LINEAR_RAIN})
    again = BoxConditions.from_dict(run.model.conditions.to_dict())
    assert again.conditions_file() == run.model.conditions.conditions_file()
    assert "[particles]" not in again.to_toml()
    assert set(PROCESSES) >= {"wet_deposition", "particles", "convection", "horizontal_diffusion"}
    assert not set(PROCESSES) & {"deposition", "emissions", "transport", "chemistry"}


def test_species_go_into_rain_as_the_species_map_says(emep: ReactionNetwork) -> None:
    """Compare with the rates for 1 mm/h below cloud: 0.5 per hour for HNO3, of which 0.36 per hour become nitrate.

    The production at night is 5e-4 of it.
    """
    series = airshed.box(
        emep,
        {
            "time": {"length": "1 h"},
            "environment": {"temperature": "280 K", "pressure": "1000 hPa", "humidity": "50 %", "height": "1 km"},
            "rates": {"SUN": 0.0},
            "initial": {"HNO3": "1 ppb", "CO": "100 ppb"},
            "wet_deposition": {"scheme": "ratios"},
            "weather": {"precipitation": "1 kg/m2/h"},
        },
    )
    np.testing.assert_allclose(shares(series, "HNO3"), [1.0, np.exp(-0.86)], rtol=1e-3)
    np.testing.assert_allclose(shares(series, "CO"), 100.0, rtol=1e-4)

"""Boxes by Rosenbrock methods: published end states, conditions with changes, jumps and bends, and the day of KPP."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp
from tests.models.box.toy import CLOSED, INERT

from airshed.core.constants import BOLTZMANN
from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork, load_mechanism, rates, tendency
from airshed.mechanism.kpp.rate_functions import kpp_sun
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun, box

Problem = Callable[..., BoxConditions]

AIR = {"fixed": {"M": "2.5e19 molecules/cm3", "X": "0 molecules/cm3"}}
TIGHT = {"relative_tolerance": 1e-10, "absolute_tolerance": "1e-3 molecules/cm3"}


def reference(case: str, column: str) -> dict[str, float]:
    with (resource(f"cases/{case}") / "reference.csv").open(encoding="utf-8", newline="") as file:
        return {row["species"]: float(row[column]) for row in csv.DictReader(file)}


def emep_error(series: xr.Dataset) -> float:
    ends = {name: end for name, end in reference("emep-box", "end [molecules cm-3]").items() if end > 1e3}
    assert len(ends) == 64
    return max(abs(float(series[name][-1]) / end - 1.0) for name, end in ends.items())


@pytest.mark.thorough
def test_emep_reaches_the_published_state() -> None:
    """All 64 species agree to 1e-6 with the shipped conditions, but not with a loose tolerance."""
    conditions = BoxConditions.load(resource("cases/emep-box") / "conditions.toml")
    emep = load_mechanism("emep")
    assert emep_error(box(emep, conditions)) < 1e-7
    loose = conditions.to_dict()
    loose["solver"] |= {"relative_tolerance": 1e-3, "absolute_tolerance": "100 molecules/cm3"}
    assert 1e-6 < emep_error(box(emep, BoxConditions.from_dict(loose))) < 1e-2


def test_jumps_that_are_not_listed_are_found(emep: ReactionNetwork, problem: Problem) -> None:
    solver = {"relative_tolerance": 1e-6}
    listed = box(emep, problem(solver=solver, time__length="24 h", time__output_every="24 h"))
    found = box(emep, problem(solver=solver, time__length="24 h", time__output_every="24 h", time__restarts=[]))
    assert np.allclose(found["O3"], listed["O3"], rtol=1e-7)
    assert not found.identical(listed)


@pytest.mark.thorough
@pytest.mark.compiles
def test_pollu_reaches_the_published_state() -> None:
    conditions = BoxConditions.load(resource("cases/pollu-box") / "conditions.toml")
    series = box(load_mechanism("pollu"), conditions)
    ends = reference("pollu-box", "end [ppm]")
    error = {name: abs(float(1e6 * series[name][-1] / series["M"][-1]) / end - 1.0) for name, end in ends.items()}
    assert len(error) == 20
    assert max(error.values()) < 1e-7, error


@pytest.mark.thorough
@pytest.mark.compiles
def test_day_of_kpp() -> None:
    """The mechanism uses SUN, the conditions do not give it: light from 4.5 h to 19.5 h; compared with SciPy."""
    network = load_mechanism("small_strato")
    air = {name: network.initial[name] for name in ("M", "O2")}
    start = np.array([network.initial[name] for name in network.names])
    conditions = {
        "time": {"start": "19 h", "length": "10 h", "output_every": "10 h"},
        "initial": {name: f"{network.initial[name]} molecules/cm3" for name in network.names},
        "solver": TIGHT,
    }
    series = box(network, BoxConditions.from_dict(conditions))
    assert float(series["M"][0]) == air["M"]  # that of the mechanism, since the conditions do not give air

    def change(t: float, y: np.ndarray) -> np.ndarray:
        return tendency(network, rates(network, {**air, "SUN": float(kpp_sun(t))}), y)

    y = start
    for span in ((68400.0, 70200.0), (70200.0, 102600.0), (102600.0, 104400.0)):
        y = solve_ivp(change, span, y, method="Radau", rtol=1e-8, atol=1e-3).y[:, -1]
    assert np.allclose([float(series[name][-1]) for name in network.names], y, rtol=1e-6)


def tracer_end(toy: ReactionNetwork, length: str, **sections: dict) -> float:
    data = {"time": {"length": length, "output_every": length}, **AIR, **sections, "rates": CLOSED}
    data["fixed"] = {"X": "0 molecules/cm3", **data["fixed"]}
    return float(box(toy, BoxConditions.from_dict(data))["TRACER"][-1])


@pytest.mark.parametrize(
    ("formula", "integral"),
    [
        ("1e6*exp(t/3600)", 3.6e9 * (np.exp(5.0) - 1.0)),
        ("1e6*max(0, cos(2*pi*(t/86400 - 0.5)))", 0.0),
        ("where(t >= 7777.7, 2e6, 1e6)", 1e6 * 7777.7 + 2e6 * (18000.0 - 7777.7)),
        ("1e6*abs(t - 12345.6)", 0.5e6 * (12345.6**2 + (18000.0 - 12345.6) ** 2)),
        ("1e6/(t + 0.01)", 1e6 * np.log(18000.01 / 0.01)),
        ("where(t < 1 or t > 17999, 1e6, 0)", 2e6),
        ("1e6*sqrt(t)", 1e6 * 18000.0**1.5 / 1.5),
    ],
)
def test_sources_are_followed_exactly(toy: ReactionNetwork, formula: str, integral: float) -> None:
    end = tracer_end(toy, "5 h", emission={"TRACER": formula}, solver=TIGHT)
    assert end == pytest.approx(integral, rel=1e-8, abs=1e-3)


def test_half_a_day_of_light(toy: ReactionNetwork) -> None:
    source = {"TRACER": "1e6*max(0, cos(2*pi*(t/86400 - 0.5)))"}
    end = tracer_end(toy, "24 h", emission=source, solver=TIGHT)
    assert end == pytest.approx(1e6 * 86400.0 / np.pi, rel=1e-9)


def test_what_changes_too_often_is_refused(toy: ReactionNetwork) -> None:
    with pytest.raises(
        CaseError, match=r"emission.TRACER changes too often between t = 0 s and 18000 s to be resolved"
    ):
        tracer_end(toy, "5 h", emission={"TRACER": "1e6*(1 + sin(1e4*t))"})


def test_noise_is_followed_as_well_as_it_goes(toy: ReactionNetwork) -> None:
    """Round-off of a large argument is not a jump: the series approximates the mean, with a note."""
    data = {
        "time": {"length": "1 h", "output_every": "1 h"}, **AIR, "rates": CLOSED,
        "emission": {"TRACER": "1e6*(2 + sin(t/3600 + 1e7*pi))"},
    }  # fmt: skip
    run = BoxRun(toy, BoxConditions.from_dict(data))
    end = float(run.run()["TRACER"][-1])
    assert end == pytest.approx(1e6 * 3600.0 * (3.0 - np.cos(1.0)), rel=1e-7)
    assert run.model.notes == ["emission.TRACER is not smooth: it is resolved to a relative error of at most 1e-07"]


def test_air_that_expands(toy: ReactionNetwork) -> None:
    """Mixing ratios are constant, also over a jump of the pressure, whether it is listed or not."""
    data = {
        "time": {"length": "4 h", "output_every": "30 min", "restarts": ["2 h"]},
        "environment": {"temperature": "290 + 10*sin(t/3600)", "pressure": "where(t % 86400 < 7200, 1e5, 9e4)"},
        "initial": {"TRACER": "40 ppb"},
        "rates": CLOSED,
        "fixed": {"X": "0 molecules/cm3"},
    }
    for restarts in (["2 h"], []):
        data["time"]["restarts"] = restarts
        series = box(toy, BoxConditions.from_dict(data))
        density = series["pressure"] / (BOLTZMANN * series["temperature"]) * 1e-6
        assert np.allclose(series["M"], density, rtol=1e-13)
        assert np.allclose(series["TRACER"] / series["M"], 40e-9, rtol=1e-9)
    assert float(density.max() / density.min()) > 1.05


def test_emission_into_air_that_expands(toy: ReactionNetwork) -> None:
    """The source is per current volume of air: dq/dt = E / M."""
    end = tracer_end(
        toy, "6 h", fixed={"M": "2.5e19/(1 + t/86400)"}, emission={"TRACER": "1e6 molecules/cm3/s"}, solver=TIGHT
    )
    t = 21600.0
    assert end == pytest.approx(1e6 * (t + t**2 / 172800.0) / (1.0 + t / 86400.0), rel=1e-9)


def test_methods_agree(emep: ReactionNetwork, problem: Problem) -> None:
    ends = []
    for method in ("ros2", "ros3", "rodas3", "rodas4"):
        solver = {"method": method, "relative_tolerance": 1e-5}
        conditions = problem(solver=solver, time__start="10 h", time__length="1 h")
        run = BoxRun(emep, conditions)
        ends.append(float(run.run()["O3"][-1]))
        assert run.model.cells.steps > 5
    assert np.allclose(ends, ends[-1], rtol=1e-5)
    assert len(set(ends)) == 4


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision(toy: ReactionNetwork) -> None:
    solver = {"relative_tolerance": 1e-4, "absolute_tolerance": "1 molecules/cm3"}
    start = {"TRACER": "1e10 molecules/cm3"}
    ends = [
        tracer_end(toy, "2 h", initial=start, deposition={"TRACER": "1e-4 1/s"}, solver={**solver, "precision": each})
        for each in ("double", "single")
    ]
    assert 0.0 < abs(ends[1] / ends[0] - 1.0) < 1e-5
    with pytest.raises(CaseError, match="below the round-off of single precision"):
        tracer_end(toy, "2 h", solver={"precision": "single"})


def test_a_column_of_a_file(toy: ReactionNetwork, tmp_path: Path) -> None:
    """Values are linear between rows, with bends there; units and hours are converted; there are no values outside."""
    (tmp_path / "source.csv").write_text(
        "# a comment\nhour [h],E [molecules/cm3/h],T\n0,0,10\n1.5,3.6e9,20\n5,0,15\n", encoding="utf-8"
    )
    path = tmp_path / "box.toml"
    text = (
        '[time]\nlength = "5 h"\noutput_every = "5 h"\n[fixed]\nM = "2.5e19 molecules/cm3"\nX = "0 molecules/cm3"\n'
        f"{INERT}"
        '[environment]\ntemperature = { csv = "source.csv", column = "T", time = "hour", unit = "degC" }\n'
        '[emission]\nTRACER = { csv = "source.csv", column = "E", time = "hour" }\n'
    )
    path.write_text(text, encoding="utf-8")
    run = BoxRun(toy, BoxConditions.load(path))
    series = run.run()
    assert float(series["TRACER"][-1]) == pytest.approx(0.5 * 5.0 * 3.6e9, rel=1e-9)
    assert series["temperature"].values.tolist() == [283.15, 288.15]
    assert run.model.forcing.corners == [5400.0]
    for old, new, message in (
        ('"5 h"', '"6 h"', r"covers 0 s to 18000 s, but t = 2.* s is needed"),
        ('column = "E"', 'column = "F"', r"has no column 'F'; known are E, T, hour"),
        ('unit = "degC"', 'unit = "hPa"', r"environment\.temperature\.unit = '1 hPa' has the wrong kind of unit"),
        (', unit = "degC"', "", r'has no unit for \'T\'; write unit = "K"'),
        ("source.csv", "sauce.csv", r"there is no file .*sauce\.csv"),
    ):
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(Exception, match=message):
            BoxRun(toy, BoxConditions.load(path)).run()

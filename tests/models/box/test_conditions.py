"""Conditions files: messages for invalid input, and parsed values."""

import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import CaseError, NumericalError
from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions
from airshed.models.box.conditions import JUST_BEFORE, Event
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.run import BoxRun

Problem = Callable[..., BoxConditions]

WRONG = {
    "unknown section": ({"inital": {}}, "inital is not a setting; did you mean initial?"),
    "unknown key": ({"time__lenght": "1 h"}, "time.lenght is not a setting; did you mean time.length?"),
    "no length": ({"time": {"start": "4 h"}}, "time.length is missing"),
    "time without unit": ({"time__length": 5}, "time.length needs a unit"),
    "time of another kind": ({"time__length": "5 km"}, "time.length = '5 km' has the wrong kind of unit"),
    "restart on the next day": ({"time__restarts": ["24 h"]}, "time.restarts = '24 h' is a time of day"),
    "restart alone": ({"time__restarts": "4 h"}, "time.restarts must be a list"),
    "temperature without unit": ({"environment__temperature": 298}, 'has no unit: write "298 K", or a formula'),
    "temperature in Pa": (
        {"environment__temperature": "298 Pa"},
        "environment.temperature = '298 Pa' has the wrong kind",
    ),
    "formula": ({"environment__temperature": "298 +"}, "environment.temperature = '298 +': this is not a formula"),
    "function": ({"fixed__H2O": "expp(1)"}, "fixed.H2O = 'expp(1)', at character 1 ('expp(1)'): there is no function"),
    "two densities": ({"environment__pressure": "1000 hPa"}, "needs environment.pressure or fixed.M, not both"),
    "two suns": ({"rates__SUN": "1"}, "rates.sec_zenith and rates.SUN are two forms of the same quantity"),
    "method": ({"solver__method": "rosenbrock"}, 'solver.method = "rosenbrock" is not known; expected "ros2", "ros3"'),
    "no tolerance": (
        {"solver__absolute_tolerance": "0 ppb"},
        "solver.absolute_tolerance = '0 ppb' must be more than 0",
    ),
    "csv without a column": ({"emission__NO": {"csv": "a.csv"}}, "emission.NO has no column: write { csv ="),
    "csv with a unit of another kind": (
        {"emission__NO": {"csv": "a.csv", "column": "NO", "unit": "1/s"}},
        "emission.NO.unit = '1 1/s' has the wrong kind of unit",
    ),
    "csv with an unknown key": (
        {"emission__NO": {"csv": "a", "colum": "NO"}},
        "emission.NO.colum is unknown; did you",
    ),
    "no sweep": ({"solver__sweeps": 0}, "solver.sweeps = 0 must be at least 1"),
    "no step": ({"solver__step": "0 s"}, "solver.step = '0 s' must be more than 0"),
    "emission per area": ({"emission__NO": "1 kg/s"}, "emission.NO = '1 kg/s' has the wrong kind of unit"),
    "initial": ({"initial__O3": "lots"}, None),
    "day": ({"environment__location": {"lat": 1, "lon": 2, "date": "31 August"}}, "must be a day such as 2022-08-31"),
    "humidity": (
        {"environment__humidity": 60},
        "is 6000 %, which is not a possible humidity: a number without a unit is a fraction; write",
    ),
    "humidity above any": ({"environment__humidity": "1.7"}, "is 170 %, which is not a possible humidity"),
    "formula in another unit": (
        {"environment__temperature": "20 + 5*sin(t) hPa"},
        "environment.temperature = '20 + 5*sin(t) hPa': its unit = '1 hPa' has the wrong kind of unit",
    ),
    "formula as a part of air": ({"initial__NO": "2*t ppb"}, "a formula is in molecules/cm3; write (2*t)*1e-09*M"),
    "deposition velocity": ({"deposition__O3": "0.5 cm/s"}, 'expected a rate (such as "1e-5 1/s"), not a speed'),
    "initial mass": ({"initial__O3": "40 ug/m3"}, "initial.O3 = '40 ug/m3' has the wrong kind of unit: expected a"),
    "pressure in K": ({"environment__pressure": "40 K"}, 'expected a pressure (such as "1013 hPa"), not a temperature'),
    "rate in s": ({"rates__SUN": "8e-3 s"}, "rates.SUN = '8e-3 s' has the wrong kind of unit: expected a number in"),
    "latitude": ({"environment__location": {"lat": 95, "lon": 2, "date": "2022-08-31"}}, "must be at most 90"),
}

UNFIT = {
    "fixed": ({"fixed__H2": "1e5 molecules/cm3"}, "fixed.H2: not a fixed species of emep; did you mean H2O?"),
    "no density": (
        {"fixed__M": None},
        "mechanism 'emep' needs values that the conditions do not give: environment.pressure or",
    ),
    "species": ({"initial__O33": "1 ppb"}, "initial.O33: not a species of emep; did you mean O3?"),
    "emitted": ({"emission__NOO": "1 molecules/cm3/s"}, "emission.NOO: not a species of emep; did you mean NO?"),
    "twice": ({"deposition__o3": "1e-5 1/s"}, "deposition.o3 is given twice"),
    "name": ({"fixed__H2O": "humidty*1e17"}, "'humidty' is not known; did you mean humidity?"),
    "initial by a name": ({"initial__O3": "lots"}, "initial.O3 = 'lots', at character 1 ('lots'): 'lots' is not known"),
    "circle": ({"fixed__M": "p*1e14"}, "fixed.M = 'p*1e14' refers to itself: M -> p -> M"),
    "no sun": ({"rates": {}}, "do not give: rates.SUN, rates.sec_zenith or environment.location"),
    "no water": ({"fixed__H2O": None, "environment__humidity": None}, "do not give: environment.humidity or fixed.H2O"),
    "humidity in per cent": (
        {"environment__humidity": "50 + t", "fixed__H2O": "humidity*1e17"},
        'in per cent, write "50 + t %"',
    ),
    "negative": ({"emission__NO": "-1 molecules/cm3/s"}, "emission.NO is -1; it must be finite and not below 0"),
    "later negative": ({"deposition__O3": "1e-5*(20000 - t)"}, "deposition.O3 = '1e-5*(20000 - t)' is"),
    "not finite": ({"fixed__H2O": "1e17/(t - t)"}, "fixed.H2O = '1e17/(t - t)' is inf"),
    "cold": ({"environment__temperature": "0 K"}, "environment.temperature is 0; it must be finite and above 0"),
    "sun below": ({"rates__sec_zenith": "-5", "rates__daylight": "1"}, "rates.sec_zenith is -5; it must be finite and"),
    "negative start": ({"initial__O3": "-1 ppb"}, "initial.O3 = '-1 ppb' is -1e-09"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_wrong_conditions(problem: Problem, changes: dict, message: str | None) -> None:
    if message is None:  # a single name is a formula; the mechanism determines whether the name is valid
        problem(**changes)
        return
    with pytest.raises(CaseError) as caught:
        problem(**changes)
    assert message in str(caught.value)
    assert "{key}" not in str(caught.value)


@pytest.mark.parametrize(("changes", "message"), UNFIT.values(), ids=UNFIT)
def test_conditions_that_do_not_fit_the_mechanism(
    emep: ReactionNetwork, problem: Problem, changes: dict, message: str
) -> None:
    with pytest.raises(CaseError) as caught:
        BoxRun(emep, problem(**{"solver__method": "rodas4", **changes})).run()
    assert message in str(caught.value)
    assert "{key}" not in str(caught.value)


@pytest.mark.thorough
@pytest.mark.compiles
def test_overflow_is_told(emep: ReactionNetwork, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.models.box.forcing._ROUND_OFF", np.inf)  # no initial value is above that of air
    with pytest.raises(NumericalError, match=r"gives values of .* that are not finite \(most .*\): .*solver\.step"):
        BoxRun(emep, problem(initial__NO="1e200 molecules/cm3", initial__O3="1e200 molecules/cm3")).run()


def test_a_unit_behind_a_formula_is_that_of_all_of_it(tracer: ReactionNetwork) -> None:
    """Per cent without a blank is included; the text is unchanged."""
    given = {
        "time": {"length": "1 h"},
        "environment": {
            "temperature": "20 + t/3600 degC",
            "pressure": "1000 + t/3600 hPa",
            "humidity": "50 + 10*sin(t)%",
        },
        "emission": {"TRACER": "60*(1 + t) molecules/cm3/min"},
    }
    conditions = BoxConditions.from_dict(given)
    again = BoxConditions.from_dict(tomllib.loads(conditions.conditions_file()))
    assert again.conditions_file() == conditions.conditions_file()
    values = BoxForcing(again, tracer).at([0.0, 3600.0])
    assert values["T"][0] == pytest.approx([293.15, 294.15])
    assert values["p"][0] == pytest.approx([1e5, 1.001e5])
    assert values["humidity"][0] == pytest.approx(0.5 + 0.1 * np.sin([0.0, 3600.0]))
    assert values["emission 0"][0] == pytest.approx([1.0, 3601.0])


@pytest.mark.parametrize(("head", "unit", "fine"), [("h [%]", None, True), ("h", "%", True), ("h", None, False)])
def test_a_column_of_humidity_tells_per_cent(
    tracer: ReactionNetwork, tmp_path: Path, head: str, unit: str | None, fine: bool
) -> None:
    path = tmp_path / "site.csv"
    path.write_text(f"time [h],{head}\n0,50\n1,60\n", encoding="utf-8")
    column = {"csv": str(path), "column": "h", **({"unit": unit} if unit else {})}
    given = {
        "time": {"length": "1 h"},
        "environment": {"temperature": "290 K", "pressure": "1 bar", "humidity": column},
    }
    forcing = BoxForcing(BoxConditions.from_dict(given), tracer)
    if fine:
        assert forcing.at([1800.0])["humidity"].item() == pytest.approx(0.55)
        return
    with pytest.raises(CaseError, match=r"site\.csv is 50 at t = 0 s, .* write unit = \"%\" or the column heading"):
        forcing.at([0.0])


def test_a_file_names_file_and_line(tmp_path: Path) -> None:
    text = (resource("cases/emep-box") / "conditions.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('length = "112 h"', 'length = "112"'), encoding="utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if row.startswith("length ="))
    with pytest.raises(CaseError, match=rf"mine\.toml:{line}: time\.length needs a unit"):
        BoxConditions.load(path)
    path.write_text("[time\n", encoding="utf-8")
    with pytest.raises(CaseError, match=r"mine\.toml:1:\d+: this is not TOML"):
        BoxConditions.load(path)
    with pytest.raises(CaseError, match="there is no file"):
        BoxConditions.load(tmp_path / "none.toml")


def test_conditions_as_a_file_are_the_same_again() -> None:
    path = resource("cases/emep-box") / "conditions.toml"
    conditions = BoxConditions.load(path)
    again = BoxConditions.from_dict(tomllib.loads(conditions.conditions_file()))
    assert again.conditions_file() == conditions.conditions_file()
    assert again.initial == conditions.initial
    assert conditions.name == "conditions"


def test_location_as_a_file(problem: Problem) -> None:
    conditions = problem(environment__location={"lat": 50, "lon": 14, "date": "2022-08-31"})
    again = BoxConditions.from_dict(tomllib.loads(conditions.conditions_file()))
    assert again.environment.location == conditions.environment.location


def steps_of(run: BoxRun) -> list[tuple[Event, float, bool]]:
    """Return the end and the length of each step, and whether it is an Euler start."""
    run.model.record()
    ends = []
    run.simulation.run(observer=lambda info: ends.append((run.model.present, info.dt)))
    starts = [record.weights.c1 == 0.0 for (record,) in run.model.records or []]
    return [(end, length, start) for (end, length), start in zip(ends, starts, strict=True)]


def test_steps_stop_at_outputs_and_jumps(tracer_run: Callable[..., BoxRun]) -> None:
    time = {"start": "4 h", "length": "17 h", "output_every": "1 h", "restarts": ["20 h", "4 h"]}
    run = tracer_run({"time": time, "solver.step": "7 min"})
    listed = steps_of(run)
    assert np.allclose(np.diff([14400.0, *(end.at for end, _, _ in listed)]), [length for _, length, _ in listed])
    assert max(length for _, length, _ in listed) <= 420.0
    assert [end.at for end, _, _ in listed if end.output] == [3600.0 * hour for hour in range(5, 22)]
    anew = [end.at - length for end, length, start in listed if start]
    assert anew == pytest.approx([14400.0, 72000.0])
    assert [end.at for end, _, _ in listed if end.jump] == [72000.0]
    at = [record.at for (record,) in run.model.records or []]
    assert [each for each in at if each not in [end.at for end, _, _ in listed]] == [72000.0 - JUST_BEFORE]


def test_a_step_does_not_grow_beyond_the_formula(tracer_run: Callable[..., BoxRun]) -> None:
    time = {"length": "2 h", "output_every": "1 h"}
    listed = steps_of(tracer_run({"time": time, "output": [{"every": "3590 s"}]}))
    assert any(start for _, _, start in listed[1:])
    for (_, before, _), (_, length, start) in pairwise(listed):
        assert start == (length > 2.0 * before)


def test_several_faults_are_a_list_under_a_heading(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("tittle = 1\n[time]\nstepp = 3\n")
    with pytest.raises(CaseError) as error:
        BoxConditions.load(tmp_path / "mine.toml")
    heading, *faults = str(error.value).splitlines()
    assert heading == f"{len(faults)} faults in the conditions {tmp_path / 'mine.toml'}:"
    assert any(fault.startswith("  mine.toml:3: time.stepp is not a setting; known here are start") for fault in faults)


DEEP = {
    "arrays": ("a = " + "[" * 5000, "it nests too deeply"),
    "tables": ("[" + ".".join("a" * 3000) + "]", "a key has 31 parts or more, and 30 are allowed"),
    "digits": ("a = " + "9" * 6000, "a number has too many digits"),
}


@pytest.mark.parametrize(("text", "message"), DEEP.values(), ids=DEEP)
def test_toml_that_no_one_wrote(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CaseError, match=rf"c\.toml(:1:61)?:? .*{message}"):
        BoxConditions.load(tmp_path / "c.toml")

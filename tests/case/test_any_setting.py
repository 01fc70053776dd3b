"""Any value of any setting of any model: the case is built, or refused in a few printable lines that name the setting.

The settings come from the registry, the values from Hypothesis: right and wrong types, units, sizes and texts.
"""

import copy
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from validation.fuzz.inputs import toml

from airshed.case.case import RunCase
from airshed.core.errors import AirshedError
from airshed.core.settings import Section, Setting, settings_of
from airshed.models.air.case import Case
from airshed.models.box.conditions import BoxConditions
from airshed.models.pasture.case import PastureCase
from airshed.runtime.simulation import Simulation

AIR: Final[Mapping[str, Any]] = {
    "grid": {
        "area": {"lon": [4, 5.5], "lat": [50.0, 51.25]}, "spacing": "0.25 deg",
        "layers": ["100 m", "300 m", "800 m", "2000 m"],
    },
    "time": {"start": "2022-08-31T10:00:00", "length": "10 min", "step": "300 s", "spinup": "0 h"},
    "chemistry": {"mechanism": "tracer"},
    "meteorology": {"kind": "uniform", "eastward": "5 m/s", "diffusivity": "5 m2/s"},
    "emissions": {"point": [{"species": "TRACER", "lon": 4.7, "lat": 50.6, "height": "50 m", "rate": "1 mol/s"}]},
    "boundary": {"values": {"TRACER2": "10 ppb"}},
    "deposition": {"scheme": "none"},
    "output": [{"fields": "all", "every": "5 min"}],
    "run": {"threads": 1},
}  # fmt: skip
BOX: Final[Mapping[str, Any]] = {
    "time": {"start": "10 h", "length": "10 min"},
    "environment": {"temperature": "270 K", "pressure": "300 Pa"}, "initial": {"O3": "1 ppb"},
}  # fmt: skip
PASTURE: Final[Mapping[str, Any]] = {"time": {"start": "2019-12-01", "length": "5 day"}}
MODELS: Final[Mapping[str, tuple[type[RunCase], Mapping[str, Any]]]] = {
    "air": (Case, AIR), "box": (BoxConditions, BOX), "pasture": (PastureCase, PASTURE),
}  # fmt: skip

SLOW: Final = ("time.length", "time.spinup")
"""Settings of which many values are honest work for hours."""

NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**18, 2**63, -(2**63) - 1, 10**400, 1e300, 5e-324, -0.0])
)
TEXTS = st.one_of(
    st.text(),
    st.sampled_from(
        ["\x00", "a\nb", "\x1b[31mred", "[bold]x[/]", "{key}", "%s", "*/", '";system("x");"', "x" * 100_000]
    ),
    st.sampled_from(
        ["/", "..", "~", "*", "no/such/file.nc", "/dev/null", "../*", "none", "auto", "all", "time", "1e5"]
    ),
    st.sampled_from(["2022-02-30", "0001-01-01", "9999-12-31T23:59:59Z", "2022-08-31T00:00:00+99:00", "now"]),
)
UNITS = st.sampled_from(
    ["s", "h", "m", "hPa", "K", "degC", "m/s", "mol/s", "ppb", "1", "", "furlong", "m^99", "1/0", "s s"]
)
OBJECTS = st.sampled_from([None, object(), b"bytes", np.float64(5), np.int64(3), np.ones(1), {1, 2}, {1: 2}, 1j])
ANYTHING = st.one_of(
    NUMBERS, TEXTS, st.booleans(), OBJECTS,
    st.recursive(NUMBERS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=9),
)  # fmt: skip


def values_of(setting: Setting) -> st.SearchStrategy[Any]:
    """Return values for a setting: of its kind, right or absurd, and of any other."""
    own = st.sampled_from([part for part in setting.unit.split(" or ") if part] or ["1"])
    quantities = st.builds("{} {}".format, NUMBERS, st.one_of(own, UNITS))
    items = quantities if "quantit" in setting.kind else NUMBERS if "number" in setting.kind else TEXTS
    if setting.kind.startswith("list"):
        items = st.lists(items, max_size=3)
    elif setting.kind.startswith("table"):
        items = st.dictionaries(st.sampled_from(["TRACER", "O3", "", "no such"]), items, max_size=2)
    words = st.sampled_from(re.findall(r'"([^"]*)"', setting.kind) or [""])
    return st.one_of(items, words, st.just(setting.default), ANYTHING)


@st.composite
def changes(draw: st.DrawFn, case: type[Section], without: tuple[str, ...] = ()) -> tuple[str, Any]:
    """Draw a setting and a value of it, or of the table that holds it."""
    setting = draw(st.sampled_from([each for each in settings_of(case) if each.key not in without]))
    key = setting.key.replace(".N.", ".0.")
    if "." in key and draw(st.integers(0, 9)) == 0:
        return key.rpartition(".")[0], draw(ANYTHING)
    return key, draw(values_of(setting))


def changed(tree: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return a copy of the case with one setting changed; tables on the way are made."""
    result = copy.deepcopy(dict(tree))
    inner: Any = result
    steps = [int(step) if step == "0" else step for step in key.split(".")]
    for step, after in pairwise(steps):
        kind = list if after == 0 else dict
        found = inner[step] if isinstance(step, int) else inner.get(step)
        if not isinstance(found, kind) or not found:
            inner[step] = [{}] if kind is list else {}
        inner = inner[step]
    inner[steps[-1]] = value
    return result


def check_refusal(error: AirshedError, key: str, value: Any = None) -> None:
    """Assert that a message is short and printable, and names the setting, its table, or the text that it was given."""
    lines = str(error).split("\n")
    faults = re.match(r"(?:.*: )?(\d+) faults", lines[0])
    assert len(lines) <= 3 + (int(faults[1]) if faults else 0), error
    assert all(line.isprintable() for line in lines), error
    assert all(len(line) <= 600 for line in lines), error
    last = key.rpartition(".")[2].replace("_", " ")
    given = [value[:20]] if isinstance(value, str) and value else []
    names = (key, key.split(".")[0], last, last.rstrip("s"), *given)
    assert any(part in str(error) for part in names), error


@contextmanager
def seconds(most: int) -> Iterator[None]:
    """Raise TimeoutError where the block takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(most)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def built(model: str, key: str, value: Any, folder: Path) -> RunCase | None:
    """Return the case with a changed setting, None where it is refused as it should be."""
    case, tree = MODELS[model]
    try:
        return case.from_dict(changed(tree, key, value), base=folder)
    except AirshedError as error:
        check_refusal(error, key)
        return None


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_value_is_accepted_or_refused_by_its_name(model: str, data: st.DataObject, tmp_path: Path) -> None:
    key, value = data.draw(changes(MODELS[model][0]))
    built(model, key, value, tmp_path)


ONCE_WRONG: Final = (
    ("time.length", "1e300 h"), ("time.spinup", "1e-300 h"), ("time.courant", 1e-9), ("chemistry.sweeps", 10**18),
    ("restart.every", "1e-300 h"), ("output", [{"fields": [], "every": "1e-9 s"}]), ("run.threads", 10**9),
    ("grid.spacing", "1e-9 deg"), ("grid.layers", [f"{10 * n + 10} m" for n in range(3000)]),
    ("meteorology.temperature", "1e-300 K"), ("meteorology.diffusivity", "1e300 m2/s"), ("meteorology.files", [""]),
    ("emissions.year", 0), ("emissions.point.0.rate", "1e300 mol/s"), ("initial.values", {"TRACER": "2 mol/mol"}),
    ("deposition.velocities", {"TRACER": "1e300 m/s"}), ("parallel.tiles", [10**9, 1]),
)  # fmt: skip
"""Values that once ended in a traceback, an endless run or results that cannot be."""


@pytest.mark.parametrize(("key", "value"), ONCE_WRONG, ids=[key for key, _ in ONCE_WRONG])
def test_values_that_once_went_wrong_are_refused(key: str, value: Any, tmp_path: Path) -> None:
    case = built("air", key, value, tmp_path)
    if case is not None:
        with pytest.raises(AirshedError) as error, seconds(60), Simulation(case) as simulation:
            simulation.run()
        check_refusal(error.value, key)


@given(data=st.data())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_case_file_is_read_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    content = toml(AIR).encode()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(start + 30, len(content)) if data.draw(st.booleans()) else len(content)))
    added = data.draw(st.one_of(st.binary(max_size=9), st.just(b"[" * 50_000), st.sampled_from([b"\xff\xfe", b"\xe9"])))
    (tmp_path / "case.toml").write_bytes(content[:start] + added + content[end:])
    try:
        Case.load(tmp_path)
    except AirshedError as error:
        check_refusal(error, "case.toml")


@pytest.mark.thorough
@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_accepted_value_runs_or_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    key, value = data.draw(changes(Case, without=SLOW))
    with seconds(120):
        case = built("air", key, value, tmp_path)
        if case is None:
            return
        try:
            with Simulation(case) as simulation:
                simulation.run(until="10 min")
                assert np.isfinite(simulation["TRACER"].values).all()
        except AirshedError as error:
            check_refusal(error, key, value)


def test_refusals_that_help_nobody_are_found() -> None:
    """The negative control."""
    check_refusal(AirshedError("case.toml: time.step = 'x' is no time; write 120 s"), "time.step")
    for text in ("something is wrong", "time.step\n" * 5, "time.step " + "x" * 900):
        with pytest.raises(AssertionError):
            check_refusal(AirshedError(text), "time.step")


def test_endless_work_is_found() -> None:
    with pytest.raises(TimeoutError), seconds(1):
        time.sleep(60)

"""Sensitivities of boxes compared with central differences and an exact solution."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import MECHANISM

from airshed import box
from airshed.core.errors import CaseError, DataError
from airshed.core.files import resource
from airshed.formula.tree import Binary, Number
from airshed.inverse import box_sensitivity
from airshed.mechanism import Reaction, ReactionNetwork, Species, load_mechanism
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.network import OpenParameter
from airshed.models.box import BoxConditions

TIGHT = {"method": "rodas4", "relative_tolerance": 1e-9, "absolute_tolerance": "1e-3 molecules/cm3"}
PART = 1e-3
"""Relative perturbation of an input in central differences."""

OTHER_LIBRARIES = pytest.mark.thorough, pytest.mark.compiles
DECAY = {"time": {"length": "3 h"}, "initial": {"A": "1e10 molecules/cm3"}, "solver": TIGHT}


def decay() -> ReactionNetwork:
    """Return A -> B with k = 1e-4 per second."""
    reaction = Reaction("one", (("A", 1.0),), (("B", 1.0),), Number(1e-4), "A = B")
    return ReactionNetwork("decay", (Species("A"), Species("B")), (), (reaction,))


@dataclass(frozen=True)
class Air:
    """Mechanism with factors on the rate constants of four reactions in the conditions, and a day of it.

    solver  solver of fixed steps by the two-step formula
    """

    network: ReactionNetwork
    faster: tuple[str, ...]
    day: Mapping[str, Any]
    solver: Mapping[str, Any]

    @property
    def steps(self) -> dict[str, Any]:
        """Return the same day with fixed steps of the two-step formula."""
        return {**self.day, "solver": {"method": "gauss-seidel", **self.solver}}


MIXTURES: Final = {
    "emep": {"O3": "40 ppb", "NO2": "5 ppb", "NO": "1 ppb", "CO": "150 ppb", "CH4": "1.8 ppm", "HCHO": "2 ppb"},
    "small": {"O3": "40 ppb", "NO2": "5 ppb", "NO": "1 ppb", "VOC": "20 ppb", "RO2": "1 ppt", "HNO3": "1 ppb"},
}
SOLVERS: Final = {"emep": {"step": "300 s", "sweeps": 2}, "small": {"step": "60 s", "sweeps": 8}}
FASTER: Final = {"emep": ("J3", "R11", "R21", "R8"), "small": ("R1", "R2", "R3", "R6")}


def air_of(name: str, folder: Path) -> Air:
    """Return a mechanism and a day with expanding air, a jump at sunrise, a bend in the secant, and emission."""
    (folder / "small.kpp").write_text(MECHANISM)
    network = load_mechanism("emep" if name == "emep" else folder / "small.kpp")
    labels = FASTER[name]
    day = {
        "time": {"start": "3 h", "length": "6 h", "output_every": "2 h", "restarts": ["4 h"]},
        "environment": {"temperature": "288 + 5*sin(t/14000)", "humidity": "60 %"},
        "fixed": {"M": "2.5e19*(1 + 1e-6*t)"},
        "rates": {
            "sec_zenith": "1/max(0.1, cos((t/43200 - 1)*pi))", "daylight": "t >= 14400",
            **{f"faster {label}": 1.0 for label in labels},
        },
        "initial": MIXTURES[name],
        "emission": {"NO": "4e6*(1 + t/20000)"},
        "deposition": {"O3": "1e-5*where(daylight, 1, 0.25)", "NO2": "4e-6 + 0*t"},
        "solver": TIGHT,
    }  # fmt: skip
    return Air(with_factors(network, labels), labels, day, SOLVERS[name])


def changed(conditions: Mapping[str, Any], section: str, name: str, factor: float) -> dict[str, Any]:
    text = conditions[section][name]
    number, _, unit = text.partition(" ")
    new = f"{float(number) * factor!r} {unit}" if section == "initial" else f"({text})*{factor!r}"
    return {**conditions, section: {**conditions[section], name: new}}


def with_factors(network: ReactionNetwork, labels: tuple[str, ...]) -> ReactionNetwork:
    """Return the network with factors on some rate constants, which conditions may set."""
    reactions = [
        replace(each, rate=Binary("*", each.rate, Parameter(f"faster {each.label}"))) if each.label in labels else each
        for each in network.reactions
    ]
    factors = tuple(OpenParameter(f"faster {label}", "1") for label in labels)
    return replace(network, reactions=tuple(reactions), declared=(*network.declared, *factors))


def faster(conditions: Mapping[str, Any], label: str, factor: float) -> dict[str, Any]:
    return {**conditions, "rates": {**conditions["rates"], f"faster {label}": factor}}


def slope(more: xr.Dataset, less: xr.Dataset, species: str) -> float:
    """Return d ln c / d ln x by a central difference."""
    ends = [float(each[species][-1]) for each in (more, less)]
    return float(np.log(ends[0] / ends[1]) / np.log((1.0 + PART) / (1.0 - PART)))


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_decay_has_the_sensitivities_of_its_solution() -> None:
    """A = A0 exp(-k t): d ln A/d ln k = -k t,  d ln A/d ln A0 = 1;  B = A0 (1 - exp(-k t))."""
    kt = 1e-4 * 3.0 * 3600.0
    parts: list[tuple[str, float]] = []
    found = box_sensitivity(decay(), DECAY, "A", progress=lambda part, done: parts.append((part, done)))
    assert [parts[0][0], parts[-1]] == ["forward", ("back", 1.0)]
    assert [done for _, done in parts] == sorted(done for part, done in parts if part == "forward") + sorted(
        done for part, done in parts if part == "back"
    )
    assert float(found.rate.sel(reaction="one")) == pytest.approx(-kt, rel=1e-8)
    assert found.initial.values == pytest.approx([1.0, 0.0], abs=1e-9)
    found = box_sensitivity(decay(), DECAY, "b")
    assert float(found.rate[0]) == pytest.approx(kt * np.exp(-kt) / (1.0 - np.exp(-kt)), rel=1e-8)
    assert found.initial_absolute.values == pytest.approx([1.0 - np.exp(-kt), 1.0], rel=1e-8)


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_time_may_be_before_the_end() -> None:
    found = box_sensitivity(decay(), DECAY, "A", at="1 h")
    assert float(found.rate[0]) == pytest.approx(-0.36, rel=1e-8)
    assert found.attrs["time"] == 3600.0


@pytest.fixture(scope="module", params=["small", pytest.param("emep", marks=OTHER_LIBRARIES)])
def air(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Air:
    return air_of(request.param, tmp_path_factory.mktemp("air"))


@pytest.fixture(scope="module")
def of_day(air: Air) -> xr.Dataset:
    return box_sensitivity(air.network, air.day, "O3")


@pytest.mark.parametrize("which", range(4))
def test_rate_constants_as_by_central_differences(air: Air, of_day: xr.Dataset, which: int) -> None:
    label = air.faster[which]
    runs = [box(air.network, faster(air.day, label, 1.0 + part)) for part in (PART, -PART)]
    assert float(of_day.rate.sel(reaction=label)) == pytest.approx(slope(*runs, "O3"), rel=2e-5)


@pytest.mark.parametrize(
    ("section", "name"),
    [("initial", "O3"), ("initial", "NO2"), ("emission", "NO"), ("deposition", "O3"), ("deposition", "NO2")],
)
def test_inputs_agree_with_central_differences(air: Air, of_day: xr.Dataset, section: str, name: str) -> None:
    runs = [box(air.network, changed(air.day, section, name, 1.0 + part)) for part in (PART, -PART)]
    along = {"initial": "species", "emission": "emitted", "deposition": "deposited"}[section]
    assert float(of_day[section].sel({along: name})) == pytest.approx(slope(*runs, "O3"), rel=2e-5)


def test_a_taylor_remainder_of_a_day_is_of_second_order(air: Air, of_day: xr.Dataset) -> None:
    """Test the logarithm of ozone as a function of the logarithm of the emission of NO."""
    first, base = float(of_day.emission[0]), float(box(air.network, air.day)["O3"][-1])

    def remainder(part: float) -> float:
        end = float(box(air.network, changed(air.day, "emission", "NO", float(np.exp(part))))["O3"][-1])
        return abs(np.log(end / base) - part * first)

    assert np.log2(remainder(0.08) / remainder(0.04)) == pytest.approx(2.0, abs=0.05)


@pytest.fixture(scope="module")
def of_steps(air: Air) -> xr.Dataset:
    return box_sensitivity(air.network, air.steps, "O3")


@pytest.mark.compiles
@pytest.mark.parametrize("which", range(4))
def test_rate_constants_by_gauss_seidel(air: Air, of_steps: xr.Dataset, which: int) -> None:
    label = air.faster[which]
    runs = [box(air.network, faster(air.steps, label, 1.0 + part)) for part in (PART, -PART)]
    assert float(of_steps.rate.sel(reaction=label)) == pytest.approx(slope(*runs, "O3"), rel=2e-5)


@pytest.mark.compiles
@pytest.mark.parametrize(("section", "name"), [("initial", "O3"), ("initial", "NO2"), ("emission", "NO")])
def test_inputs_by_gauss_seidel(
    air: Air, of_steps: xr.Dataset, section: str, name: str
) -> None:  # fmt: skip
    runs = [box(air.network, changed(air.steps, section, name, 1.0 + part)) for part in (PART, -PART)]
    along = {"initial": "species", "emission": "emitted"}[section]
    assert float(of_steps[section].sel({along: name})) == pytest.approx(slope(*runs, "O3"), rel=2e-5)


@pytest.mark.compiles
def test_boxes_by_both_solvers_depend_on_the_same(of_day: xr.Dataset, of_steps: xr.Dataset) -> None:
    assert np.abs(of_day.rate - of_steps.rate).max() < 0.02
    assert "deposition" not in of_steps


@pytest.mark.compiles
def test_many_boxes_by_gauss_seidel_are_refused(air: Air) -> None:
    states = xr.Dataset({"O3": ("cell", [1e12, 2e12], {"units": "molecules/cm3"})})
    with pytest.raises(CaseError, match="gradients of several boxes need a Rosenbrock method"):
        box_sensitivity(air.network, air.steps, "O3", states)


def test_cells_are_independent_boxes(air: Air, of_day: xr.Dataset) -> None:
    names = list(air.day["initial"])
    first = box(air.network, air.day).isel(time=0)
    states = xr.Dataset(
        {name: ("cell", float(first[name]) * np.array([1.0, 2.0, 0.5]), {"units": "molecules/cm3"}) for name in names}
    )
    found = box_sensitivity(air.network, air.day, "O3", states)
    assert found.rate.dims == ("reaction", "cell")
    assert found.rate.isel(cell=0).values == pytest.approx(of_day.rate.values, rel=1e-6, abs=1e-9)
    assert abs(float(found.initial.sel(species="O3")[1] - of_day.initial.sel(species="O3"))) > 1e-3


def test_recording_changes_no_bit(air: Air, of_day: xr.Dataset) -> None:
    assert float(of_day.value) == float(box(air.network, air.day)["O3"][-1])


@pytest.mark.thorough
@pytest.mark.compiles
def test_photolysis_that_is_switched_in_the_published_problem(tmp_path: Path) -> None:
    """The EMEP problem has jumps at sunset and midnight; the perturbation dims the light."""
    air = air_of("emep", tmp_path)
    problem = BoxConditions.load(resource("cases/emep-box") / "conditions.toml").to_dict()
    problem["time"] |= {"start": "18 h", "length": "8 h", "output_every": "8 h"}
    problem["initial"] = air.day["initial"]
    problem["rates"] |= {f"faster {label}": 1.0 for label in air.faster}
    problem["solver"] |= TIGHT
    found = box_sensitivity(air.network, problem, "O3", at="26 h")
    runs = [box(air.network, faster(problem, "J3", 1.0 + part)) for part in (PART, -PART)]
    assert abs(float(found.rate.sel(reaction="J3"))) > 1e-3
    assert float(found.rate.sel(reaction="J3")) == pytest.approx(slope(*runs, "O3"), rel=2e-5)


@pytest.mark.parametrize(
    ("changes", "of", "at", "text"),
    [
        ({}, "Q", None, "not a species of small"),
        ({}, "O3", "12 h", "is not between"),
        pytest.param(
            {"solver": {"precision": "single", "relative_tolerance": 1e-3}}, "O3", None, "double", marks=OTHER_LIBRARIES
        ),
    ],
)
def test_boxes_without_a_gradient_are_refused(
    tmp_path: Path, changes: dict[str, Any], of: str, at: str | None, text: str
) -> None:  # fmt: skip
    air = air_of("small", tmp_path)
    with pytest.raises(CaseError, match=text):
        box_sensitivity(air.network, {**air.day, **changes}, of, at=at)


def test_sensitivities_of_zero_are_refused(tmp_path: Path) -> None:
    air = air_of("small", tmp_path)
    with pytest.raises(DataError, match="the concentration of HNO3 is 0"):
        box_sensitivity(air.network, {**air.day, "initial": {}, "emission": {}}, "HNO3")

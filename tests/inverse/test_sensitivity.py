"""Sensitivities of a receptor compared with perturbed forward runs."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.inverse import CostOfFunction, Options, gradient, sensitivity
from airshed.inverse.checkpoints.stores import MemoryStore
from airshed.inverse.gradient import Watcher

from .small import RECEPTOR, SOURCE, changed_rates, measured, small, uneven

EXACT = 1e-5
POINT = {"lon": 7.3, "lat": 50.3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def found(folder: Path) -> xr.Dataset:
    return sensitivity(small(folder, receptor={"fields": ["O3", "NO"], "every": "30 min"}), RECEPTOR)


def central(value: Callable[[float], float], step: float) -> float:
    """Return the derivative by differences of fourth order."""
    near, far = (value(step) - value(-step), value(2.0 * step) - value(-2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


def test_the_value_is_that_of_the_plain_run(folder: Path, found: xr.Dataset) -> None:
    assert float(found.value) == measured(small(folder))
    assert found.value.attrs["units"] == "mol mol-1"


@pytest.mark.parametrize("species", ["NO", "VOC"])
def test_a_perturbed_point_source_confirms_the_emission(folder: Path, species: str) -> None:
    def value(change: float) -> float:
        return measured(small(folder, emissions=_with({"species": species, "rate": f"{1.0 + change!r} mol/s"})))

    base = small(folder, emissions=_with({"species": species, "rate": "1 mol/s"}))
    exact = sensitivity(base, RECEPTOR).emission.sel(species=species).sel(POINT, method="nearest").sum("hour")
    assert float(exact) * 3600.0 == pytest.approx(central(value, 0.05), rel=EXACT)


def _with(more: dict[str, Any]) -> dict[str, Any]:
    point = [
        {**SOURCE},
        {**SOURCE, "species": "VOC", "lon": 7.05, "height": "80 m", "rate": "3 mol/s"},
        {**SOURCE, **more},
    ]
    return {"point": point, "area": [{"lon": [7, 8], "lat": [50, 50.6], "rates": {"NO2": "1e-9 mol/m2/s"}}]}


def test_a_perturbed_boundary_confirms_it(folder: Path, found: xr.Dataset) -> None:
    def value(change: float) -> float:
        values = {"O3": f"{45.0 + change!r} ppb", "NO": "0.5 ppb", "NO2": "3 ppb", "VOC": "8 ppb"}
        return measured(small(folder, boundary={"values": values}))

    of = {name: found[name].sel(species="O3") for name in ("boundary", "top", "initial")}
    exact = float(sum(each.sum() for each in of.values()))  # the initial air is that of the lateral boundary
    assert exact * 1e-9 == pytest.approx(central(value, 0.5), rel=EXACT)


def test_a_perturbed_beginning_confirms_it(folder: Path) -> None:
    case = small(folder)
    start, bump = uneven(case), xr.zeros_like(uneven(case)["NO2"])
    bump[1, 1, 1] = 1.0

    def value(change: float) -> float:
        return measured(case, start.assign(NO2=start["NO2"] + change * bump))

    found = sensitivity(case, RECEPTOR, initial=start)
    exact = float(found.initial.sel(species="NO2")[1, 1, 1])
    assert exact == pytest.approx(central(value, 1e-13), rel=EXACT)


@pytest.mark.compiles
def test_a_perturbed_rate_constant_confirms_it(folder: Path, found: xr.Dataset) -> None:
    at = {"lon": RECEPTOR["lon"], "lat": RECEPTOR["lat"]}
    grid = small(folder).make_grid()
    distance = np.hypot(grid.lat - at["lat"], grid.lon - at["lon"])
    row, column = np.unravel_index(distance.argmin(), distance.shape)
    with closing(changed_rates(folder)) as run:
        by_factor = central(lambda part: float(run({("rates", "R3"): 1.0 + part})["O3"][0, 0, row, column]), 1e-3)
    assert float(found.rate[list(found.reaction.values).index("R3")]) == pytest.approx(by_factor, rel=EXACT)


@pytest.mark.parametrize("name", ["O3", "NO"])
def test_a_jump_during_the_run_confirms_the_fields_in_time(folder: Path, found: xr.Dataset, name: str) -> None:
    seconds = float((found.time[1] - found.time[0]) / np.timedelta64(1, "s"))
    assert seconds == 1800.0

    def value(change: float) -> float:
        with airshed.Simulation(small(folder)) as simulation:
            simulation.run(until=seconds)
            state, number = simulation.model.stepper.state, simulation.model.network.index(name)
            jump = np.zeros(simulation.model.grid.shape)
            jump[0, 1, 1] = change
            for level in (state.q, state.q_other):
                level[:, :, number] += simulation.model.layout.pack(jump)
            simulation.run()
            return float(simulation["O3"].sel(lon=RECEPTOR["lon"], lat=RECEPTOR["lat"], level=0.0, method="nearest"))

    exact = float(found[f"adjoint_{name}"][1, 0, 1, 1])
    assert exact == pytest.approx(central(value, 1e-12), rel=EXACT)
    assert found[f"adjoint_{name}"][0].values == pytest.approx(found.initial.sel(species=name).values, rel=1e-12, abs=0)


def test_contributions_are_sums_over_sources_and_a_wrong_sign_or_a_lost_species_shows(
    folder: Path, found: xr.Dataset
) -> None:
    def value(change: float) -> float:
        sources = _with({"rate": "0 mol/s"})
        for point, rate in zip(sources["point"], (2.0, 3.0, 0.0), strict=True):
            point["rate"] = f"{rate * (1.0 + change)!r} mol/s"
        return measured(small(folder, emissions=sources))

    sources = found.source.values
    whole = float(found.contribution.values[sources == "point sources"].sum())
    cut = central(value, 0.02)
    assert whole == pytest.approx(cut, rel=EXACT)
    of = found.source_species.values
    assert float(found.contribution.values[(sources == "point sources") & (of != "VOC")].sum()) != pytest.approx(cut)
    assert -whole != pytest.approx(cut)
    emitted = np.isin(sources, ["point sources", "area sources"])
    assert float(found.emission_contribution.sum()) == pytest.approx(
        float(found.contribution.values[emitted].sum()), rel=1e-12
    )


def test_the_sensitivity_per_tonne_is_in_ppb(found: xr.Dataset) -> None:
    mol = found.emission.sel(species="NO2").mean("hour")
    assert found.per_tonne.sel(species="NO2").values == pytest.approx(1e9 * mol.values * 1e6 / 46.0055, rel=1e-4)
    assert found.per_tonne.attrs["units"] == "ppb t-1"


@pytest.mark.parametrize(("start", "length", "hours"), [("10:30", "2 h", 3), ("10:00", "30 min", 1)])
def test_hours_are_those_of_utc_and_a_tonne_is_released_all_the_time(
    tmp_path: Path, start: str, length: str, hours: int
) -> None:
    time = {"start": f"2022-06-01T{start}:00Z", "length": length, "maximum_step": "150 s"}

    def value(rate: float) -> float:
        emissions = _with({"species": "VOC", "rate": f"{2.0 + rate!r} mol/s"})
        return measured(small(tmp_path, time=time, emissions=emissions), uneven(case))

    case = small(tmp_path, time=time, emissions=_with({"species": "VOC", "rate": "2 mol/s"}))
    found = sensitivity(case, {**RECEPTOR, "time": length}, initial=uneven(case))
    assert [str(each)[11:16] for each in found.hour.values] == [f"{10 + n}:00" for n in range(hours)]
    exact = 1e9 * central(value, 1e-3) * 1e3 / 0.016043 / case.time.length.value
    assert float(found.per_tonne.sel(species="VOC").sel(POINT, method="nearest")) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("late", [-1e-9, -9e-7])
def test_a_time_near_the_end_of_a_step_counts_as_that(folder: Path, late: float) -> None:
    def asked(seconds: float) -> CostOfFunction:
        return CostOfFunction(seconds, ["O3"], lambda q: (float(q["O3"].sum()), {"O3": 0.0 * q["O3"] + 1.0}))

    exact = gradient(small(folder), asked(3600.0))
    found = gradient(small(folder), asked(3600.0 + late))
    np.testing.assert_array_equal(found.adjoints.initial, exact.adjoints.initial)
    assert found.adjoints.initial.sum() > 1.0


@pytest.mark.parametrize(
    ("times", "shape", "words"),
    [
        ([1800.0, 1800.0], (3, 5, 6), "must ascend"), ([1800.0, 900.0], (3, 5, 6), "must ascend"),
        ([1800.0], (), r"has O3 with the shape \(\)"),
        ([1800.0], (3, 5, 5), r"with the shape of the grid, \(3, 5, 6\)"),
    ],
)  # fmt: skip
def test_an_invalid_cost_is_refused(folder: Path, times: list[float], shape: tuple[int, ...], words: str) -> None:
    cost = CostOfFunction(1800.0, ["O3"], lambda q: (1.0, {"O3": np.ones(shape)}))
    cost.times = times
    with pytest.raises(CaseError, match=words):
        gradient(small(folder), cost)


@pytest.mark.parametrize(
    "adjoint", [{"plan": "all"}, {"plan": "two-level"}, {"memory": "1 MiB"}, {"store": "files", "disk": "1 GB"}]
)
def test_plans_give_the_same_bits(folder: Path, found: xr.Dataset, adjoint: dict[str, Any]) -> None:
    told: list[str] = []

    class PlanRecorder(Watcher):
        def on_plan(self, line: str) -> None:
            told.append(line)

    again = sensitivity(small(folder, adjoint=adjoint), RECEPTOR, options=Options(watcher=PlanRecorder()))
    assert len(told) == 1
    assert " steps, up to " in told[0]
    for name in ("value", "initial", "emission", "boundary", "top", "rate", "contribution"):
        assert np.array_equal(again[name].values, found[name].values), name


@pytest.mark.parametrize(
    ("receptor", "words"),
    [
        ({}, "the receptor has no species"),
        ({"species": "O3"}, "no place; give place, such as Cologne or Belgium"),
        ({**RECEPTOR, "specie": "O3"}, "receptor.specie is not .*did you mean receptor.species"),
        ({**RECEPTOR, "species": "O4"}, "receptor.species.*O4"),
        ({**RECEPTOR, "measure": "median"}, 'receptor.measure = "median" is not known'),
        ({**RECEPTOR, "measure": "mda8"}, "has 1 hours; mda8 needs at least 8"),
        ({**RECEPTOR, "level": 3}, "receptor.level = 3: the case has the levels 0 to 2"),
        ({**RECEPTOR, "level": -1}, "receptor.level = -1 must be at least 0"),
        ({**RECEPTOR, "time": "2 h"}, "is not within the case, 0 to 1 h"),
        ({**RECEPTOR, "time": "0 h"}, "at the beginning of the run, 0 h, before any step"),
        ({**RECEPTOR, "time": ["0 h", "0.5 h"]}, "a whole number of hours"),
        ({**RECEPTOR, "lon": 9.0}, "receptor.lon = .* is not within the case"),
        ({**RECEPTOR, "lat": [51, 50]}, "the first end is greater than the second"),
        ({**RECEPTOR, "lat": "north"}, "receptor.lat.* must be a "),
        ({**RECEPTOR, "place": "Bonn"}, r"place = .* receptor\.lon or receptor\.lat"),
        ({"species": "O3", "place": "Colonge"}, "is not a country or a city .*; did you mean Cologne"),
        ({"species": "O3", "place": "Paris"}, "receptor.* is not within the case"),
        ({"species": "O3", "place": "Portugal"}, "'Portugal' has no part within the case"),
    ],
)
def test_invalid_receptors_are_refused(folder: Path, receptor: dict[str, Any], words: str) -> None:
    with pytest.raises(CaseError, match=words):
        sensitivity(small(folder), receptor)


def test_a_place_is_a_city_a_country_or_a_box(folder: Path) -> None:
    from airshed.inverse.receptors.receptor import Receptor

    grid = small(folder).make_grid()
    city = Receptor.of({"species": "O3", "place": "bonn"}, 3600.0).weights(grid)
    assert np.argwhere(city).tolist() == [[0, 3, 0]]
    whole = Receptor.of({"species": "O3", "place": "Germany"}, 3600.0).weights(grid)
    box = Receptor.of({"species": "O3", "lon": [7, 8.2], "lat": [50, 51]}, 3600.0).weights(grid)
    assert whole == pytest.approx(box, rel=1e-9)
    part = Receptor.of({"species": "O3", "lon": [7, 7.3], "lat": [50, 50.2]}, 3600.0).weights(grid)
    assert part[0, 0, :3] == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert Receptor.of({"species": "O3", "place": "Cologne"}, 3600.0).title == "O3 in Cologne"


def test_a_receptor_is_in_the_area_for_any_longitude_convention() -> None:
    from airshed.inverse.receptors.receptor import Receptor

    for area, lon, column in (((175.0, 190.0), -175.5, 9), ((-10.0, 10.0), 355.5, 5), ((350.0, 370.0), -4.5, 5)):
        grid = Grid.regular(area, (46.0, 54.0), 1.0, [20.0])
        for place in (lon, [lon - 0.5, lon + 0.5]):
            found = Receptor.of({"species": "O3", "lon": place, "lat": [50, 51]}, 3600.0).weights(grid)
            assert np.argwhere(found).tolist() == [[0, 4, column]]
    shown = Receptor.of({"species": "O3", "place": "Germany"}, 3600.0)
    far, near = (Grid.regular(lon, (46.0, 56.0), 1.0, [20.0]) for lon in ((365.0, 376.0), (5.0, 16.0)))
    assert shown.weights(far) == pytest.approx(shown.weights(near), abs=1e-12)


class FieldReader(Watcher):
    """Watcher that reads the adjoint fields at every step."""

    def on_step(self, seconds: float, worth: Callable[[], Any]) -> None:
        worth()


def test_reading_fields_in_the_backward_pass_does_not_change_the_result(folder: Path) -> None:
    """Reading a field completes the adjoint of transport, which must not be counted for the inputs of transport."""
    case = small(folder, horizontal_diffusion={"diffusivity": "smagorinsky"})
    cost = CostOfFunction(1800.0, ["O3"], lambda q: (float(q["O3"].sum()), {"O3": 1.0 + 0.0 * q["O3"]}))
    plain, looked = (
        gradient(case, cost, options=Options(watcher=each)).adjoints.read for each in (Watcher(), FieldReader())
    )
    assert plain is not None
    assert looked is not None
    names = [name for name in plain.relative if name.startswith("horizontal_diffusion")]
    assert names
    for name in names:
        assert abs(plain.relative[name]).max() > 0.0
        assert np.array_equal(looked.relative[name], plain.relative[name])


def test_each_level_is_read_once_for_three_steps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    get = MemoryStore.get
    monkeypatch.setattr(MemoryStore, "get", lambda store, key: read.append(key) or get(store, key))
    found = sensitivity(small(folder, adjoint={"plan": "all"}), RECEPTOR)
    levels = [key for key in read if key.startswith("level-")]
    assert levels == [f"level-{number}" for number in reversed(range(1, found.attrs["steps"] + 1))]


def test_a_receptor_in_python_is_not_sought_in_the_file(folder: Path) -> None:
    case = small(folder, receptor={"species": "O3"})
    for species in ("ozone", "Ozone"):
        with pytest.raises(CaseError) as refused:
            sensitivity(case, {**RECEPTOR, "species": species})
        assert str(refused.value).startswith(f"receptor.species: {species!r} is not a species of ")
        assert str(refused.value).endswith("did you mean O3?")


def test_a_receptor_without_a_time_is_reported(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = []

    class Listener(Watcher):
        def on_notice(self, line: str) -> None:
            lines.append(line)

    case = small(folder)
    receptor = {key: value for key, value in RECEPTOR.items() if key != "time"}
    sensitivity(case, receptor, options=Options(watcher=Listener()))
    hours = case.time.length.value / 3600.0
    assert lines == [f"the receptor has no time: it is measured at the end of the case, {hours:g} h; set receptor.time"]
    assert caplog.messages == lines
    sensitivity(case, {**receptor, "time": case.time.length.text}, options=Options(watcher=Listener()))
    assert len(lines) == 1

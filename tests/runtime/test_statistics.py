"""Means and extremes over the interval between two records."""

import json
from typing import Any, Literal

import netCDF4
import numpy as np
import pytest

import airshed
from airshed.case.case import RunCase
from airshed.core.errors import CaseError, OutputError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.box import Box
from airshed.io.archive import load_arrays, save_arrays
from airshed.io.results import merge
from airshed.io.strategies.choice import missing
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.runtime import registry
from airshed.runtime.model import BatchLimits, PlainModel, SavedState, Snapshot
from airshed.runtime.registry import BuiltModel, ModelKind
from airshed.runtime.statistics import TimeStatistics

CHANGE = 1700.0
"""Seconds between times at which a step must end."""

SLOPES = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, 7.0]])


class GaugeCase(RunCase):
    """A case of gauges."""

    model: Literal["gauges"] = "gauges"


class Gauges(PlainModel):
    """Three gauges at two heights: a linear and a quadratic level, and a flow whose values are those of steps."""

    batch_limits = BatchLimits(batch=4)
    longest = 500.0

    def __init__(self, case: GaugeCase, ranks: Communicator) -> None:
        super().__init__()
        gauge = Coordinate("gauge", np.arange(3.0), {"long_name": "number of the gauge"})
        height = Coordinate("height", np.array([1.0, 2.0]), {"units": "m"})
        self.domain = Domain.even(Axes((height, gauge), divided=("gauge",)), ranks)
        both = ("height", "gauge")
        self.fields = FieldRegistry([
            FieldSpec("linear", both, "m", "Linear in time", settable=True),
            FieldSpec("quadratic", both, "m", "Quadratic in time"),
            FieldSpec("flow", ("gauge",), "m s-1", "Mean change of the quadratic level over the step", over_step=True),
        ])  # fmt: skip
        self.offset, self.flow = np.zeros(2), np.zeros(3)

    def next_change(self) -> float:
        return (self.seconds // CHANGE + 1) * CHANGE

    def longest_step(self, until: float) -> float:
        return self.longest

    def step_to(self, seconds: float) -> None:
        self.flow = SLOPES[0] * (seconds**2 - self.seconds**2) / (seconds - self.seconds)

    def view(self, name: str) -> Any:
        t = self.seconds
        if name == "linear":
            return self.domain.box.of(1.0 + SLOPES * t + self.offset[:, None])
        return self.domain.box.of(SLOPES * t * t if name == "quadratic" else self.flow)

    def set(self, name: str, value: object) -> None:
        self.offset = self.offset + np.asarray(value)

    def save(self) -> Snapshot:
        return Snapshot({}, {"offset": self.offset, "flow": self.flow}, self._moment())

    def restore(self, saved: SavedState) -> None:
        self.offset, self.flow = np.array(saved.whole["offset"]), np.array(saved.whole["flow"])
        self._set_moment(saved)


def build(case: GaugeCase, ranks: Communicator, check: Any) -> BuiltModel:
    check(ranks)
    return BuiltModel(Gauges(case, ranks))


@pytest.fixture(scope="module", autouse=True)
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._MODELS, "gauges", ModelKind(GaugeCase, build))
        yield


def case(*outputs, length="4 h", restart="50 min"):
    return GaugeCase.from_dict({
        "time": {"start": "2022-06-01T00:20:00Z", "length": length},
        "output": outputs, "restart": {"every": restart},
    })  # fmt: skip


def mean(every="1 h", name="output", statistic="mean", **more):
    return {"every": every, "name": name, "statistic": statistic, **more}


def written(folder, given, name="output", until=None, **options):
    with airshed.Simulation(given, output=folder, **options) as simulation:
        simulation.run(until)
    with airshed.open_run(folder, name) as result:
        return result.load()


def seconds_of(result, name="time"):
    return (result[name].values - np.datetime64("2022-06-01T00:20:00", "ns")) / np.timedelta64(1, "s")


@pytest.mark.parametrize(
    ("every", "length"), [("1 h", "4 h"), ("17 min", "4 h"), ("1999.8 s", "4 h"), ("100 s", "1700 s")]
)
def test_the_mean_of_what_rises_linearly_is_exact(tmp_path, every, length):
    """Records at the ends of steps, within steps, and several within one step, as in the last case."""
    more = [mean("70 s", "more")] if every == "100 s" else []
    result = written(tmp_path / "run", case(mean(every), *more, length=length))
    begin, end = seconds_of(result, "time_bnds").T
    assert np.array_equal(begin[1:], end[:-1])
    assert begin[0] == 0.0
    middle = 0.5 * (begin + end)
    np.testing.assert_allclose(result["linear"].values, 1.0 + SLOPES * middle[:, None, None], rtol=2e-7, atol=2e-4)
    assert len(end) == int((1700.0 if more else 4 * 3600.0) / (end[0] - begin[0]) + 1e-9)


def test_the_mean_of_a_flow_is_the_change_of_its_level_over_the_interval(tmp_path):
    result = written(tmp_path / "run", case(mean("850 s"), restart="850 s"))
    begin, end = seconds_of(result, "time_bnds").T
    np.testing.assert_allclose(result["flow"].values, SLOPES[0] * (begin + end)[:, None], rtol=2e-7)


def test_a_mean_is_that_of_the_steps_that_an_observer_sees(tmp_path):
    times, seen, flows = [0.0], [0.0], []
    with airshed.Simulation(case(mean("85 min")), output=tmp_path / "run") as simulation:

        def look(info):
            times.append(info.time)
            seen.append(simulation.values("quadratic")[1, 2])
            flows.append(simulation.values("flow")[2])

        simulation.run(observer=look)
    steps = np.diff(times)
    assert steps.min() < 0.9 * steps.max()
    ends = np.searchsorted(times, np.array([0, 1, 2]) * 5100.0)
    with airshed.open_run(tmp_path / "run") as result:
        for record, (first, last) in enumerate([ends[:2], ends[1:]]):
            middles = 0.5 * (np.array(seen[first:last]) + np.array(seen[first + 1 : last + 1]))
            expected = np.sum(steps[first:last] * middles) / 5100.0
            assert result["quadratic"].values[record, 1, 2] == pytest.approx(expected, rel=1e-7)
            of_ends = np.sum(steps[first:last] * seen[first + 1 : last + 1]) / 5100.0
            assert of_ends != pytest.approx(expected, rel=1e-3)
            of_steps = np.sum(steps[first:last] * flows[first:last]) / 5100.0
            assert result["flow"].values[record, 2] == pytest.approx(of_steps, rel=1e-7)


def test_a_mean_is_of_second_order_in_the_step(tmp_path, monkeypatch):
    errors = []
    for number, longest in enumerate((425.0, 212.5)):
        monkeypatch.setattr(Gauges, "longest", longest)
        result = written(tmp_path / f"{number}", case(mean("1700 s")))
        exact = SLOPES[1, 2] * 1700.0**2 / 3.0
        errors.append(result["quadratic"].values[0, 1, 2] - exact)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize(("statistic", "rising", "falling"), [("maximum", 1, 0), ("minimum", 0, 1)])
def test_an_extreme_counts_both_ends_of_the_interval(tmp_path, statistic, rising, falling):
    result = written(tmp_path / "run", case(mean("25 min", statistic=statistic)))
    bounds, linear = seconds_of(result, "time_bnds"), result["linear"].values
    np.testing.assert_allclose(linear[:, 1, 2], 1.0 + 7.0 * bounds[:, rising], rtol=1e-7)
    np.testing.assert_allclose(linear[:, 0, 1], 1.0 - 2.0 * bounds[:, falling], rtol=1e-7)
    assert result["linear"].attrs["cell_methods"] == f"time: {statistic}"
    flow = result["flow"].values[:, 2]
    assert np.all(np.diff(flow) > 0.0)  # of the interval's own steps: at its start holds the flow of the step before
    assert flow[0] > 0.0


STOPS = [1.0, 900.0, 1500.0, 3599.0, 3600.0, 5000.1, 9000.0, 10790.0]
OUTPUTS = [mean(), mean("17 min", "means"), mean("11 min", "peaks", "maximum"), {"every": "20 min", "name": "points"}]


@pytest.fixture(scope="module")
def undisturbed(registered, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    written(folder, case(*OUTPUTS))
    return folder


def same(folder, other):
    names = [f"{each['name']}.nc" for each in OUTPUTS]
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_a_run_that_is_stopped_and_resumed_anywhere_has_the_same_bytes(tmp_path, undisturbed):
    for stop in STOPS:
        with airshed.Simulation(case(*OUTPUTS), output=tmp_path / "run", resume=True) as simulation:
            simulation.run(until=stop)
    written(tmp_path / "run", case(*OUTPUTS), resume=True)
    assert same(tmp_path / "run", undisturbed)


def test_a_run_that_ends_by_an_error_goes_on_from_its_last_restart(tmp_path, undisturbed):
    def fail(info):
        if info.time > 8500.0:
            raise RuntimeError("the power is cut")

    with pytest.raises(RuntimeError), airshed.Simulation(case(*OUTPUTS), output=tmp_path / "run") as simulation:
        simulation.run(observer=fail)
    with airshed.Simulation(case(*OUTPUTS), output=tmp_path / "run", resume=True) as simulation:
        assert 0.0 < simulation.seconds < 8500.0
        simulation.run()
    assert same(tmp_path / "run", undisturbed)


def test_a_run_that_is_looked_at_anywhere_has_the_same_bytes(tmp_path, undisturbed):
    with airshed.Simulation(case(*OUTPUTS), output=tmp_path / "run") as simulation:
        for stop in STOPS:
            simulation.run(until=stop)
        simulation.run()
    assert same(tmp_path / "run", undisturbed)


@pytest.mark.parametrize("stop", [130.0, 280.0, 420.0])
def test_several_records_within_one_step_survive_a_stop_among_them(tmp_path, stop):
    given = case(mean("100 s"), mean("70 s", "more"), length="1700 s")
    with airshed.Simulation(given, output=tmp_path / "run") as simulation:
        simulation.run(until=stop)
        assert simulation.model.steps <= 1
    written(tmp_path / "run", given, resume=True)
    written(tmp_path / "whole", given)
    for name in ("output.nc", "more.nc"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_restart_without_the_sums_would_change_the_mean(tmp_path, undisturbed, monkeypatch):
    """The negative control."""
    with airshed.Simulation(case(*OUTPUTS), output=tmp_path / "run") as simulation:
        simulation.run(until=5000.0)
    restore = TimeStatistics.restore

    def forgetful(statistics, saved):
        restore(statistics, saved)
        for each in statistics._interval.so_far.values():
            each[...] = 0.0

    monkeypatch.setattr(TimeStatistics, "restore", forgetful)
    written(tmp_path / "run", case(*OUTPUTS), resume=True)
    assert not same(tmp_path / "run", undisturbed)


def test_a_restart_that_lacks_the_sums_is_refused(tmp_path):
    with airshed.Simulation(case(mean()), output=tmp_path / "run") as simulation:
        simulation.run(until=5000.0)
    for path in (tmp_path / "run" / "restart").iterdir():
        arrays, metadata = load_arrays(path)
        save_arrays(path, {name: each for name, each in arrays.items() if "so_far" not in name}, metadata)
    with pytest.raises(OutputError, match="restart"):
        airshed.Simulation(case(mean()), output=tmp_path / "run", resume=True)


def test_a_change_between_steps_counts_from_its_time_on(tmp_path):
    for stop in (1700.0, 2000.0):  # at the end of a step, and within one, which is made once more from its begin
        folder = tmp_path / f"{stop:g}"
        with airshed.Simulation(case(mean("1700 s"), mean("400 s", "short")), output=folder) as simulation:
            simulation.run(until=stop)
            simulation["linear"] = np.array([100.0, 0.0])
            begin = simulation.seconds
            simulation.run()
        with airshed.open_run(folder) as result:
            raised = result["linear"].values[1, 0] - (1.0 + SLOPES[0] * 2550.0)
            np.testing.assert_allclose(raised, 100.0 * (3400.0 - begin) / 1700.0, rtol=1e-4)


THERE = [name for name in ("files", "mpiio", "zarr", "gather") if missing(name) is None]
WAYS = [(name, how) for name in THERE for how in ("none", "zlib") if (name, how) != ("mpiio", "zlib")]


@pytest.mark.parametrize(("strategy", "compression"), WAYS)
def test_all_strategies_hold_the_same(tmp_path, strategy, compression):
    given = case(mean("17 min", strategy=strategy, compression=compression, fields=["linear", "flow"]))
    with airshed.Simulation(given, output=tmp_path / "run") as simulation:
        simulation.run(until=5000.0)
    found = written(tmp_path / "run", given, resume=True)
    expected = written(tmp_path / "other", case(mean("17 min", fields=["linear", "flow"])))
    assert found.drop_attrs(deep=False).identical(expected.drop_attrs(deep=False))
    assert "time_bnds" in found


@pytest.mark.parametrize("strategy", [name for name in ("files", "zarr") if name in THERE])
def test_a_merged_result_is_that_of_gather(tmp_path, strategy):
    for name in (strategy, "gather"):
        written(tmp_path / name, case(mean("17 min", strategy=name, compression="zlib")))
    (merged,) = merge(tmp_path / strategy)
    assert merged.read_bytes() == (tmp_path / "gather" / "output.nc").read_bytes()


def test_the_file_says_by_cf_what_its_values_are(tmp_path):
    written(tmp_path / "run", case(mean(), {"every": "1 h", "name": "points"}))
    with netCDF4.Dataset(tmp_path / "run" / "output.nc") as file:
        assert file["time"].bounds == "time_bnds"
        assert file["time_bnds"].dimensions == ("time", "bnds")
        assert file["time_bnds"][:].tolist() == [[3600.0 * n, 3600.0 * (n + 1)] for n in range(4)]
        assert file["time"][:].tolist() == [3600.0, 7200.0, 10800.0, 14400.0]
        assert file["linear"].cell_methods == "time: mean"
        assert file["linear"].dtype == np.float32
    with netCDF4.Dataset(tmp_path / "run" / "points.nc") as file:
        assert "bounds" not in file["time"].ncattrs()
        assert "time_bnds" not in file.variables
        assert file["linear"].cell_methods == "time: point"
        assert len(file["time"]) == 5


def test_an_interval_that_is_not_complete_is_not_written(tmp_path):
    assert seconds_of(written(tmp_path / "run", case(mean("90 min")))).tolist() == [5400.0, 10800.0]
    with airshed.Simulation(case(mean("5 h"), mean("4 h", "other")), output=tmp_path / "longer") as simulation:
        (notice,) = [each for each in simulation.notices if "no record" in each]
        assert notice.startswith("output output has no record: the first mean over 5 h is complete after the end")


@pytest.mark.parametrize("strategy", THERE)
def test_a_run_that_is_stopped_before_the_first_record_has_none(tmp_path, strategy):
    with airshed.Simulation(case(mean("3 h", strategy=strategy)), output=tmp_path / "run") as simulation:
        simulation.run(observer=lambda info: simulation.request_stop())
    with airshed.open_run(tmp_path / "run") as result:
        assert result["linear"].shape == (0, 2, 3)
        assert result["time_bnds"].shape == (0, 2)


def test_a_restart_holds_what_is_asked_for_alone(tmp_path):
    given = case(mean(fields=["linear"]), mean("2 h", "flow", fields=["flow"]))
    with airshed.Simulation(given, output=tmp_path / "run") as simulation:
        simulation.run(until=5000.0)
    path = max((tmp_path / "run" / "restart").iterdir(), key=lambda each: float(each.stem))
    with np.load(path) as restart:
        found = {name: restart[name].shape for name in restart.files if "output." in name}
        times = json.loads(restart["metadata.json"])
    assert found == {
        "beside.output.output.so_far.linear": (3, 2), "beside.output.output.last.linear": (3, 2),
        "beside.output.flow.so_far.flow": (3,),
    }  # fmt: skip
    assert times["beside.output.output.times"][0] == 3600.0


def test_a_model_that_does_not_give_the_order_of_its_cells_is_refused(tmp_path, monkeypatch):
    packs = Box.whole(1, 4)
    monkeypatch.setattr(Domain, "even", classmethod(lambda cls, axes, ranks: cls(axes, ranks, axes.whole, packs)))
    with pytest.raises(CaseError, match=r"Domain\.tiling"):
        airshed.Simulation(case(mean()), output=tmp_path / "run")

"""ERA5 files on several ranks, read in parallel or by the first one: each rank gets the bits of the whole."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.era5 import open_era5, read_era5
from airshed.models.air.weather.era5 import Era5Meteorology
from airshed.models.air.weather.era5_data import Era5Data, ReadingPlan, _BatchReader, air_mass_of, open_part
from airshed.models.air.weather.fields import by_name, of_use
from airshed.models.air.weather.state import always
from airshed.parallel.communicator import SingleRank

CLOUD = by_name()["cloud_water"]
START = np.datetime64("2022-08-31T01:00")
GRID = Grid.regular((0, 6), (46, 50), 0.5, [20.0, 100.0, 500.0, 2000.0, 6000.0])
WINDOWS = [Window(0, 8, 0, 5), Window(0, 8, 5, 12)]
LENGTH = 7200.0


class OneOfSeveral(SingleRank):
    """A rank whose first one's parcels have already come, and who speaks only while nothing goes wrong."""

    def __init__(self, rank: int, parcels: list[list[bytes]]) -> None:
        self.rank, self.size, self._parcels, self._next = rank, len(WINDOWS), parcels, 0

    def scatter(self, values: Sequence[Any] | None) -> Any:
        if self.rank == 0:
            assert values is not None
            self._parcels.append([pickle.dumps(value) for value in values])
        self._next += 1
        return pickle.loads(self._parcels[self._next - 1][self.rank])

    def gather_all(self, value: Any) -> list[Any]:
        return [value]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Six hours of wind, humidity, pressure and rain, and a map of land, a file each."""
    random = np.random.default_rng(11)
    lat, lon, level = np.arange(52.0, 43.9, -1.0), np.arange(-2.0, 10.1, 1.0), np.arange(137, 40, -8)
    times = np.datetime64("2022-08-31T00:00", "ns") + np.arange(6) * np.timedelta64(1, "h")
    full, flat = ("time", "level", "latitude", "longitude"), ("time", "latitude", "longitude")
    shape = (times.size, level.size, lat.size, lon.size)
    fields = {
        "u": (full, 9.0 * random.random(shape)),
        "v": (full, 9.0 * random.random(shape)),
        "q": (full, 6e-3 * random.random(shape)),
        "clwc": (full, 1e-4 * random.random(shape)),
        "sp": (flat, 98e3 + 1e3 * random.random((times.size, lat.size, lon.size))),
        "tp": (flat, 1e-3 * random.random((times.size, lat.size, lon.size))),
        "lsm": (flat[1:], random.random((lat.size, lon.size))),
    }
    coords = {"time": times, "level": ("level", level, {"long_name": "model_level_number"})}
    dataset = xr.Dataset(fields, {**coords, "latitude": lat, "longitude": lon})
    folder = tmp_path_factory.mktemp("era5")
    for name in fields:
        dataset[[name]].to_netcdf(folder / f"{name}.nc")
    return sorted(folder.glob("*.nc"))


@pytest.mark.parametrize("strategy", ["parallel", "root"])
def test_each_rank_gets_the_bits_of_the_whole(files: list[Path], strategy: Any) -> None:
    whole = Era5Meteorology(read_era5(files), GRID, START, length=LENGTH, extra=[CLOUD])
    parcels: list[list[bytes]] = []
    for rank, window in enumerate(WINDOWS):
        ranks = OneOfSeveral(rank, parcels)
        data = open_part(files, GRID, START, LENGTH, ReadingPlan(WINDOWS, ranks, strategy), [CLOUD])
        part = Era5Meteorology(data, GRID, START, length=LENGTH, window=window)
        assert (part.times, part.provenance) == (whole.times, whole.provenance)
        for seconds in (0.0, 5000.0):
            part.take([seconds])
            expected, found = whole.at(seconds).part(window), part.at(seconds)
            for name in always():
                assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
            assert found.cloud_water.tobytes() == expected.cloud_water.tobytes()
            assert found.cloud_water.max() > 0.0


def test_what_no_process_asks_for_is_not_read(files: list[Path]) -> None:
    data = Era5Data.of(open_era5(files), GRID, START, LENGTH, None)
    assert "clwc" not in data.instants(0)
    met = Era5Meteorology(data, GRID, START, length=LENGTH)
    assert set(met.at(0.0).names) == set(always())
    assert met.provenance["clwc"] == "in the files, not used"
    asked = Era5Meteorology(open_era5(files), GRID, START, length=LENGTH, extra=of_use("optional"))
    assert set(asked.at(0.0).names) == {*always(), "cloud_water"}
    assert asked.provenance["cloud_water"] == "read: clwc from clwc.nc (no unit given, assumed kg kg-1)"
    assert asked.provenance["updraught_mass_flux"] == "none given"


def test_a_rank_reads_the_hours_and_points_that_it_needs(files: list[Path]) -> None:
    with open_era5(files) as dataset:
        data = Era5Data.of(dataset, GRID, START, LENGTH, WINDOWS[0])
        fields = data.instants(0)
    # 1 to 3 o'clock; 46 to 50 N; 0 to 2.5 E, a column more for the faces, and the point beyond
    assert data.head.period.source == (1, 2, 3)
    assert fields["u"].shape == (13, 5, 5)
    assert fields["tp"].shape == (2, 5, 5)  # the hour before, and the one after
    assert "lsm" not in fields


def test_damage_beyond_what_is_read_does_no_harm(files: list[Path], tmp_path: Path) -> None:
    with xr.open_dataset(next(path for path in files if path.name == "u.nc")) as wind:
        damaged = wind.load()
    damaged["u"].loc[{"longitude": 6.0, "latitude": 48.0}] = np.nan
    damaged.to_netcdf(tmp_path / "u.nc")
    mended = [tmp_path / "u.nc" if path.name == "u.nc" else path for path in files]
    west, east = (OneOfSeveral(rank, []) for rank in (0, 1))
    open_part(mended, GRID, START, LENGTH, ReadingPlan(WINDOWS, west, "parallel")).instants.take([0])
    damage = open_part(mended, GRID, START, LENGTH, ReadingPlan(WINDOWS, east, "parallel"))
    with pytest.raises(DataError, match=r"variable u is missing \(NaN\) at .* longitude 6"):
        damage.instants.take([0])


class Batches:
    """Instants that are read some at once; some of them cannot be."""

    def __init__(self, *damaged: int, size: int = 100_000) -> None:
        self.asked: list[list[int]] = []
        self.size, self._damaged = size, damaged

    def __call__(self, indices: Sequence[int]) -> list[dict[str, np.ndarray]]:
        self.asked.append(list(indices))
        for index in indices:
            if index in self._damaged:
                raise DataError(f"instant {index} is damaged")
        return [{"u": np.full(self.size, float(index))} for index in indices]


def test_instants_are_read_some_at_once_and_returned_once() -> None:
    read = Batches()
    one_by_one = _BatchReader(read, 6)
    assert [one_by_one(index)["u"][0] for index in (0, 1, 2, 3, 4, 5, 2)] == [0, 1, 2, 3, 4, 5, 2]
    assert read.asked == [[0, 1], [2, 3], [4, 5], [2, 3]]
    last = Batches()
    assert _BatchReader(last, 6)(5)["u"][0] == 5
    assert last.asked == [[5]]


def test_backwards_they_are_read_with_those_before_them() -> None:
    read = Batches()
    one_by_one = _BatchReader(read, 6)
    assert [one_by_one(index)["u"][0] for index in (5, 4, 3, 2, 1, 0)] == [5, 4, 3, 2, 1, 0]
    assert read.asked == [[5], [3, 4], [1, 2], [0]]


@pytest.mark.parametrize(
    ("size", "asked"), [(50_000, [[0, 1], [2, 3, 4], [5, 6, 7], [8]]), (10, [[0, 1], [*range(2, 8)], [8]])]
)
def test_the_smaller_instants_are_the_more_are_read_at_once(size: int, asked: list[list[int]]) -> None:
    batches = Batches(size=size)
    read = _BatchReader(batches, 9)
    assert [read(index)["u"][0] for index in range(9)] == [*range(9)]
    assert batches.asked == asked


def test_a_later_instant_that_is_damaged_is_told_when_it_is_needed() -> None:
    read = _BatchReader(Batches(3), 8)
    assert [read(index)["u"][0] for index in (0, 1, 2)] == [0, 1, 2]
    with pytest.raises(DataError, match="instant 3"):
        read(3)
    assert read(4)["u"][0] == 4


def test_what_is_read_at_once_does_not_stay_in_memory(files: list[Path]) -> None:
    with open_era5(files) as dataset:
        fields = Era5Data.of(dataset, GRID, START, LENGTH, WINDOWS[0]).instants(0)
    assert all(each.base is None for each in fields.values())


def test_the_air_mass_is_the_same_in_runs_of_any_length() -> None:
    """Two days and six hours of data: the six hours are no day."""
    times = np.datetime64("2022-08-30T00", "ns") + np.arange(54) * np.timedelta64(1, "h")
    humidity = np.linspace(4e-3, 12e-3, 54)[:, None, None, None] * np.ones((1, 2, 3, 4))
    pressure = np.full((54, 3, 4), 1.01e5)
    dataset = xr.Dataset(
        {"q": (("time", "level", "latitude", "longitude"), humidity),
         "sp": (("time", "latitude", "longitude"), pressure)},
        coords={"time": times, "level": [137, 136], "latitude": [48.0, 49.0, 50.0], "longitude": [5.0, 6.0, 7.0, 8.0]},
        attrs={"level_kind": "model"},
    )  # fmt: skip
    short, long = air_mass_of(dataset, range(7)), air_mass_of(dataset, range(54))
    assert list(long.noons) == [np.datetime64("2022-08-30T12"), np.datetime64("2022-08-31T12")]
    for hour in (0, 3, 6):
        when = times[hour]
        assert np.array_equal(short.at(when), long.at(when))
    first, second = long.planes
    assert np.allclose(long.at(np.datetime64("2022-08-31T06")), 0.25 * first + 0.75 * second)
    assert np.array_equal(long.at(np.datetime64("2022-09-01T05")), second)
    assert float((second - first).min()) > 1.0
    by_logarithm = dataset.drop_vars("sp").assign(lnsp=np.log(dataset.sp))
    assert np.allclose(air_mass_of(by_logarithm, range(54)).planes, long.planes, rtol=1e-12)

"""Weather is read ahead, for any order of days, with the same bits on any number of ranks."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.started import python

from airshed.core.errors import CaseError, DataError
from airshed.grid.box import Box
from airshed.models.pasture.inputs import open_inputs
from airshed.models.pasture.inputs.block import Block, Stream
from airshed.models.pasture.inputs.store import FIELDS
from airshed.models.pasture.inputs.synthetic import SyntheticWeather, synthetic_inputs
from airshed.models.pasture.weather.calendar import Calendar

from .inputs_small import NAMES, save_small

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("streaming_ranks.py")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("streamed") / "small"
    save_small(path)
    return path


def spoil(path):
    """Damage all chunks of rain."""
    for file in (path / FIELDS / "rain" / "c").rglob("0"):
        if file.is_file():
            content = bytearray(file.read_bytes())
            content[10] ^= 1
            file.write_bytes(content)


def test_each_day_equals_the_store_in_any_order(small):
    inputs = open_inputs(small)
    box = Box(((3, 29),))
    whole = inputs.weather(box, 0, 150)
    weeks = inputs.calendar.week(np.arange(150))
    with inputs.stream(box) as stream:
        for number in [*range(150), 0, 149, 63, 64, 63, 10]:
            day = stream.day(number)
            assert set(day) == {*NAMES, "day_of_year", "month"}
            for name in day:
                assert np.array_equal(day[name], whole[name][number]), (name, number)
        assert stream.day(7)["radiation"] is not stream.day(70)["radiation"]
        assert len(weeks) == 150


@pytest.mark.parametrize(("first", "count"), [(0, 1), (0, 150), (60, 10), (64, 64), (149, 1)])
def test_several_days_equal_the_store(small, first, count):
    inputs = open_inputs(small)
    with inputs.stream(Box(((0, 40),)), dtype=np.float32) as stream:
        several, whole = stream.days(first, count), inputs.weather(Box(((0, 40),)), first, count, np.float32)
        assert all(np.array_equal(several[name], whole[name]) for name in whole)


def test_missing_days_are_refused(small):
    with open_inputs(small).stream(Box(((0, 40),))) as stream:
        for number in (-1, 150):
            with pytest.raises(CaseError, match="has weather from"):
                stream.day(number)


class RecordedWeather:
    """Weather that records the first day and the thread of each block."""

    calendar, cells, names, block_days = Calendar(np.datetime64("2000-01-01"), 40), 3, ("rain",), 10

    def __init__(self):
        self.made = []

    def block(self, first, days, cells, dtype=np.float64):
        self.made.append((first, threading.current_thread().name))
        return Block(self.calendar, first, days, {"rain": np.full((days, 3), float(first))}, {})


def test_the_next_block_is_read_on_another_thread():
    source = RecordedWeather()
    with Stream(source, Box(((0, 3),))) as stream:
        stream.day(0)
        assert made_in_time(source, [0, 10])
        stream.day(10)
        assert made_in_time(source, [0, 10, 20])
    assert not any(name == threading.current_thread().name for _, name in source.made)


def test_no_block_is_read_after_the_last_day():
    source = RecordedWeather()
    with Stream(source, Box(((0, 3),)), until=9) as stream:
        stream.day(0)
    assert made_in_time(source, [0])


def made_in_time(source, expected) -> bool:
    """Return True if these blocks are computed, in this order, within some seconds."""
    end = time.monotonic() + 10.0
    while len(source.made) < len(expected) and time.monotonic() < end:
        time.sleep(0.01)
    return [first for first, _ in source.made] == expected


def test_errors_of_reading_ahead_appear_at_the_request(tmp_path):
    save_small(tmp_path / "small")
    inputs = open_inputs(tmp_path / "small")
    spoil(tmp_path / "small")
    with (
        inputs.stream(Box(((0, 40),))) as stream,
        pytest.raises(DataError, match=r"rain, days or weeks 0 to 63 cannot"),
    ):
        stream.day(0)


@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_any_number_of_ranks_and_both_strategies_give_the_same_bits(small, tmp_path):
    save_small(tmp_path / "spoilt")
    spoil(tmp_path / "spoilt")
    command = [MPIEXEC, "-n", "3", python(), "-m", "mpi4py", PROGRAM, small, tmp_path / "spoilt"]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    told = json.loads(answer.stdout)
    spoilt = told.pop("spoilt")
    assert len(told) == 6
    assert len(set(told.values())) == 1, told
    assert len(spoilt) == 3
    assert len(set(spoilt)) == 1
    assert "rain, days or weeks 0 to 63 cannot be read" in spoilt[0]


@pytest.fixture(scope="module")
def made():
    return synthetic_inputs("Queensland", 0.2, Calendar.between("1999-12-01", "2003-12-31"), seed=5)


def test_synthetic_weather_does_not_depend_on_the_request(made):
    whole = made.weather(Box(((0, made.grid.cells),)), 0, 200, np.float32)
    for first, days, cells in ((0, 200, (100, 101)), (63, 2, (0, 3000)), (130, 70, (3700, 3801))):
        part = made.weather(Box((cells,)), first, days, np.float32)
        for name in made.source.names:
            assert np.array_equal(part[name], whole[name][first : first + days, slice(*cells)]), name


def test_synthetic_weather_depends_on_the_seed(made):
    again, other = (
        synthetic_inputs("Queensland", 0.2, made.calendar, seed).weather(Box(((0, 50),)), 0, 30)["rain"]
        for seed in (5, 6)
    )
    assert np.array_equal(again, made.weather(Box(((0, 50),)), 0, 30)["rain"])
    assert not np.array_equal(again, other)


def test_synthetic_weather_is_plausible(made):
    weather = made.weather(Box(((0, made.grid.cells),)), 31, 4 * 365)
    rain = weather["rain"]
    assert rain.min() == 0.0
    assert 0.1 < (rain > 0.1).mean() < 0.3
    assert (rain.mean(axis=0) * 365.25 / made.source._means["rain"]).mean() == pytest.approx(1.0, abs=0.15)
    assert (weather["min_temperature"] < weather["max_temperature"] - 3.0).all()
    summer = np.isin(weather["month"], (12, 1, 2))
    tropics = made.grid.cell_lat > -18.0
    assert rain[summer][:, tropics].mean() > 3.0 * rain[~summer][:, tropics].mean()
    assert weather["max_temperature"][summer].mean() > weather["max_temperature"][~summer].mean() + 3.0
    wet = rain[:, 2000] > 0.0
    chance = wet.mean()
    assert (wet[1:] & wet[:-1]).mean() > 1.2 * chance**2  # wet days follow wet days
    assert ((rain[:, 2000] > 0.0) & (rain[:, 2001] > 0.0)).mean() > 1.2 * chance**2  # wet cells are next to wet cells
    assert "synthetic" in made.attributes["synthetic"]


def test_synthetic_weather_is_not_sent_from_rank_to_rank(made):
    class TwoRanks:
        rank, size, handle = 0, 2, None

    with pytest.raises(CaseError, match="set reading = every"):
        Stream(made.source, Box(((0, 5),)), TwoRanks(), reading="root")
    assert isinstance(made.source, SyntheticWeather)

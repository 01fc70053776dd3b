"""Emission changes at full hours UTC, whenever a case starts."""

import numpy as np
import pytest

from airshed.kernels.layout import Layout
from airshed.mechanism import load_mechanism
from airshed.models.air.emissions.report import emission_rows
from airshed.models.air.emissions.sources import PackedSources, hour_of

LATE = np.datetime64("2022-06-01T13:37:00")
SHARP = np.datetime64("2022-06-01T13:00:00")


class Staircase:
    """Emits as many mol/s as full hours UTC have passed since midnight."""

    species, levels, changes = ("TRACER",), 1, ()

    def __init__(self, start):
        self._midnight = float((start - np.datetime64("2022-06-01T00:00:00")) / np.timedelta64(1, "s"))

    def rate(self, seconds):
        return np.full((1, 1, 1, 1), (self._midnight + seconds) // 3600.0)


@pytest.mark.parametrize(
    ("start", "seconds", "begin"),
    [(SHARP, 0.0, 0.0), (SHARP, 3599.0, 0.0), (SHARP, -1.0, -3600.0), (LATE, 0.0, -2220.0), (LATE, 1379.0, -2220.0),
     (LATE, 1380.0, 1380.0), (LATE, -2221.0, -5820.0)],
)  # fmt: skip
def test_hours_are_those_of_the_clock(start, seconds, begin):
    assert hour_of(seconds, start) == begin


def total(field):
    return lambda: field.sum(axis=(-2, -1))


def test_a_case_that_starts_within_an_hour_changes_its_emission_at_the_next_one():
    packed = PackedSources([Staircase(LATE)], Layout(1, 1, 8, np.float64), (1, 1), LATE, total)
    assert packed.next_change(0.0) == 1380.0
    assert packed.next_change(1380.0) == 4980.0
    assert [packed.at(seconds)[1]()[0] for seconds in (0.0, 1379.0, 1381.0, 4979.0, 4981.0)] == [13, 13, 14, 14, 15]


def test_the_report_counts_the_same_hours():
    network = load_mechanism("tracer")
    (row,) = emission_rows([Staircase(LATE)], network, 0.0, 7200.0, LATE)
    assert row.moles == pytest.approx(13 * 1380.0 + 14 * 3600.0 + 15 * 2220.0)


def test_sources_are_replaced_by_ones_of_the_same_species_alone():
    class AnotherSpecies(Staircase):
        species = ("another",)

    class Double(Staircase):
        def rate(self, seconds):
            return 2.0 * super().rate(seconds)

    packed = PackedSources([Staircase(LATE)], Layout(1, 1, 8, np.float64), (1, 1), LATE, total)
    assert packed.at(0.0)[1]()[0] == 13
    packed.replace([Double(LATE)])
    assert packed.at(0.0)[1]()[0] == 26
    with pytest.raises(ValueError, match="same species"):
        packed.replace([AnotherSpecies(LATE)])
    with pytest.raises(ValueError, match="same species"):
        packed.replace([])

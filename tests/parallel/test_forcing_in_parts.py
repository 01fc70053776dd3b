"""Forcing that transport ranks compute in parts: the bits of a single rank, and only a part on each rank."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.started import python

from airshed.parallel.communicator import SingleRank
from airshed.parallel.decomposition import fits
from airshed.parallel.groups import Allgather, allgather_cuts

MPIEXEC = Path(sys.executable).with_name("mpiexec")
CASES = Path(__file__).parents[2] / "cases"
PROGRAM = Path(__file__).with_name("forcing_in_parts.py")
TEAMS = {
    "four": [4, 4, 4, 4],
    "three, by level, the first reads": [3, 3, 3],
    "four of two threads, single precision": [4, 4, 4, 4],
    "teams of two": [2, 2, 2, 2],
    "teams of two and one": [2, 2, 1],
    "steady air": [2, 2],
}

with_mpi = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


@pytest.fixture(scope="module")
def answers():
    command = [MPIEXEC, "-n", "4", python(), "-m", "mpi4py", PROGRAM, CASES]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@with_mpi
@pytest.mark.thorough
@pytest.mark.parametrize("kind", TEAMS)
def test_each_rank_has_the_bits_that_a_rank_alone_makes(answers, kind):
    for found in answers[kind]:
        assert {name: hours for name, hours in found["same"].items() if hours != [True] * 4} == {}


@with_mpi
@pytest.mark.thorough
@pytest.mark.parametrize("kind", TEAMS)
def test_each_rank_makes_its_part_alone(answers, kind):
    found = answers[kind]
    assert [each["team"] for each in found] == TEAMS[kind]
    whole = found[0]["all columns"]
    assert len(whole) == 2
    assert len(set(whole)) == 1
    teams = 0.0
    for each in found:
        assert len(each["columns"]) == 2
        assert each["team"] == 1 or max(each["columns"]) < whole[0]
        teams += 1.0 / each["team"]
    by_instant = np.sum([each["columns"] for each in found], axis=0)
    assert by_instant.tolist() == [round(teams) * whole[0]] * 2


@pytest.mark.thorough
@with_mpi
def test_the_comparison_sees_another_hour_and_what_one_rank_makes_otherwise(answers):
    """Negative controls: the comparison detects another hour, and values that the second rank alone changes."""
    for found in answers["four"]:
        later = {name for name, hours in found["an hour later"].items() if not any(hours)}
        assert later >= {"flux_x", "flux_y", "flux_z", "exchange", "deposition", "rate"}
        otherwise = found["second rank's otherwise"]
        assert {name for name, hours in otherwise.items() if not all(hours)} == {"deposition"}
        assert not any(otherwise["deposition"])
    assert not all(all(found["an hour later"]["emission"]) for found in answers["four"])


@pytest.mark.thorough
@with_mpi
def test_what_one_rank_cannot_make_is_raised_on_all(answers):
    assert [found["raised"] for found in answers["four"]] == ["no weather at 36000 s"] * 4


@given(st.integers(1, 200), st.integers(2, 45), st.integers(2, 45))
def test_any_number_of_ranks_forms_teams_that_fit(ranks, rows, columns):
    cuts = allgather_cuts(ranks, rows, columns, 8)
    sizes = [after - before for before, after in pairwise(cuts)]
    assert (cuts[0], cuts[-1]) == (0, ranks)
    assert max(sizes) - min(sizes) <= 1
    assert all(fits(rows, columns, 8, size) for size in sizes)
    assert len(sizes) == 1 or not fits(rows, columns, 8, ranks)


def test_teams_are_as_few_as_can_be():
    assert allgather_cuts(20, 40, 40, 8) == (0, 20)
    assert allgather_cuts(23, 40, 40, 8) == (0, 12, 23)  # 23 rows of tiles do not fit into 40 rows
    assert allgather_cuts(66, 40, 40, 8) == (0, 33, 66)
    assert allgather_cuts(132, 40, 40, 8) == (0, 44, 88, 132)
    assert allgather_cuts(3, 2, 8, 8) == (0, 1, 2, 3)


def test_a_rank_alone_keeps_what_it_wants_of_its_fields():
    team, rng = Allgather(SingleRank(), 3, 13, 8), np.random.default_rng(1)
    cells, east, north = (rng.random(shape) for shape in ((3, 2, 5, 8), (3, 3, 5, 8), (4, 2, 5, 8)))
    found = team.whole([(cells, slice(1, 3)), (east, [0, 4]), (north, slice(5))])
    for one, other in zip(found, (cells[:, :, 1:3], east[:, :, [0, 4]], north), strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_that_is_wanted_is_not_gathered():
    """Constant weather and independent levels leave no upward fluxes to gather."""

    class Ranks(SingleRank):
        handle = object()  # any message would fail

    assert Allgather(Ranks(), 3, 13, 8).whole([]) == []

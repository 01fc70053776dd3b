"""Load balancing: unchanged bits, less work on the busiest rank, and no moves without gain."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.started import python

from airshed.kernels.layout import Layout
from airshed.parallel.balance import BalanceRecord, Columns, Move, cuts, level, profitable_moves
from airshed.parallel.redistribution.costs import FREE, LinearCost

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("balanced.py")
CASES = Path(__file__).parents[2] / "cases"

WORK = st.lists(st.integers(0, 10**6), min_size=1, max_size=40)


def after(work, moves):
    result = np.array(work, float)
    for move in moves:
        result[move.giver] -= move.work
        result[move.taker] += move.work
    return result


@given(WORK)
def test_levelled_work_is_the_mean_in_fewer_moves_than_ranks(work):
    moves = level(work)
    np.testing.assert_allclose(after(work, moves), np.mean(work), atol=1e-6 * max(work) + 1e-9)
    assert len(moves) < len(work)
    givers = {move.giver for move in moves}
    assert givers.isdisjoint(move.taker for move in moves)
    assert all(move.work > 0.0 for move in moves)


def test_equal_work_stays():
    assert level([5.0, 5.0, 5.0]) == []
    assert level([6.0, 4.0]) == [Move(0, 1, 1.0)]


def test_work_moves_where_it_pays():
    work = [10.0, 2.0]
    moves = level(work)
    assert profitable_moves(moves, work, 1.0, FREE) == moves
    assert profitable_moves(moves, work, 1.0, LinearCost(3.8, 0.0)) == moves
    # a message takes longer than the work that it saves
    assert profitable_moves(moves, work, 1.0, LinearCost(4.1, 0.0)) == []
    assert profitable_moves(moves, work, 1.0, LinearCost(0.0, 1.1)) == []
    assert profitable_moves(moves, work, 0.001, LinearCost(3.8, 0.0)) == []  # quick work


def test_a_small_gain_is_none():
    work = [10.01, 9.99]
    assert profitable_moves(level(work), work, 1.0, FREE) == []
    assert profitable_moves(level([11.0, 9.0]), [11.0, 9.0], 1.0, FREE) != []


def test_what_does_not_pay_stays_beside_what_does():
    work = [20.0, 8.0, 7.9, 4.1]
    paying = profitable_moves(level(work), work, 1.0, LinearCost(2.2, 0.0))
    assert 0 < len(paying) < len(level(work))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_cuts_are_the_nearest_from_the_end(work, parts):
    work = np.array(work, float)
    amounts = np.array(parts) * work.sum() / (sum(parts) + 1.0)
    edges = cuts(work, amounts.tolist())
    assert len(edges) == len(amounts) + 1
    assert edges[-1] == len(work)
    assert edges == sorted(edges)
    assert edges[0] >= 0
    assert abs(work[edges[0] :].sum() - amounts.sum()) <= 0.5 * work.max() + 1e-9


@given(st.integers(1, 5), st.integers(1, 40), st.integers(1, 6), st.data())
def test_runs_know_which_lanes_are_in_use(rows, columns, width, data):
    layout = Layout(rows, columns, width, np.float64)
    lanes = np.arange(layout.blocks * width).reshape(-1, width) < columns
    used = np.broadcast_to(lanes.sum(axis=1), (rows, layout.blocks)).reshape(-1)
    number = np.arange(len(used), dtype=float)
    whole = Columns({"number": number}, {"work": number.copy()}, layout.blocks, width, layout.last_lanes)
    first = data.draw(st.integers(0, len(used)))
    last = data.draw(st.integers(first, len(used)))
    found = []
    for run in whole.runs(first, last):
        assert len(run) > 0
        ends = np.arange(len(run)) % run.blocks == run.blocks - 1
        found += zip(run.given["number"], np.where(ends, run.last_lanes, width), strict=True)
    assert found == list(zip(number[first:last], used[first:last], strict=True))
    assert len(whole.runs(first, last)) <= 2


def test_the_record_tells_what_was_evened_out():
    assert BalanceRecord().imbalance() == (0.0, 0.0)
    assert BalanceRecord(work=10.0, before=15.0, after=11.0).imbalance() == pytest.approx((0.5, 0.1))


@pytest.fixture(scope="module")
def answers():
    if not MPIEXEC.exists():
        pytest.skip("mpiexec of the wheel mpich is not installed")
    command = [MPIEXEC, "-n", "3", python(), "-m", "mpi4py", PROGRAM, CASES]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.mark.thorough
@pytest.mark.compiles
def test_balance_changes_no_bit(answers):
    assert len({run["bits"] for run in answers["runs"]}) == 1
    assert len(answers["runs"]) == 7


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_busiest_rank_integrates_fewer_steps(answers):
    _, off, always, cheap, dear, _, three = answers["runs"]
    assert max(off["home"]) > 1.2 * sum(off["home"]) / 2  # the case is imbalanced
    for run in (always, cheap):
        assert run["home"] == off["home"]
        assert sum(run["done"]) == sum(off["done"])
        assert max(run["done"]) < 0.9 * max(off["done"])
        assert sum(run["moved"]) > 0
    assert sum(1 for moved in three["moved"] if moved) > 1
    assert dear["moved"] == [0, 0]
    assert dear["done"] == off["done"]


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_summary_tells_the_imbalance(answers):
    _, off, always, *_ = answers["runs"]
    assert "evened out" in always["note"]
    assert f"moving {sum(always['moved'])} columns of packs" in always["note"]
    assert "evened out" not in off["note"]


@pytest.mark.thorough
@pytest.mark.compiles
def test_cells_that_fail_elsewhere_are_tried_again_at_home(answers):
    alone, off, balanced = answers["retried"]
    assert alone["retried"] > 0
    assert sum(balanced["moved"]) > 0
    assert alone["bits"] == off["bits"] == balanced["bits"]


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_failure_names_the_cell_wherever_it_was(answers):
    off, balanced = answers["failed"]
    assert [name for name, _ in off] == [name for name, _ in balanced]
    assert "lon -27.5, lat 55, level 3" in balanced[0][0]
    assert balanced[0][1] + balanced[1][1] > 0

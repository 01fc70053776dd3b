"""The law of the same bits: however a case is run, its state, budgets, output, summary and restarts are the same.

One row of the table is one run; each pair of levels of two factors occurs in some row. Rows of several ranks run in one
start of four ranks, and so do planted errors, each of which must be seen.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.laws.faults import FAULTS
from tests.laws.pairwise import covering_rows, pairs_of, possible_pairs
from tests.laws.ways import (
    DECIDING,
    FACTORS,
    GROUPS,
    PLAIN,
    SCHEMES,
    SERVED,
    UPDATES,
    cost_of,
    found_in,
    make_cases,
    normal,
    size_before,
    size_of,
)

from airshed.parallel.communicator import SingleRank

pytestmark = [pytest.mark.standard, pytest.mark.compiles]

MPIEXEC = Path(sys.executable).with_name("mpiexec")
ROOT = Path(__file__).parents[2]
SEED = 82
"""Seed that gives few and cheap rows."""

ROWS = covering_rows(FACTORS, DECIDING, normal, cost_of, SEED)
ROWS += [
    PLAIN | {"model": model, "ranks": ranks, "restart": "same ranks"}
    for model, ranks in (("split columns", GROUPS), ("split columns", "3: [3, 1]"), ("concurrent", GROUPS))
]
ROWS += [
    normal(PLAIN | {"model": UPDATES} | some)
    for some in (
        {"threads": "2", "batch": "3", "restart": "same ranks"},
        {"ranks": "2: [2, 1]", "restart": "other ranks", "strategy": "zarr"},
    )
]  # fmt: skip
STEERED = normal(PLAIN | {"model": "imex", "observer": "steering", "ranks": "2: [1, 2]"})
ROWS.append(STEERED)
PLANTED = [normal(PLAIN | fault.row) for fault in FAULTS.values()]
RUNS = [*zip(ROWS, [""] * len(ROWS), strict=True), *zip(PLANTED, FAULTS, strict=True)]


def name_of(row):
    return " ".join(row.values())


def is_alone(row):
    return size_of(row) == size_before(row) == 1


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    make_cases(folder)
    return folder


@pytest.fixture(scope="module")
def plain(cases, tmp_path_factory):
    """Return the digests of the plain run of each model, one rank, one thread, single steps, and of a steered one."""
    folder = tmp_path_factory.mktemp("plain")
    rows = {model: PLAIN | {"model": model} for model in (*FACTORS["model"], *SCHEMES, UPDATES)}
    rows["steered"] = STEERED | {"ranks": "1"}
    return {name: found_in(row, cases, folder / name, lambda size: SingleRank()) for name, row in rows.items()}


@pytest.fixture(scope="module")
def answers(cases, tmp_path_factory):
    """Return the digests of all runs on ranks, by one start of four ranks."""
    if not MPIEXEC.exists():
        pytest.skip("mpiexec of the wheel mpich is not installed")
    folder = tmp_path_factory.mktemp("rows")
    runs = [(number, run) for number, run in enumerate(RUNS) if not is_alone(run[0])]
    (folder / "rows.json").write_text(json.dumps([run for _, run in runs]))
    command = [MPIEXEC, "-n", "4", sys.executable, "-m", "mpi4py", "-m", "tests.laws.ranks", cases, folder]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0, answer.stderr[-6000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    return {number: each for (number, _), each in zip(runs, found, strict=True)}


@pytest.fixture(scope="module")
def found(cases, tmp_path_factory, request):
    """Return a function that returns the digests of a run; a run on one rank is made in this process."""
    folder = tmp_path_factory.mktemp("alone")

    def of(number):
        row, fault = RUNS[number]
        if not is_alone(row):
            return request.getfixturevalue("answers")[number]
        given = {"fault": FAULTS[fault]} if fault else {}
        return found_in(row, cases, folder / str(number), lambda size: SingleRank(), **given)

    return of


def different(one, other):
    return {name for name in one if one[name] != other[name]}


def test_each_pair_of_levels_occurs():
    possible, rows = possible_pairs(FACTORS, DECIDING, normal), covering_rows(FACTORS, DECIDING, normal, cost_of, SEED)
    assert set().union(*map(pairs_of, rows)) >= possible
    assert not set().union(*map(pairs_of, rows[:-1])) >= possible, "the negative control: the last row is needed"


@pytest.mark.parametrize("number", range(len(ROWS)), ids=map(name_of, ROWS))
def test_the_same_bits(number, found, plain):
    row, digests = ROWS[number], found(number)
    assert set(digests) >= {"state", "summary", *(() if row["observer"] in SERVED else ("output", "restart"))}
    assert different(digests, plain["steered" if row is STEERED else row["model"]]) == set()


@pytest.mark.parametrize("number", range(len(ROWS), len(RUNS)), ids=FAULTS)
def test_a_planted_error_is_seen(number, found, plain):
    row, fault = RUNS[number]
    differ = different(found(number), plain[row["model"]])
    assert differ >= FAULTS[fault].seen
    assert differ.isdisjoint(FAULTS[fault].unseen)


def test_models_differ_in_all_that_is_compared(plain):
    for name in ("state", "budget", "summary", "output", "restart"):
        assert len({found[name] for found in plain.values() if name in found}) >= 2
    assert different(plain["imex"], plain["strang"]) == set(plain["imex"])
    assert different(plain["steered"], plain["imex"]) == {"state", "budget", "summary"}

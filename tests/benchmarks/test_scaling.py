"""`airshed bench scaling`: the fit recovers known costs, ratios are taken per round, and two ranks are measured."""

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.__main__ import app
from benchmarks.scaling import study
from benchmarks.scaling.efficiency import Efficiency, report
from benchmarks.scaling.measure import SHARES, Run, Setup, Spent, median, ratio, run_once
from benchmarks.scaling.model import Load, Machine, MeasuredPoint, extreme
from benchmarks.scaling.northeast import COLUMNS, THEIR_BYTES, region
from benchmarks.scaling.setups import LARGE, SMALL, THIN, halves, setups
from benchmarks.scaling.worker import TimedRanks
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from airshed.core.errors import AirshedError, CaseError
from airshed.core.report import Table
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.parallel import communicator
from airshed.parallel.decomposition import Decomposition

KNOWN = Machine(1e-6, 3e-6, 2e-4, 1e-6, 5e-6, 4e-10, 8e-5, 2e-5, 0.02)
COARSE = ('grid.spacing="1 deg"', 'grid.layers=["50 m", "200 m", "600 m", "1500 m"]', 'time.length="6 h"')


def load(rows: int, columns: int, ranks: int, levels: int = 32) -> Load:
    return Load.of(Decomposition.of(rows, columns, WIDTH, ranks), levels, 66)


LOADS = [
    load(32, 32, 1),
    load(32, 32, 2),
    load(64, 64, 1),
    load(64, 64, 2),
    load(64, 64, 4),
    load(32, 32, 1, 16),
    load(32, 32, 2, 16),
]


def as_measured(machine: Machine, each: Load) -> MeasuredPoint:
    parts = machine.step(each)
    return MeasuredPoint(
        each, parts.compute, parts.control, parts.halo, parts.sums, machine.spread * extreme(each.ranks)
    )


def test_a_load_is_that_of_the_busiest_rank() -> None:
    alone, shared = load(32, 32, 1), load(64, 64, 4)
    assert (alone.columns, alone.messages, alone.bytes) == (1024, 0, 0)
    assert (shared.columns, shared.messages) == (1024, 2)
    assert shared.bytes == 2 * 64 * 2 * 32 * 66 * 8  # four strips of 16 rows: two edges of two rows
    assert load(64, 64, 3).columns == 22 * 64


cost = st.floats(1e-9, 1e-3)


@settings(max_examples=50)
@given(st.tuples(*[cost] * 8), st.floats(0.0, 0.2))
def test_the_fit_finds_the_numbers_that_made_the_points(costs: tuple[float, ...], spread: float) -> None:
    machine = Machine(*costs, spread)
    fitted = Machine.fitted([as_measured(machine, each) for each in LOADS])
    for each in (*LOADS, load(64, 64, 8)):
        assert fitted.step(each).total == pytest.approx(machine.step(each).total, rel=1e-6)
    # a small cost next to a large one of the same part is not recovered to all digits
    assert fitted.sums == pytest.approx(machine.sums, rel=1e-3, abs=1e-6 * (machine.sums + machine.sums_round))
    assert fitted.spread == pytest.approx(spread, abs=1e-12)


def test_constants_are_not_negative_and_points_that_do_not_fit_are_distinguished() -> None:
    points = [as_measured(KNOWN, each) for each in LOADS]
    bent = [replace(point, compute=point.compute * (1.5 if point.load.levels == 16 else 1.0)) for point in points]
    fitted = Machine.fitted(bent)
    assert min(vars(fitted).values()) >= 0.0
    errors = [abs(fitted.step(p.load).compute / p.compute - 1.0) for p in [*points, *bent]]
    assert max(errors) > 0.1
    falling = [replace(p, control=1e-3 / p.load.columns) for p in points]
    assert Machine.fitted(falling).control_column == 0.0


def test_one_rank_alone_has_neither_halo_nor_sums() -> None:
    fitted = Machine.fitted([as_measured(KNOWN, load(32, 32, 1)), as_measured(KNOWN, load(64, 64, 1))])
    assert (fitted.message, fitted.byte, fitted.sums, fitted.sums_round, fitted.spread) == (0.0,) * 5
    parts = KNOWN.step(load(32, 32, 1))
    assert (parts.halo, parts.sums, parts.imbalance) == (0.0, 0.0, 0.0)


def test_ranks_that_never_wait_determine_no_cost_of_halos() -> None:
    """The reason is that their halo exchange may progress all the time."""
    points = [as_measured(KNOWN, each) for each in LOADS]
    fitted = Machine.fitted([replace(point, halo=0.0) for point in points])
    assert (fitted.message, fitted.byte) == (0.0, 0.0)
    assert fitted.cell == pytest.approx(KNOWN.cell)
    some = Machine.fitted([*points, replace(points[-1], halo=0.0)])
    assert (some.message, some.byte) == pytest.approx((KNOWN.message, KNOWN.byte))


def spent(wall: float, halo: float, busy: float) -> Spent:
    parts = {"transport": 0.4 * busy, "rates and sources": 0.1 * busy, "chemistry and mixing": 0.3 * busy}
    return Spent(512, 32, 66, 12, wall, busy, parts, halo, 0.0, 1e6, ((halo, 0.0),) * 11 + ((5.0 * halo, 0.0),))


def test_shares_add_up_and_the_cost_of_calls_is_that_of_the_last_rank() -> None:
    run = Run(Setup("case", "grid", 2), (spent(1.0, 0.1, 0.9), spent(1.0, 0.3, 0.7)))
    assert sum(run.shares.values()) == pytest.approx(1.0)
    assert tuple(run.shares) == SHARES
    assert run.shares["halo"] == pytest.approx(0.1)
    assert run.shares["imbalance"] == pytest.approx(0.1)
    assert run.imbalance == pytest.approx(0.9 / 0.8 - 1.0)
    assert run.cost == pytest.approx(0.9 + 0.1)  # one late step changes nothing


def test_ratios_are_taken_inside_a_round() -> None:
    setup = Setup("case", "grid", 1)
    slow_and_fast = [Run(setup, (spent(wall, 0.0, wall),)) for wall in (1.0, 10.0, 2.0)]
    halved = [Run(setup, (spent(0.5 * run.wall, 0.0, 0.5 * run.wall),)) for run in slow_and_fast]
    assert ratio(slow_and_fast, halved) == 2.0
    assert median(slow_and_fast) == 2.0


def test_setups_are_the_case_four_times_its_columns_and_half_its_layers() -> None:
    sizes = setups("aqm-benchmark", [1, 2, 4])
    assert [setup.size for setup in (sizes[SMALL][0], sizes[LARGE][0], sizes[THIN][0])] == [
        "32 x 32 x 32",
        "64 x 64 x 32",
        "32 x 32 x 16",
    ]
    assert [setup.ranks for setup in sizes[THIN]] == [1, 2]
    assert halves([1, 2, 4, 6]) == [(1, 2), (2, 4)]
    for wrong in ([2, 4], [1, 1], [4, 1]):
        with pytest.raises(CaseError, match="increasing numbers from 1 on"):
            setups("aqm-benchmark", wrong)


def test_ranks_that_cannot_share_the_case_are_refused_before_any_is_started() -> None:
    with pytest.raises(
        CaseError, match=f"32 rows of {32 // WIDTH} packs of {WIDTH} columns; take {16 * 32 // WIDTH} ranks"
    ):
        setups("aqm-benchmark", [1, 1000])


@pytest.mark.thorough
def test_two_ranks_are_measured_in_processes_of_their_own() -> None:
    run = run_once(Setup("aqm-benchmark", "coarse", 2, COARSE), 0.5)
    assert [rank.columns for rank in run.ranks] == [128, 128]
    assert run.ranks[0].bytes == 2 * 16 * 4 * 66 * 8
    assert run.halo > 0.0
    assert run.sums > 0.0
    assert sum(run.shares.values()) == pytest.approx(1.0)


@pytest.mark.thorough
def test_independent_runs_of_a_case_are_simultaneous() -> None:
    run = run_once(Setup("aqm-benchmark", "coarse", 2, COARSE, independent=True), 0.5)
    assert [rank.columns for rank in run.ranks] == [256, 256]
    assert [rank.bytes for rank in run.ranks] == [0, 0]


def test_efficiency_separates_the_program_from_the_machine() -> None:
    """Two ranks lose 10 % on a machine on which two programs lose 20 %, whatever its speed in a round."""
    speeds = (1.0, 3.0, 2.0, 1.5, 1.2, 4.0)
    kinds = {"one": (1, 1.0), "together": (2, 0.5 / 0.8 / 0.9), "independent": (2, 1.0 / 0.8)}
    runs = {
        kind: [Run(Setup("case", "grid", ranks), (spent(wall * speed, 0.0, 1.0),) * ranks) for speed in speeds]
        for kind, (ranks, wall) in kinds.items()
    }
    found = Efficiency(**runs)
    assert found.of().median == pytest.approx(0.72)
    assert (found.of().low, found.of().high) == (pytest.approx(0.72), pytest.approx(0.72))
    assert found.of_machine.median == pytest.approx(0.8)
    assert found.of_program.median == pytest.approx(0.9)
    rows = report(found).tables[1].rows
    assert [row[1] for row in rows] == pytest.approx([0.72, 0.5, 0.8, 0.9])


def test_failing_ranks_report_the_reason() -> None:
    with pytest.raises(AirshedError, match="ended with code"):
        run_once(Setup("aqm-benchmark", "wrong", 1, ("grid.nothing=1",)), 0.5)


def test_the_north_east_has_about_as_many_numbers_as_in_the_paper() -> None:
    five = region("aqm-benchmark", (50.0, 200.0, 600.0, 1500.0, 3000.0))
    assert five.make_grid().shape == (5, COLUMNS[1], COLUMNS[0])
    assert COLUMNS[0] * COLUMNS[1] * 5 * 35 * 8 == pytest.approx(THEIR_BYTES, rel=0.01)


@pytest.mark.parametrize("ranks", ["", "1,two", "0,1", "2,4", "1;2"])
def test_invalid_numbers_of_ranks_are_refused(ranks: str) -> None:
    result = CliRunner().invoke(app, ["scaling", "--ranks", ranks])
    assert result.exit_code != 0
    assert "--ranks" in result.output


def test_the_command_prints_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "measure", _made_up)
    monkeypatch.setattr(study, "northeast", lambda case: Table("north-east", ("a",), ()))
    result = CliRunner().invoke(app, ["scaling", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    tables = {table["title"]: table["rows"] for table in report["tables"]}
    assert len(tables["Wall time and speed-up, N against N/2 ranks"]) == 6
    assert all(
        abs(row["relative error"]) < 1e-6 for row in tables["Model and measurements"] if row["point"] == "fitted"
    )


def _made_up(setups: list[Setup], hours: float, rounds: int, progress: object) -> dict[Setup, list[Run]]:
    """Return runs of a machine with known costs."""
    return {setup: [_made_up_run(setup)] * rounds for setup in setups}


def _made_up_run(setup: Setup) -> Run:
    busiest = study.load_of(setup, 66)
    parts = replace(KNOWN, spread=0.0).step(busiest)
    share = {"transport": 0.5, "rates and sources": 0.1, "chemistry and mixing": 0.4}
    rank = Spent(
        busiest.columns, busiest.levels, 66, 11, parts.total, parts.compute + parts.control,
        {name: part * parts.compute for name, part in share.items()}, parts.halo, parts.sums, float(busiest.bytes),
        ((parts.halo, parts.sums),) * 11,
    )  # fmt: skip
    return Run(setup, (rank,) * setup.ranks)


class DelayedCommunicator:
    """A communicator of two ranks with requests that are complete after the fourth test."""

    def __init__(self) -> None:
        self._asked = 0

    def Get_rank(self) -> int:  # noqa: N802 - the name in MPI
        return 0

    def Get_size(self) -> int:  # noqa: N802
        return 2

    def Iallreduce(self, given: Any, result: Any, operation: Any) -> "DelayedCommunicator":  # noqa: N802
        return DelayedCommunicator()

    def Test(self) -> bool:  # noqa: N802
        self._asked += 1
        return self._asked > 4


def test_waiting_for_sums_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(time, name, lambda: clock[0])

    def all_of(requests: list[Any]) -> None:
        while not requests[0].Test():
            clock[0] += 3.0

    monkeypatch.setattr(communicator, "all_of", all_of)
    ranks = TimedRanks(DelayedCommunicator())
    for number, ask in enumerate((ranks.largest, ranks.total), 1):
        ask(np.ones(1, np.int64))
        assert clock == [12.0 * number]
        assert (ranks.spent.wall, ranks.spent.cpu, ranks.spent.calls) == (12.0 * number, 12.0 * number, number)
        assert ranks.wait == ranks.spent.wall

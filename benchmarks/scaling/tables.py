"""Tables of the scaling study."""

from airshed.core.report import Cell, Report, Table
from airshed.kernels.host import processor, usable_cores
from benchmarks.scaling.measure import SHARES, median, ratio
from benchmarks.scaling.setups import LARGE, SMALL, halves
from benchmarks.scaling.study import ScalingStudy, load_of


def report(scaling: ScalingStudy) -> Report:
    """Return the tables as a report."""
    tables = [
        _walls(scaling),
        _sizes(scaling),
        _shares(scaling),
        _fit(scaling),
        _check(scaling),
        scaling.region,
    ]
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": usable_cores(),
        "rounds, each with all setups": len(next(iter(scaling.runs.values()))),
    }  # fmt: skip
    return Report(f"Scaling of {scaling.case}", [table for table in tables if table.rows], facts)


def _walls(scaling: ScalingStudy) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size in (SMALL, LARGE):
        setups_of = scaling.sizes[size]
        by_ranks = {setup.ranks: scaling.runs[setup] for setup in setups_of}
        doubled = {many: few for few, many in halves(list(by_ranks))}
        for setup in setups_of:
            runs = scaling.runs[setup]
            half = by_ranks.get(doubled.get(setup.ranks, 0))
            faster = [None, None] if half is None else [ratio(half, runs, of) for of in ("wall", "cost")]
            efficiencies = [ratio(by_ranks[1], runs, of) / setup.ranks for of in ("wall", "cost")]
            rows.append((
                setup.size, setup.ranks, 1e3 * median(runs), faster[0], efficiencies[0],
                1e3 * median(runs, "cost"), faster[1], efficiencies[1], median(runs, "imbalance"),
            ))  # fmt: skip
    columns = (
        "grid", "ranks", "wall of a step [ms]", "speed-up", "efficiency", "undisturbed [ms]", "speed-up, undisturbed",
        "efficiency, undisturbed", "imbalance [1]",
    )  # fmt: skip
    note = "undisturbed: core time of the busiest rank, plus the cost of calls in the fastest step"
    if any(isinstance(row[1], int) and row[1] > usable_cores() for row in rows):
        note += f"; more than {usable_cores()} ranks share the cores"
    return Table("Wall time and speed-up, N against N/2 ranks", columns, rows, note)


def _sizes(scaling: ScalingStudy) -> Table:
    small = {setup.ranks: scaling.runs[setup] for setup in scaling.sizes[SMALL]}
    rows: list[tuple[Cell, ...]] = []
    for setup in scaling.sizes[LARGE]:
        few = small.get(setup.ranks // 4) if setup.ranks % 4 == 0 else None
        if few is not None:
            runs = scaling.runs[setup]
            rows.append((setup.ranks, setup.ranks // 4, ratio(runs, few), ratio(runs, few, "cost")))
    one, other = (scaling.sizes[size][0].size for size in (LARGE, SMALL))
    columns = (f"ranks for {one}", f"ranks for {other}", "wall, first over second", "undisturbed")
    return Table("Four times the columns on four times the ranks", columns, rows, "1 is ideal")


def _shares(scaling: ScalingStudy) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size in (SMALL, LARGE):
        for setup in scaling.sizes[size]:
            runs = sorted(scaling.runs[setup], key=lambda run: run.cost)
            middle = runs[len(runs) // 2]
            rows.append((setup.size, setup.ranks, *(middle.shares[name] for name in SHARES)))
    note = "of the undisturbed time of a step, mean over ranks, of the median run"
    return Table("Shares of the time", ("grid", "ranks", *SHARES), rows, note)


def _fit(scaling: ScalingStudy) -> Table:
    machine = scaling.machine
    rows: list[tuple[Cell, ...]] = [
        ("a cell", machine.cell * 1e9, "ns"), ("a column, without its cells", machine.column * 1e6, "us"),
        ("forcing and control of a step", machine.control * 1e6, "us"),
        ("forcing and control of a column", machine.control_column * 1e6, "us"),
        ("a message of the halo", machine.message * 1e6, "us"),
        ("halo, rate", 1e-9 / machine.byte if machine.byte else None, "GB/s"),
        ("sums of a step", machine.sums * 1e6, "us"), ("sums, each doubling of ranks", machine.sums_round * 1e6, "us"),
        ("spread of ranks", 100.0 * machine.spread, "%"),
    ]  # fmt: skip
    title = "Cost of a step, fitted to runs with a core for each rank"
    return Table(title, ("quantity", "value", "unit"), rows)


def _check(scaling: ScalingStudy) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for setup in (each for sizes in scaling.sizes.values() for each in sizes):
        runs = scaling.runs[setup]
        expected = scaling.machine.step(load_of(setup, runs[0].ranks[0].species)).total
        taken = median(runs, "cost")
        used = "fitted" if setup.ranks <= usable_cores() else "predicted"
        rows.append((setup.size, setup.ranks, 1e3 * taken, 1e3 * expected, expected / taken - 1.0, used))
    columns = ("grid", "ranks", "undisturbed [ms]", "model [ms]", "relative error", "point")
    return Table("Model and measurements", columns, rows)

"""`airshed bench`: how fast this machine computes."""

from typing import Annotated

import typer

from airshed.cli.options import AsJson

Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", metavar="NAME", help="emep, carbon_bond or ts1; may be repeated. All without it."),
]
Cells = Annotated[int | None, typer.Option(min=1, help="Cells with states of their own; 128 without it.")]
Ranks = Annotated[int | None, typer.Option("-n", min=2, metavar="RANKS", help="Ranks in both groups; 4 without it.")]


def bench(context: typer.Context, as_json: AsJson = False) -> None:
    """Measure speed, the share of each process, and how close it comes to what the machine can do."""
    if context.invoked_subcommand is not None:
        return
    from airshed.cli.render import show
    from airshed.runtime import benchmark

    show(benchmark.run(), as_json=as_json)


def bench_chemistry(mechanisms: Mechanisms = None, cells: Cells = None, as_json: AsJson = False) -> None:
    """Measure the solvers of chemistry, and MICM beside them where the package musica is installed; some minutes.

    Exit code 1 when the two do not solve the same problem.
    """
    from rich.console import Console

    from airshed.cli.render import show
    from airshed.runtime import bench_chemistry

    with Console(stderr=True).status("bench") as status:
        report = bench_chemistry.run(
            mechanisms or (),
            cells or bench_chemistry.CELLS_BY_DEFAULT,
            tell=lambda name: status.update(f"bench: {name}"),
        )
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


def bench_redistribution(ranks: Ranks = None, as_json: AsJson = False) -> None:
    """Measure how fast arrays move between two groups of ranks, by each strategy and transport; a minute."""
    from rich.console import Console

    from airshed.cli.render import show
    from airshed.runtime import bench_redistribution

    with Console(stderr=True).status("bench redistribution"):
        report = bench_redistribution.run(ranks or bench_redistribution.RANKS_BY_DEFAULT)
    show(report, as_json=as_json)

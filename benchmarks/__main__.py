"""The benchmarks of a checkout: ``python -m benchmarks [NAME] [OPTIONS]``, or ``airshed bench`` there."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from airshed.cli.errors import CommandGroup
from airshed.cli.options import AsJson, Overrides
from airshed.cli.render import show

Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", metavar="NAME", help="emep, carbon_bond or ts1; may be repeated. Default: all."),
]
Cells = Annotated[int | None, typer.Option(min=1, help="Number of different cells. Default: 128.")]
Ranks = Annotated[int | None, typer.Option("-n", min=2, metavar="RANKS", help="Ranks of both groups. Default: 4.")]
RankCounts = Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of ranks, increasing from 1.")]
Hours = Annotated[float, typer.Option(min=0.25, help="Hours of the case that each run simulates.")]
Rounds = Annotated[int, typer.Option(min=1, help="Rounds in which every setup runs once.")]
Picture = Annotated[Path | None, typer.Option(metavar="FILE.png", help="Also draw the result.")]


app = typer.Typer(
    cls=CommandGroup, invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
adjoints = typer.Typer(invoke_without_command=True)
app.add_typer(adjoints, name="adjoint")


@app.callback()
def speed(context: typer.Context, as_json: AsJson = False) -> None:
    """Measure speed, the share of each process, and the fraction of the machine's limits that is reached."""
    if context.invoked_subcommand is not None:
        return
    from benchmarks import speed

    show(speed.run(), as_json=as_json)


@app.command("chemistry")
def chemistry(mechanisms: Mechanisms = None, cells: Cells = None, as_json: AsJson = False) -> None:
    """Measure the chemistry solvers, and MICM for comparison where the package musica is installed; some minutes.

    Exit code 1 where they do not solve the same problem.
    """
    from benchmarks import chemistry

    with Console(stderr=True).status("bench") as status:
        report = chemistry.run(
            mechanisms or (),
            cells or chemistry.CELLS_BY_DEFAULT,
            progress=lambda name: status.update(f"bench: {name}"),
        )
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


@adjoints.callback()
def adjoint(
    context: typer.Context,
    hours: Annotated[float, typer.Option(min=0.25, help="Hours of the case of the gradient.")] = 24.0,
    rounds: Rounds = 5, overrides: Overrides = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure an adjoint step relative to a step, and a gradient relative to a run of west-europe; some minutes."""
    if context.invoked_subcommand is not None:
        return
    from benchmarks import adjoint

    with Console(stderr=True).status("bench adjoint") as status:
        report = adjoint.run(hours, rounds, overrides or (), lambda message: status.update(f"bench adjoint: {message}"))
    show(report, as_json=as_json)


@adjoints.command("io")
def adjoint_io(
    case: Annotated[str, typer.Option(metavar="CASE", help="Case to run, shipped or a path.")] = "west-europe",
    ranks: RankCounts = "1,2,4",
    minutes: Annotated[float, typer.Option(min=1.0, help="Minutes of the case that each run simulates.")] = 60.0,
    rounds: Rounds = 6,
    stores: Annotated[str, typer.Option(metavar="NAME,...", help="Of checkpoints.")] = "files,mpiio,zarr",
    outputs: Annotated[str, typer.Option(metavar="NAME,...", help="Of output.")] = "gather,files,mpiio,zarr",
    folder: Annotated[Path | None, typer.Option(help="Folder for output. Default: a temporary folder.")] = None,
    overrides: Overrides = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure the cost of checkpoints in a gradient and of output in a run, on several numbers of ranks."""
    from benchmarks import adjoint_io

    experiment = adjoint_io.Experiment(
        case, tuple(overrides or ()), minutes, tuple(filter(None, stores.split(","))),
        tuple(filter(None, outputs.split(","))), rounds,
    )  # fmt: skip
    with Console(stderr=True).status("bench adjoint io") as status:
        found = adjoint_io.run(
            experiment, _numbers(ranks), folder, progress=lambda message: status.update(f"bench adjoint io: {message}")
        )
    show(adjoint_io.report(experiment, found), as_json=as_json)


@app.command("redistribution")
def redistribution(ranks: Ranks = None, as_json: AsJson = False) -> None:
    """Measure the speed of redistribution between two groups of ranks, by strategy and transport; a minute."""
    from benchmarks import redistribution

    with Console(stderr=True).status("bench redistribution"):
        report = redistribution.run(ranks or redistribution.RANKS_BY_DEFAULT)
    show(report, as_json=as_json)


@app.command("scaling")
def scaling(
    case: Annotated[str, typer.Option(metavar="CASE", help="Case to run, shipped or a path.")] = "aqm-benchmark",
    ranks: RankCounts = "1,2,4", hours: Hours = 1.0, rounds: Rounds = 5,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure a case on several numbers of ranks, and fit the cost of each part of a step; some minutes."""
    from benchmarks import scaling

    with Console(stderr=True).status("bench") as status:
        measured = scaling.run(
            case, _numbers(ranks), hours, rounds, progress=lambda message: status.update(f"bench: {message}")
        )
    show(scaling.report(measured), as_json=as_json)


@app.command("ranks")
def ranks(
    case: Annotated[str, typer.Option(metavar="CASE", help="Case to run, shipped or a path.")] = "west-europe",
    ranks: Annotated[int, typer.Option("-n", min=2, metavar="RANKS", help="Number of ranks.")] = 2,
    hours: Hours = 12.0, rounds: Rounds = 8, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure the parallel efficiency of a case on several cores, and that of independent programs; some minutes."""
    from benchmarks.scaling import efficiency

    with Console(stderr=True).status("bench") as status:
        found = efficiency.efficiency(
            case, ranks, hours, rounds, progress=lambda message: status.update(f"bench: {message}")
        )
    show(efficiency.report(found), as_json=as_json)


def _check_picture(path: Path | None) -> None:
    """Raise OutputError before the measurement where the picture could not be written after it."""
    from airshed.core.errors import OutputError

    if path is not None and path.suffix.lower() != ".png":
        raise OutputError(f"--picture {path}: the name must end in .png")
    if path is not None and not path.parent.is_dir():
        raise OutputError(f"--picture {path}: there is no folder {path.parent}; create it first")


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list such as 1,2,4; raises CaseError."""
    from airshed.core.errors import CaseError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise CaseError(f"--ranks {text!r} is not a list of numbers; write 1,2,4")
    return [int(part) for part in parts]


@app.command("io")
def io(
    strategies: Annotated[str, typer.Option(metavar="NAME,NAME,...", help="Strategies. Default: all.")] = "",
    grid: Annotated[str, typer.Option(metavar="LONxLATxLEVEL", help="Size of the grid.")] = "64x64x32",
    ranks: Annotated[int, typer.Option("-n", min=1, metavar="RANKS", help="Number of ranks that write.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a run, each with its input and output.")] = 5,
    compute: Annotated[float, typer.Option(min=0.0, help="Seconds of computation in a step.")] = 0.2,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each strategy.")] = 16,
    bandwidth: Annotated[float | None, typer.Option(min=0.1, help="MB/s of all ranks, as on a slow disk.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder for output. Default: a temporary folder.")] = None,
    picture: Picture = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure the strategies of output: their wall time, and the share that asynchronous ones hide."""
    from benchmarks import io

    _check_picture(picture)
    experiment = io.Experiment(
        strategies=tuple(filter(None, strategies.split(","))), grid=io.grid_of(grid), steps=steps,
        compute=compute, repeats=repeats, bandwidth=None if bandwidth is None else 1e6 * bandwidth,
    )  # fmt: skip
    with Console(stderr=True).status("bench io"):
        measured = io.run(experiment, ranks, folder)
    show(io.report(measured), as_json=as_json)
    if picture is not None:
        from benchmarks.io.picture import save_strategies

        typer.echo(save_strategies(measured, picture), err=as_json)


@app.command("output")
def output(
    case: Annotated[str, typer.Option(metavar="CASE", help="Case to run, shipped or a path.")] = "west-europe",
    hours: Annotated[float, typer.Option(min=0.25, help="Hours of the case that each run simulates.")] = 8.0,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of runs, with and without output.")] = 16,
    folder: Annotated[Path | None, typer.Option(help="Folder for output. Default: a temporary folder.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure the cost of a case's output by pairs of whole runs with and without it; some minutes."""
    from benchmarks import output

    with Console(stderr=True).status("bench output") as status:
        report = output.run(
            case, hours, pairs, folder, progress=lambda message: status.update(f"bench output: {message}")
        )
    show(report, as_json=as_json)


@app.command("pasture")
def pasture(
    days: Annotated[int, typer.Option(min=128, help="Days of Australia; 36525 for the whole century.")] = 384,
    rounds: Rounds = 5,
    folder: Annotated[Path | None, typer.Option(help="Folder for output. Default: a temporary folder.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure a year of pasture over Queensland, and a century of Australia at 5 km, extrapolated; a minute or two."""
    from benchmarks import pasture

    with Console(stderr=True).status("bench pasture") as status:
        report = pasture.run(days, rounds, folder, lambda message: status.update(f"bench pasture: {message}"))
    show(report, as_json=as_json)


@app.command("serve")
def serve(
    days: Annotated[int, typer.Option(min=1, max=366, help="Days of Queensland, each a step and an image.")] = 365,
    readers: Annotated[
        int | None, typer.Option(min=1, help="Measure instead readers of west-europe at 10 Hz while it runs.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="Duration of reading, in each of three rounds.")] = 10.0,
    soak: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Read once for this time instead of in rounds: "10 min".'),
    ] = None,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Ranks of the model.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Measure the live server: a year of Queensland stepped by a client, and the time of messages and images.

    With --readers: the slowing of the model, the frame rate of the slowest reader, and the server's memory.
    """
    from airshed.core.units import to
    from benchmarks.serve import load, timing

    with Console(stderr=True).status("bench serve"):
        if soak is not None:
            report = load.soak(readers or 50, 10.0, to(soak, "s", where="--soak"), ranks)
        elif readers is not None:
            report = load.run(readers, 10.0, seconds, ranks)
        else:
            report = timing.run(days)
    show(report, as_json=as_json)


if __name__ == "__main__":
    app(prog_name="airshed bench")

"""`airshed run`: simulate a case."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airshed.cli.errors import INTERRUPTED
from airshed.cli.options import CasePath, Overrides, Threads, settings

if TYPE_CHECKING:
    from airshed.air.case import Case


def run(
    case: CasePath,
    overrides: Overrides = None,
    output: Annotated[Path | None, typer.Option(help="Folder for the results; by default runs/NAME.")] = None,
    threads: Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last restart file in the folder.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Simulate a case and write its results.

    Ctrl-C ends the run after the current step, with valid files; --resume goes on from there.
    """
    from airshed.air.case import Case

    loaded = Case.load(case, settings(overrides, threads))
    folder = output or Path("runs") / loaded.name
    _simulate(loaded, folder, resume=resume, quiet=quiet)


def _simulate(case: "Case", folder: Path, *, resume: bool, quiet: bool) -> None:
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import instant, progress_for
    from airshed.cli.render import show
    from airshed.runtime.simulation import Simulation

    _make_folder(folder)
    with (
        progress_for(case.time.start, quiet=quiet) as progress,
        Simulation(case, output=folder, resume=resume) as simulation,
    ):
        with stop_on_interrupt(simulation.request_stop):
            simulation.run(observer=progress)
        summary = simulation.summary()
    if simulation.seconds < simulation.end:
        at = instant(case.time.start, simulation.seconds)
        typer.echo(f"airshed: stopped at {at}; {folder} holds valid files; --resume goes on from there", err=True)
        raise typer.Exit(INTERRUPTED)
    if not quiet:
        show(summary)
        typer.echo(f"Results: {folder}   Pictures: airshed plot {folder}")


def _make_folder(folder: Path) -> None:
    """Make the folder and see that it can be written to, before anything costly is done; raises OutputError."""
    from airshed.io.atomic import guarded, part_path

    probe = part_path(folder / "probe")
    with guarded(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()

"""`airshed sweep`: run a case with many settings, and write the results to one dataset."""

from pathlib import Path
from typing import Annotated, Any

import typer

from airshed.cli.interrupt import INTERRUPTED
from airshed.cli.options import AcceptChangedInputs, AllowCode, CasePath, Overrides

SOME_FAILED = 1
"""Exit code of a sweep with failed members."""


def sweep(
    case: CasePath,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V1,V2,...",
            help="Vary a setting over values, or START:STOP:COUNT; repeat it for all combinations of several settings.",
        ),
    ] = None,
    ensemble: Annotated[
        int | None, typer.Option(metavar="N", help="Draw N members from --uncertainties by a Latin hypercube.")
    ] = None,
    uncertainties: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Table of settings with distributions, .toml or .csv.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws; equal seeds give equal ensembles.")] = 0,
    overrides: Overrides = None,
    output: Annotated[Path | None, typer.Option(help="Folder for the sweep; by default runs/NAME-sweep.")] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, help="Members at once; 0 for one per core, or no limit with Dask.")
    ] = 0,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads of each member; 0 divides the cores among the members.")
    ] = 0,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the members on a Dask cluster: tcp://HOST:8786.")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="Number of retries of a failed member.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the sweep in the folder; finished members are not run again.")
    ] = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the sweep in the folder.")] = False,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Run a case with all combinations of varied settings, or an ensemble of perturbed parameters.

    The results are gathered in sweep.zarr, with the varied settings as dimensions. Ctrl-C stops all members within
    a few steps; --resume continues them. The exit code is 0 where all members succeeded, 1 where some failed.
    """
    from airshed.case.locations import case_file
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import shown_progress
    from airshed.cli.render import say
    from airshed.io.folder import RUNS
    from airshed.sweep.plan import Plan
    from airshed.sweep.runner import Sweep, SweepOptions

    dimensions, source = _dimensions(vary or [], ensemble, uncertainties, seed)
    plan = Plan(case, tuple(overrides or ()), dimensions, source, allow_code)
    file = case_file(Path(case))
    name = file.resolve().parent.name if file.name == "case.toml" else file.stem
    options = SweepOptions(jobs, threads, scheduler, retries, resume, force, accept_changed_inputs)

    def print_failure(member: Any, message: str, again: bool) -> None:
        say(f"airshed: {member.text} failed{', and is retried' if again else ''}: {message}", err=True)

    made = Sweep(plan, output or RUNS / f"{name}-sweep", options, on_failure=print_failure)
    with shown_progress(quiet=quiet) as show, stop_on_interrupt(made.request_stop):
        made.on_progress = show
        is_complete = made.run()
    done = f"{made.progress.done} of {made.progress.total} members are finished"
    if not is_complete:
        say(f"airshed: stopped; {done}, and --resume continues the others in {made.folder}", err=True)
        raise typer.Exit(INTERRUPTED)
    if made.failures:
        say(f"airshed: {done}; the others are missing in {made.dataset}; --resume retries them", err=True)
    if not quiet:
        say(f"{done}\nResults: {made.dataset}   Members: {made.folder / 'members.csv'}")
    if made.failures:
        raise typer.Exit(SOME_FAILED)


def _dimensions(
    vary: list[str], ensemble: int | None, uncertainties: Path | None, seed: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the dimensions of a sweep, and their source for the plan; raises CaseError."""
    from airshed.core.errors import CaseError
    from airshed.sweep.dimensions import describe, draw, read_uncertainties, varied

    dimensions = tuple(varied(text) for text in vary)
    if (ensemble is None) != (uncertainties is None):
        raise CaseError("an ensemble needs both --ensemble N and --uncertainties TABLE")
    if ensemble is None or uncertainties is None:
        return dimensions, {}
    table = read_uncertainties(uncertainties)
    return (*dimensions, draw(table, ensemble, seed)), {"seed": seed, "uncertainties": describe(table)}

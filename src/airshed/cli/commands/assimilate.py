"""`airshed assimilate`: 4D-Var of a case."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from airshed.cli.first_rank import is_first, on_first
from airshed.cli.interrupt import INTERRUPTED
from airshed.cli.options import AllowCode, CasePath, Overrides, Ranks, Threads, hand_to_ranks, settings
from airshed.cli.progress import Iterations, StoppedError


def assimilate(
    case: CasePath,
    overrides: Overrides = None,
    output: Annotated[Path | None, typer.Option(help="Folder for the results; by default runs/NAME.")] = None,
    ranks: Ranks = None,
    threads: Threads = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after the last iteration in the folder; without one, begin.")
    ] = False,
    make_twin: Annotated[
        bool,
        typer.Option("--make-twin", help="Write the observations of an identical twin experiment instead, and end."),
    ] = False,
    runs: Annotated[
        bool,
        typer.Option("--runs", help="Also write the runs before and after, in the folders before and after."),
    ] = False,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Find the emission factors and the initial state by which a case is nearest to its observations.

    Each iteration is printed once its state is on the disk. Ctrl-C stops with valid files; --resume continues with the
    same iterates. Results are analysis.nc, report.txt and pictures. With --runs, airshed view shows both runs.
    """
    hand_to_ranks(ranks)
    from airshed import load_case
    from airshed.cli.render import say
    from airshed.io.folder import RUNS

    loaded: Any = load_case(case, settings(overrides, threads))
    loaded = loaded.allowing_code() if allow_code else loaded
    if make_twin:
        from airshed.inverse.fourdvar.twin import make_twin as write_twin

        paths = write_twin(loaded)
        for path in paths if is_first() else ():
            say(path)
        return
    _assimilate(loaded, output or RUNS / loaded.name, resume=resume, runs=runs, quiet=quiet)


def _assimilate(case: Any, folder: Path, *, resume: bool, runs: bool, quiet: bool) -> None:
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.render import say, show
    from airshed.core.files import noting_inputs
    from airshed.inverse.fourdvar.results import write_results
    from airshed.inverse.fourdvar.runs import write_runs
    from airshed.inverse.fourdvar.study import StudyObservations, check_inputs, open_study, prepare_folder
    from airshed.io.run_state import Inputs
    from airshed.plot.assimilation import plot_assimilation

    iterations = Iterations(quiet=quiet or not is_first(), most=case.assimilation.iterations)
    with noting_inputs() as files:
        seen = StudyObservations.of_case(case)
    state = on_first(partial(prepare_folder, folder, case, resume=resume))
    resumed = on_first(state.is_file)
    try:
        with stop_on_interrupt(iterations.request_stop), open_study(case, seen, iterations.progress) as study:
            inputs = Inputs({*files, *study.input_files}, case.base)
            on_first(partial(check_inputs, folder, inputs, resumed=resumed))
            if not iterations.quiet:
                show(study.plan())
                say(f"\ngoing on from {state}" if state.is_file() else "")
            outcome = study.run(state, iterations.see)
            iterations.wipe()
            report = on_first(partial(write_results, folder, study, outcome))
            if runs:
                write_runs(folder, study, outcome, iterations.progress)
                iterations.wipe()
    except StoppedError:
        iterations.wipe()
        if is_first():
            say(
                f"airshed: stopped after {iterations.done}; {folder} holds valid files, and --resume continues",
                err=True,
            )
        raise typer.Exit(INTERRUPTED) from None
    pictures = on_first(partial(plot_assimilation, folder / "analysis.nc"))
    if not iterations.quiet:
        show(report)
        say(f"Results: {folder}   Pictures: {' '.join(path.name for path in pictures)}")

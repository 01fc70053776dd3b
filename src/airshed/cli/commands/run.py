"""`airshed run` and `airshed show`: simulate a case, or show its settings and an estimate of the run."""

import gc
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from airshed.cli.commands.nested import run_cases
from airshed.cli.interrupt import INTERRUPTED
from airshed.cli.options import (
    AcceptChangedInputs,
    AllowCode,
    CasePath,
    Overrides,
    Ranks,
    Threads,
    hand_to_ranks,
    settings,
)

if TYPE_CHECKING:
    from airshed.case.case import RunCase
    from airshed.cli.progress import Live, Silent
    from airshed.core.report import Report

_ALWAYS: Final = ("emission:", "inputs differ", "the run in")
"""Beginnings of notices that a quiet run prints too."""

_SELDOM: Final = 64
"""Most steps between two displays of progress: more than a model takes in a batch, so that no batch is shortened."""


def run(
    case: CasePath,
    nests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NEST]...",
            help="Cases nested in an earlier one, which boundary.run names: all run together, without files between.",
        ),
    ] = None,
    overrides: Overrides = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; by default runs/NAME, or runs/NAME-2 ... for changed settings."),
    ] = None,
    ranks: Ranks = None,
    threads: Threads = None,
    strategy: Annotated[
        str | None,
        typer.Option(metavar="NAME[:async]", help="How all outputs are written: gather, files, mpiio, zarr, auto ..."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last restart in the folder; without a run there, begin.")
    ] = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a run in the folder, finished or not, and its pictures.")
    ] = False,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print a line for each simulated hour, and the whole summary."),
    ] = False,
) -> None:
    """Simulate a case and write its results.

    Progress is shown on a terminal, and a short summary at the end. A finished run is neither repeated nor replaced
    without --force; changed settings get a folder of their own. Ctrl-C stops the run after a few steps, with valid
    files; --resume continues it.
    """
    if strategy is not None:
        from airshed.io.strategies.choice import Strategy

        Strategy.parse(strategy)
    if nests:
        others = {"--set": overrides, "--resume": resume, "--accept-changed-inputs": accept_changed_inputs}
        _refuse(nests, [name for name, value in others.items() if value])
        hand_to_ranks(ranks)
        run_cases([case, *nests], output, threads, strategy, force=force, allow_code=allow_code, quiet=quiet,
                  verbose=verbose)  # fmt: skip
        return
    from airshed.kernels.host import usable_cores
    from airshed.runtime.registry import load_case, model_kind

    if ranks is not None and ranks > usable_cores():  # it takes the time to read the case once more
        loaded = load_case(case, settings(overrides, threads))
        model_kind(loaded.model).check_ranks(loaded, ranks)  # before any is started
    hand_to_ranks(ranks)
    from airshed.cli.first_rank import is_first, made_folder, on_first
    from airshed.cli.progress import progress_for
    from airshed.cli.render import say, show
    from airshed.io.run_state import FinishedRunError

    finished, silent = None, quiet or not is_first()
    with progress_for(None, quiet=silent, verbose=verbose) as progress:
        loaded = load_case(case, settings(overrides, threads))
        if strategy is not None:
            chosen = [f"output.{number}.strategy={strategy}" for number in range(len(loaded.output))]
            loaded = load_case(case, [*settings(overrides, threads), *chosen])
        loaded = loaded.allowing_code() if allow_code else loaded
        progress.prepare(loaded)
        try:
            folder, reason = on_first(partial(_folder_for, loaded, output, resume=resume, force=force))
            with made_folder(folder):
                use = {"resume": resume, "accept_changed_inputs": accept_changed_inputs, "overwrite": force}
                note = reason and f"results go to {folder}; {reason}"
                summary = _simulate(loaded, folder, use, progress, note=note, quiet=silent, brief=not verbose)
        except FinishedRunError as error:
            finished = error
    if finished is not None and not silent:
        say(f"airshed: {finished}", err=True)
    elif finished is None and summary is not None and not silent:
        show(summary)


def _refuse(nests: list[str], options: list[str]) -> None:
    """Raise CaseError for options that do not work with nests."""
    from airshed.core.errors import CaseError

    if options:
        raise CaseError(
            f"{options[0]} does not work with nests in one program ({', '.join(nests)}): change the case files, or run "
            "the cases one after another"
        )


def _folder_for(case: "RunCase", output: Path | None, *, resume: bool, force: bool) -> tuple[Path, str | None]:
    """Return the folder of a run, and why a default one has a number.

    Raises FinishedRunError where the results of this run are already there.
    """
    from airshed.runtime.destination import check_unfinished, default_folder, reason_for

    folder = output or default_folder(case, begin=not (resume or force))
    if not (resume or force):
        check_unfinished(case, folder)
    return folder, reason_for(case, folder) if output is None else None


def _simulate(
    case: "RunCase",
    folder: Path,
    use: dict[str, Any],
    progress: "Silent | Live",
    *,
    note: str | None,
    quiet: bool,
    brief: bool,
) -> "Report | None":
    """Run a case and return its summary, None on ranks of a group that only computes chemistry.

    note  printed once the case and its input files are found to be right

    Raises typer.Exit for a run that was stopped before its end.
    """
    from airshed import Simulation
    from airshed.cli.first_rank import is_first
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import instant, start_of
    from airshed.cli.render import say
    from airshed.parallel.communicator import world
    from airshed.runtime.registry import model_kind

    kind = model_kind(case.model)
    if kind.helps(case, world()):
        with stop_on_interrupt(lambda: None):  # the transport group stops after its step, and notifies this one
            kind.help(case, world())
        return None
    frozen = ExitStack()
    frozen.callback(gc.unfreeze)
    gc.freeze()  # imported objects live until exit: no collection has to visit them
    with frozen, Simulation(case, output=folder, **use) as simulation:
        if note and not quiet:
            say(f"airshed: {note}", err=True)
        for notice in simulation.notices if is_first() else ():
            if not quiet or notice.startswith(_ALWAYS) or "damaged" in notice:
                say(f"airshed: {notice}", err=True)
        with stop_on_interrupt(simulation.request_stop):
            simulation.run(observer=progress, stride=_SELDOM)
        summary: Report = simulation.summary(brief=brief)
        has_map = simulation.has_map
    if simulation.seconds < simulation.end:
        at = instant(start_of(case), simulation.seconds)
        if is_first():
            say(f"airshed: stopped at {at}; {folder} holds valid files, and --resume continues", err=True)
        raise typer.Exit(INTERRUPTED)
    for fact in summary.warnings if is_first() else ():
        say(f"airshed: {fact}: {summary.facts[fact]}", err=True)
    last = _maximum(folder) if has_map and brief and not quiet else {}
    return replace(summary, facts={**summary.facts, **last, **result_facts(folder, has_map=has_map)})


def _maximum(folder: Path) -> dict[str, str]:
    """Return the maximum of the run's main field as a fact; nothing where its output has no map of it."""
    from airshed.core.errors import AirshedError
    from airshed.plot.maximum import maximum_in_words

    try:
        return {"maximum": maximum_in_words(folder)}
    except AirshedError:
        return {}


def result_facts(folder: Path, *, has_map: bool = True) -> dict[str, str]:
    """Return as facts the files of a run, and the command that draws them."""
    from airshed.io.folder import SUMMARIES
    from airshed.io.run_state import read_state, results

    state = read_state(folder)
    outputs = [path.name for name in (state.outputs if state is not None else ()) for path in results(folder, name)]
    files = {"results": f"{folder}: {', '.join([*outputs, SUMMARIES[0]])}"}
    return files | ({"next": f"airshed plot {folder}"} if has_map else {})


def show(
    case: CasePath,
    overrides: Overrides = None,
    threads: Threads = None,
    defaults: Annotated[bool, typer.Option("--all", "-a", help="Also show settings with their default value.")] = False,
    toml: Annotated[bool, typer.Option("--toml", help="Print the resolved case as a case file.")] = False,
    placements: Annotated[
        bool,
        typer.Option("--placements", help="Make trial steps on the CPU, on the GPU and on both; print their times."),
    ] = False,
    allow_code: AllowCode = False,
) -> None:
    """Show the settings of a case with their origin, and an estimate of the time and memory of a run."""
    from airshed import load_case
    from airshed.cli.render import say
    from airshed.cli.render import show as show_report
    from airshed.runtime.registry import case_report, placement_report

    loaded = load_case(case, settings(overrides, threads))
    if toml:
        say(loaded.to_toml(), end="")
    elif placements:
        show_report(placement_report(loaded.allowing_code() if allow_code else loaded))
    else:
        show_report(case_report(loaded, defaults=defaults))
        if not defaults:
            say("All settings: airshed show --all   As a case file: airshed show --toml")

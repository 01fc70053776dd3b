"""`airshed run CASE NEST ...`: a case and its nests in one program."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from airshed.cli.interrupt import INTERRUPTED
from airshed.cli.options import settings

if TYPE_CHECKING:
    from airshed.models.air.case import Case


def run_cases(
    names: list[str], output: Path | None, threads: int | None, strategy: str | None, *, force: bool, allow_code: bool,
    quiet: bool, verbose: bool,
) -> None:  # fmt: skip
    """Run a case and its nests together, and show their summaries; each has a folder, in `output` where it is given."""
    from airshed.cli.commands.run import result_facts
    from airshed.cli.first_rank import is_first, made_folder, on_first
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import progress_for
    from airshed.cli.render import say, show
    from airshed.models.air.nesting import run_nested, stop_requested
    from airshed.runtime.destination import default_folder

    silent, stop = quiet or not is_first(), False

    def request_stop() -> None:
        nonlocal stop
        stop = True

    with progress_for(None, quiet=silent, verbose=verbose) as progress, ExitStack() as folders:
        cases = [_case(name, threads, strategy, allow_code=allow_code) for name in names]
        progress.prepare(cases[0])
        found: list[Path] = []
        for case in cases:
            folder = on_first(partial(default_folder, case, begin=not force)) if output is None else output / case.name
            folders.enter_context(made_folder(folder))
            found.append(folder)
        if not force and on_first(partial(_are_finished, cases, found)):
            if not silent:
                say(f"airshed: {', '.join(map(str, found))} hold the finished runs of these cases; give --force to run "
                    "them again", err=True)  # fmt: skip
            return
        with stop_on_interrupt(request_stop):
            summaries = run_nested(
                cases, found, observer=progress, stopped=lambda: stop_requested(stop), overwrite=force
            )
    if summaries is None:
        if is_first():
            say("airshed: stopped; run the cases again, or the first one alone with --resume", err=True)
        raise typer.Exit(INTERRUPTED)
    for summary, folder in zip(summaries if not silent else (), found, strict=False):
        show(replace(summary, facts={**summary.facts, **result_facts(folder)}))


def _are_finished(cases: "list[Case]", folders: list[Path]) -> bool:
    """Return whether folders contain the complete results of all cases."""
    from airshed.io.run_state import FinishedRunError
    from airshed.runtime.destination import check_unfinished

    count = 0
    for case, folder in zip(cases, folders, strict=True):
        try:
            check_unfinished(case, folder)
        except FinishedRunError:
            count += 1
    return count == len(cases)


def _case(name: str, threads: int | None, strategy: str | None, *, allow_code: bool) -> "Case":
    """Return a case with the options of the command; raise CaseError for a model without nests."""
    from airshed.core.errors import CaseError
    from airshed.models.air.case import Case
    from airshed.runtime.registry import load_case

    case = load_case(name, settings(None, threads))
    if strategy is not None:
        chosen = [f"output.{number}.strategy={strategy}" for number in range(len(case.output))]
        case = load_case(name, [*settings(None, threads), *chosen])
    if not isinstance(case, Case):
        raise CaseError(f"{name} has the model {case.model}; only cases of the model air have nests")
    return case.allowing_code() if allow_code else case

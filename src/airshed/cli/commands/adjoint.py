"""`airshed adjoint`: source attribution for a receptor."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from airshed.cli.first_rank import is_first, on_first
from airshed.cli.options import AllowCode, AsJson, CasePath, Overrides, Ranks, Threads, hand_to_ranks, settings

if TYPE_CHECKING:
    from xarray import Dataset

    from airshed.cli.progress import Work
    from airshed.core.report import Report
    from airshed.inverse.gradient import Watcher

_FORWARD: Final = 0.2
"""Part of the time that the forward run takes."""

_PLACE: Final = ("place", "lon", "lat", "cells")

Receptor = Annotated[
    list[str] | None,
    typer.Option(
        "--receptor", metavar="KEY=VALUE", help=r"A setting of \[receptor], such as lon=6.96; may be repeated."
    ),
]


def adjoint(
    case: CasePath,
    species: Annotated[str | None, typer.Option(metavar="NAME", help="Species of the receptor.")] = None,
    place: Annotated[str | None, typer.Option(metavar="NAME", help="City or country of the receptor.")] = None,
    time: Annotated[str | None, typer.Option(help='Time since the start, "14 h", or two: \'["0 h", "24 h"]\'.')] = None,
    measure: Annotated[str | None, typer.Option(help="mean, aot40 or mda8.")] = None,
    level: Annotated[int | None, typer.Option(min=0, help="Layer; 0 is the one at the ground.")] = None,
    receptor: Receptor = None,
    fields: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Species whose adjoint fields in time are written: NO2,O3.")
    ] = None,
    every: Annotated[str | None, typer.Option(help='Time between these fields, such as "3 h".')] = None,
    output: Annotated[Path | None, typer.Option(help="Folder for the results; by default runs/NAME-adjoint.")] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Freeze the limiters of transport: smoother, but less accurate.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last commit in the folder; without one, begin.")
    ] = False,
    overrides: Overrides = None,
    ranks: Ranks = None,
    threads: Threads = None,
    allow_code: AllowCode = False,
    maps: Annotated[bool, typer.Option(help="Draw maps and the ranking.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank the sources of a receptor: run the case forward and in reverse, and rank emissions by their contribution.

    The case's [receptor], or these options, define the receptor. The forward run and the backward pass, which takes
    about four times as long, give the sensitivities to all emissions, boundaries and rate constants. Their state is
    committed about once a minute; --resume continues from there, with bitwise identical results. For a pasture case
    the weather of each week, the initial state and parameters are ranked, without commits.
    """
    hand_to_ranks(ranks)
    given = {"species": species, "place": place, "time": time, "measure": measure, "level": level, "every": every}
    chosen = [f"{key}={value}" for key, value in given.items() if value is not None]
    chosen += [*([] if fields is None else [f"fields={_list(fields)}"]), *(receptor or ())]
    request = _Request(case, settings(overrides, threads), chosen, frozen, resume, allow_code)
    _adjoint(request, output, maps=maps, verbose=not quiet, as_json=as_json)


@dataclass(frozen=True)
class _Request:
    """A case with changed settings, the settings of its receptor, and the options of the gradient."""

    case: str
    settings: list[str]
    receptor: list[str]
    frozen: bool
    resume: bool
    allow_code: bool

    def load(self) -> tuple[Any, dict[str, Any]]:
        """Return the case and the receptor; an option for the location replaces that of the case."""
        from airshed import load_case
        from airshed.case.patch import patch_document
        from airshed.runtime.registry import gradients_of

        where = [each for each in self.receptor if each.partition("=")[0].strip() in _PLACE]
        others = [f"receptor.{each}" for each in self.receptor if each not in where]
        loaded: Any = load_case(self.case, [*self.settings, *others])
        gradients_of(loaded.model)
        receptor = loaded.receptor.to_mapping()
        if where:
            receptor = {key: value for key, value in receptor.items() if key not in _PLACE}
            patch_document(receptor, where)
        return loaded, receptor


def _list(names: str) -> str:
    return "[" + ", ".join(f'"{name.strip()}"' for name in names.split(",")) + "]"


def _adjoint(request: _Request, output: Path | None, *, maps: bool, verbose: bool, as_json: bool) -> None:
    from airshed.cli.first_rank import made_folder
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import Work, estimated_seconds
    from airshed.cli.render import say, show
    from airshed.inverse.checkpoints.commits import remove_commits
    from airshed.inverse.gradient import Options
    from airshed.inverse.receptors.results import COMMITS
    from airshed.io.folder import RUNS
    from airshed.runtime.registry import gradients_of

    loaded, receptor = request.load()
    gradients = gradients_of(loaded.model)
    folder = output or RUNS / f"{loaded.name}-adjoint"
    verbose, stop, commits = verbose and is_first(), _Stop(), folder / COMMITS
    work = Work("preparing the forward run", quiet=not verbose)
    if work.is_shown and (forward := estimated_seconds(loaded)):
        work = Work("preparing the forward run", quiet=False, estimate=forward / _FORWARD)
    on_first(partial(_prepare, folder, resume=request.resume, verbose=verbose))
    with made_folder(folder), _hint_to_resume(commits):
        with stop_on_interrupt(stop.request), work:
            options = Options(frozen=request.frozen, watcher=_watcher(verbose=verbose), resume=commits, keep=True)
            shown = partial(_show, work)
            found = gradients.sensitivity(
                loaded, receptor, allow_code=request.allow_code, options=options, progress=stop.before(shown)
            )
            work.show("writing and drawing", 1.0)
            report, drawn = on_first(partial(_write, found, folder, gradients.write_sensitivity, maps=maps))
        on_first(partial(remove_commits, commits))  # now that all is there, and every rank has closed its own
    if verbose:
        show(report, as_json=as_json)
    if verbose and not as_json:
        say(f"Results: {folder}" + (f"   Pictures: {', '.join(path.name for path in drawn)}" if drawn else ""))


def _prepare(folder: Path, *, resume: bool, verbose: bool) -> None:
    """Refuse a folder with other files; remove earlier commits, unless the gradient is resumed."""
    from airshed.cli.render import say
    from airshed.inverse.checkpoints.commits import remove_commits
    from airshed.inverse.receptors.results import COMMITS, check_folder

    check_folder(folder)
    if not resume:
        remove_commits(folder / COMMITS)
    elif verbose and not (folder / COMMITS).is_dir():
        say(f"airshed: there is nothing to resume in {folder}; the gradient begins at its start", err=True)


def _write(
    found: "Dataset", folder: Path, write: "Callable[[Dataset, Path], Report]", *, maps: bool
) -> "tuple[Report, list[Path]]":
    """Write and draw the sensitivities; return the summary and the pictures."""
    report = write(found, folder)
    if not maps:
        return report, []
    from airshed.plot.sensitivity import plot_sensitivity

    return report, plot_sensitivity(folder)


@contextmanager
def _hint_to_resume(commits: Path) -> Iterator[None]:
    """Print, after Ctrl-C and a commit, that --resume continues the gradient."""
    from airshed.cli.interrupt import INTERRUPTED
    from airshed.cli.render import say

    try:
        yield
    except KeyboardInterrupt:
        if not commits.is_dir():
            raise
        if is_first():
            say("airshed: stopped; --resume continues from the last commit", err=True)
        raise typer.Exit(INTERRUPTED) from None


class _Stop:
    """Request to stop by Ctrl-C: the run ends after its present steps, and leaves the last commit, if any."""

    def __init__(self) -> None:
        self._is_requested = False

    def request(self) -> None:
        """Request a stop after the present steps."""
        self._is_requested = True

    def before(self, shown: Callable[[str, float], None]) -> Callable[[str, float], None]:
        """Return a progress callback that raises KeyboardInterrupt once a stop is requested."""

        def progress(part: str, done: float) -> None:
            if self._is_requested:
                raise KeyboardInterrupt
            shown(part, done)

        return progress


def _show(work: "Work", part: str, done: float) -> None:
    """Show the progress of the forward run, or of the backward pass, as a part of the whole."""
    whole = _FORWARD * done if part == "forward" else _FORWARD + (1.0 - _FORWARD) * done
    work.show(f"{part:8} {done:4.0%}", whole)


def _watcher(*, verbose: bool) -> "Watcher":
    from airshed.cli.render import say
    from airshed.inverse.gradient import Watcher

    class CommandWatcher(Watcher):
        def on_plan(self, line: str) -> None:
            if verbose:
                say(f"Checkpoints: {line}", err=True)

        def on_notice(self, line: str) -> None:
            if verbose or ("damaged" in line and is_first()):
                say(f"airshed: {line}", err=True)

    return CommandWatcher()

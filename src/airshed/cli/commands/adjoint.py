"""`airshed adjoint`: what a receptor owes to all that a run is given."""

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
    species: Annotated[str | None, typer.Option(metavar="NAME", help="Species that is measured.")] = None,
    place: Annotated[str | None, typer.Option(metavar="NAME", help="City or country where it is measured.")] = None,
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
        bool, typer.Option("--frozen", help="Keep the limiters of transport as they were: smoother, but less exact.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last commit in the folder; without one, begin.")
    ] = False,
    overrides: Overrides = None,
    ranks: Ranks = None,
    threads: Threads = None,
    allow_code: AllowCode = False,
    maps: Annotated[bool, typer.Option(help="Draw maps and the ranking.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank the sources of a receptor: run the case forward and in reverse, and rank emissions by their contribution.

    What is measured is in the case's [receptor], or here. One run forward, and one back that takes about four times
    as long, give the sensitivity to all emissions, boundaries and rate constants at once. Its state is committed about
    once a minute, forward and back; --resume goes on from there, to the same bits. Of a pasture case the weather of
    each week, the state at the start and parameters are ranked; it has no commits.
    """
    hand_to_ranks(ranks)
    given = {"species": species, "place": place, "time": time, "measure": measure, "level": level, "every": every}
    chosen = [f"{key}={value}" for key, value in given.items() if value is not None]
    chosen += [*([] if fields is None else [f"fields={_list(fields)}"]), *(receptor or ())]
    wanted = _Wanted(case, settings(overrides, threads), chosen, frozen, resume, allow_code)
    _adjoint(wanted, output, maps=maps, told=not quiet, as_json=as_json)


@dataclass(frozen=True)
class _Wanted:
    """A case, its settings that are changed, those of its receptor, and how the gradient is computed."""

    case: str
    settings: list[str]
    receptor: list[str]
    frozen: bool
    resume: bool
    allow_code: bool

    def load(self) -> tuple[Any, dict[str, Any]]:
        """Return the case and the receptor; a place that is given replaces that of the case, whatever says it there."""
        from airshed import load_case
        from airshed.case.patch import patch_document
        from airshed.runtime.registry import gradients_of

        where = [each for each in self.receptor if each.partition("=")[0].strip() in _PLACE]
        others = [f"receptor.{each}" for each in self.receptor if each not in where]
        loaded: Any = load_case(self.case, [*self.settings, *others])
        gradients_of(loaded.model)
        asked = loaded.receptor.to_mapping()
        if where:
            asked = {key: value for key, value in asked.items() if key not in _PLACE}
            patch_document(asked, where)
        return loaded, asked


def _list(names: str) -> str:
    return "[" + ", ".join(f'"{name.strip()}"' for name in names.split(",")) + "]"


def _adjoint(wanted: _Wanted, output: Path | None, *, maps: bool, told: bool, as_json: bool) -> None:
    from airshed.cli.first_rank import made_folder
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import Work, estimated_seconds
    from airshed.cli.render import say, show
    from airshed.inverse.checkpoints.commits import remove_commits
    from airshed.inverse.gradient import Options
    from airshed.inverse.receptors.results import COMMITS
    from airshed.io.folder import RUNS
    from airshed.runtime.registry import gradients_of

    loaded, asked = wanted.load()
    gradients = gradients_of(loaded.model)
    folder = output or RUNS / f"{loaded.name}-adjoint"
    told, stop, commits = told and is_first(), _Stop(), folder / COMMITS
    work = Work("preparing the forward run", quiet=not told)
    if work.is_shown and (forward := estimated_seconds(loaded)):
        work = Work("preparing the forward run", quiet=False, estimate=forward / _FORWARD)
    on_first(partial(_prepare, folder, resume=wanted.resume, told=told))
    with made_folder(folder), _telling_to_resume(commits):
        with stop_on_interrupt(stop.ask), work:
            options = Options(frozen=wanted.frozen, watcher=_teller(told=told), resume=commits, keep=True)
            shown = partial(_show, work)
            found = gradients.sensitivity(
                loaded, asked, allow_code=wanted.allow_code, options=options, progress=stop.before(shown)
            )
            work.show("writing and drawing", 1.0)
            report, drawn = on_first(partial(_leave, found, folder, gradients.write_sensitivity, maps=maps))
        on_first(partial(remove_commits, commits))  # now that all is there, and every rank has closed its own
    if told:
        show(report, as_json=as_json)
    if told and not as_json:
        say(f"Results: {folder}" + (f"   Pictures: {', '.join(path.name for path in drawn)}" if drawn else ""))


def _prepare(folder: Path, *, resume: bool, told: bool) -> None:
    """Refuse a folder of something else; remove earlier commits, unless they are to be gone on from."""
    from airshed.cli.render import say
    from airshed.inverse.checkpoints.commits import remove_commits
    from airshed.inverse.receptors.results import COMMITS, check_folder

    check_folder(folder)
    if not resume:
        remove_commits(folder / COMMITS)
    elif told and not (folder / COMMITS).is_dir():
        say(f"airshed: there is nothing to resume in {folder}; the gradient begins at its start", err=True)


def _leave(
    found: "Dataset", folder: Path, write: "Callable[[Dataset, Path], Report]", *, maps: bool
) -> "tuple[Report, list[Path]]":
    """Write what was found, and draw it; return the summary, and the pictures."""
    report = write(found, folder)
    if not maps:
        return report, []
    from airshed.plot.sensitivity import plot_sensitivity

    return report, plot_sensitivity(folder)


@contextmanager
def _telling_to_resume(commits: Path) -> Iterator[None]:
    """Say that a gradient goes on that Ctrl-C stops after a commit."""
    from airshed.cli.interrupt import INTERRUPTED
    from airshed.cli.render import say

    try:
        yield
    except KeyboardInterrupt:
        if not commits.is_dir():
            raise
        if is_first():
            say("airshed: stopped; --resume goes on from the last commit", err=True)
        raise typer.Exit(INTERRUPTED) from None


class _Stop:
    """Ctrl-C: the run ends after the steps that are being made, and leaves the last commit, if there is one."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self) -> None:
        """Stop soon."""
        self._asked = True

    def before(self, shown: Callable[[str, float], None]) -> Callable[[str, float], None]:
        """Return a progress that stops where that was asked for, and else is shown."""

        def progress(part: str, done: float) -> None:
            if self._asked:
                raise KeyboardInterrupt
            shown(part, done)

        return progress


def _show(work: "Work", part: str, done: float) -> None:
    """Show the progress of the forward run, or of the backward pass, as a part of the whole."""
    whole = _FORWARD * done if part == "forward" else _FORWARD + (1.0 - _FORWARD) * done
    work.show(f"{part:8} {done:4.0%}", whole)


def _teller(*, told: bool) -> "Watcher":
    from airshed.cli.render import say
    from airshed.inverse.gradient import Watcher

    class Teller(Watcher):
        def on_plan(self, line: str) -> None:
            if told:
                say(f"Checkpoints: {line}", err=True)

        def on_notice(self, line: str) -> None:
            if told or ("damaged" in line and is_first()):
                say(f"airshed: {line}", err=True)

    return Teller()

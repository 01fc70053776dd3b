"""`airshed box`: chemistry alone."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airshed.cli.options import AllowCode, AsJson, Threads

if TYPE_CHECKING:
    import xarray as xr

    from airshed.cli.progress import Work
    from airshed.core.report import Report
    from airshed.models.box.run import BoxRun


def box(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep) or reaction file.")],
    conditions: Annotated[Path, typer.Option(metavar="FILE.toml", help="Conditions, initial state and solver.")],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File for the time series, .nc (netCDF) or .csv; by default runs/NAME/box.nc."
        ),
    ] = None,
    states: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Initial states of many cells, .nc (netCDF) or .csv: one box each."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Picture of the time series.")] = None,
    species: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Species to show, O3 or O3,NO2; may be repeated.")
    ] = None,
    gradient: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Species whose sensitivities to rate constants and all else are ranked."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of the species of --gradient, such as '12 h'; by default the end."),
    ] = None,
    threads: Threads = 1,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Integrate a mechanism in a box of air, or in many at once; cases/emep-box has a set of conditions."""
    from airshed.cli.interrupt import stop_on_interrupt
    from airshed.cli.progress import Work
    from airshed.cli.render import show
    from airshed.models.box.run import run_box

    if plot is not None:
        _check_picture(plot)
    if output is None:
        output = _default_output(conditions)
    found = None
    work = Work("reading and compiling the mechanism", quiet=quiet)
    chemistry = partial(_shown, work, gradient, "chemistry")
    with work, _Stopper() as stopper, stop_on_interrupt(stopper.stop):
        cores = threads or os.cpu_count() or 1
        if gradient is not None:
            from airshed.inverse import box_sensitivity

            found = box_sensitivity(
                mechanism, conditions, gradient, states, at=at, threads=cores, allow_code=allow_code,
                progress=partial(_shown, work, gradient),
            )  # fmt: skip
        outcome = run_box(
            mechanism, conditions, output, states=states, species=species or (), threads=cores, allow_code=allow_code,
            started=stopper.take, observer=chemistry,
        )  # fmt: skip
    if plot is not None:
        from airshed.plot.box import plot_box

        plot_box(outcome.series, outcome.species, plot)
    report = outcome.report if found is None else _with_ranking(outcome.report, found, output, plot)
    if not quiet:
        show(report, as_json=as_json)
        if not as_json:
            typer.echo(f"Results: {output}" + (f"   Picture: {plot}" if plot is not None else ""))


def _shown(work: "Work", gradient: str | None, part: str, done: float) -> None:
    """Show the progress of a part; with a gradient, the part of all three is the time that it takes."""
    first, share = {"forward": (0.0, 0.25), "back": (0.25, 0.5)}.get(part, (0.75, 0.25) if gradient else (0.0, 1.0))
    work.show(part, first + share * done)


def _default_output(conditions: Path) -> Path:
    """Return the file for the time series of some conditions, ``runs/NAME/box.nc``; its folder is made."""
    from airshed.core.atomic import guarded
    from airshed.io.folder import RUNS

    if not conditions.is_file():
        return RUNS / "box.nc"  # the conditions are refused before anything is written
    name = conditions.stem if conditions.stem not in ("case", "conditions") else conditions.resolve().parent.name
    folder = RUNS / name
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder / "box.nc"


def _with_ranking(report: "Report", found: "xr.Dataset", output: Path, plot: Path | None) -> "Report":
    """Write sensitivities next to the output, and a picture next to the picture; return the report with a ranking."""
    from dataclasses import replace

    from airshed.inverse.receptors.box import ranking_table, write_sensitivity

    gradient_file = output.with_stem(f"{output.stem}-gradient")
    write_sensitivity(found, gradient_file)
    facts = {**report.facts, "gradient": str(gradient_file)}
    if plot is not None:
        from airshed.plot.box import plot_gradient

        picture = plot.with_stem(f"{plot.stem}-gradient")
        plot_gradient(found, picture)
        facts["picture of the gradient"] = str(picture)
    return replace(report, tables=[*report.tables, ranking_table(found)], facts=facts)


class _Stopper:
    """Request to stop, passed to the run once it exists."""

    def __init__(self) -> None:
        self._run: BoxRun | None = None

    def __enter__(self) -> "_Stopper":
        return self

    def __exit__(self, *error: object) -> None:
        self._run = None

    def take(self, run: "BoxRun") -> None:
        """Store the run."""
        self._run = run

    def stop(self) -> None:
        """Request a stop of the run; raise KeyboardInterrupt without one."""
        if self._run is None:
            raise KeyboardInterrupt
        self._run.simulation.request_stop()


def _check_picture(path: Path) -> None:
    """Refuse a picture that cannot be written before anything is computed."""
    from airshed.core.errors import OutputError

    if path.suffix.lower() != ".png":
        raise OutputError(f"{path}: pictures are PNG; end the name in .png")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}; make it, or choose another")

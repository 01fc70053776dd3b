"""`airshed plot` and `airshed merge`: pictures and single files of a finished run."""

from pathlib import Path
from typing import Annotated

import typer

from airshed.cli.options import RunFolder


def plot(
    run: RunFolder,
    output: Annotated[Path | None, typer.Option(help="Folder for the pictures; by default RUN/maps.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field to draw, such as O3; may be repeated. By default those that matter most, such as O3 and NO2."
        ),
    ] = None,
    hour: Annotated[
        list[float] | None,
        typer.Option(
            help="Hour of the day [UTC] to map; may be repeated. By default 3, 9, 15, 21; of daily results four days."
        ),
    ] = None,
    latitude: Annotated[
        float | None, typer.Option(help="Latitude of the curtains; by default one through the most people.")
    ] = None,
    animation: Annotated[bool, typer.Option(help="Also animate the first field.")] = True,
    singles: Annotated[bool, typer.Option("--singles", help="Also draw each hour in a picture of its own.")] = False,
) -> None:
    """Draw maps, an animation, time series at cities and a curtain into RUN/maps."""
    from airshed.plot import plot_run

    pictures = plot_run(run, output, field, hour, animation=animation, singles=singles, latitude=latitude)
    for picture in pictures:
        typer.echo(picture)


def merge(
    run: RunFolder,
    name: Annotated[str | None, typer.Option(help="One result of the run; all of them without it.")] = None,
) -> None:
    """Turn a result that lies in many files (`files`, `zarr`) into one netCDF file, and remove the many."""
    from airshed.io.results import merge as merge_results

    made = merge_results(run, name)
    for path in made:
        typer.echo(str(path))
    if not made:
        typer.echo(f"airshed: each result in {run} is one file already", err=True)

"""`airshed pasture prepare` and `airshed pasture point`: inputs of pasture for an area, and pasture at a station."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from airshed.cli.options import AsJson, Overrides

Layout = Literal["land", "full"]


def prepare(
    stations: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder with .met files, or files in .met.gz.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the inputs to write; without it, the weather is only checked."),
    ] = None,
    declare: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Declarations of the stations, by default the folder's stations.toml."),
    ] = None,
    years: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help="Years, such as 1957-2002 or 1996; by default all.")
    ] = None,
    area: Annotated[str | None, typer.Option(help="Queensland or Australia.")] = None,
    spacing: Annotated[float | None, typer.Option(help=r"Size of cells \[degrees].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the synthetic maps.")] = None,
    layout: Annotated[Layout, typer.Option(help="Land cells only, or the whole grid.")] = "land",
    replace: Annotated[bool, typer.Option("--replace", help="Replace inputs that are there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the weather of stations and write inputs: daily rain, weekly weather, maps, the initial state.

    Maps of soil, pasture and trees are synthetic, and so is the interpolation of weather between stations; the inputs
    state both. Errors in the weather are refused, warnings are printed.
    """
    from airshed.cli.render import show
    from airshed.models.pasture.inputs.stations import inputs_from_stations, read_recipe_with_changes, report
    from airshed.models.pasture.inputs.store import save

    asked = {"area": area, "spacing": spacing, "seed": seed}
    recipe = read_recipe_with_changes(
        stations, declare, {name: each for name, each in asked.items() if each is not None}, years
    )
    prepared = inputs_from_stations(stations, recipe)
    written = None
    if output is not None:
        written = save(prepared.inputs, output, layout=layout, replace=replace, progress=_progress)
    show(report(prepared, written), as_json=as_json)


def _progress(share: float) -> None:
    """Show on one line of a terminal the part that is done."""
    from airshed.cli.render import on_terminal

    if on_terminal("stderr"):
        print(f"\r{share:4.0%}", end="\n" if share == 1.0 else "", file=sys.stderr, flush=True)


def point(
    met: Annotated[Path, typer.Option(metavar="FILE.met", help="Daily weather as APSIM and SILO write it.")],
    parameters: Annotated[
        Path,
        typer.Option(metavar="FILE.toml", help=r"\[soil], \[pasture], \[initial], \[events], options of processes."),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.nc", help="File for every state and flux of every day.")],
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Run soil water and pasture growth at one station, day by day."""
    from airshed.cli.render import show
    from airshed.models.pasture.point import run_point

    show(run_point(met, parameters, output, overrides or ()), as_json=as_json)

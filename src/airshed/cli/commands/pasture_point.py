"""`airshed pasture point`: pasture at a station."""

from pathlib import Path
from typing import Annotated

import typer

from airshed.cli.options import AsJson, Overrides


def point(
    met: Annotated[Path, typer.Option(metavar="FILE.met", help="Daily weather as APSIM and SILO write it.")],
    parameters: Annotated[
        Path, typer.Option(metavar="FILE.toml", help="[soil], [pasture], [initial], [events], options of processes.")
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.nc", help="File for every state and flux of every day.")],
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Run soil water and pasture growth at one place, day by day."""
    from airshed.cli.render import show
    from airshed.pasture.point import run_point

    show(run_point(met, parameters, output, overrides or ()), as_json=as_json)

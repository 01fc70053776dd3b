"""`airshed box`: chemistry alone."""

from pathlib import Path
from typing import Annotated

import typer


def box(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep) or reaction file.")],
    conditions: Annotated[Path, typer.Option(metavar="FILE.toml", help="Conditions, initial state and steps.")],
    output: Annotated[Path, typer.Option(metavar="FILE.nc", help="netCDF file for the time series.")],
) -> None:
    """Integrate a mechanism in one box of air; cases/emep-box has a set of conditions."""
    from airshed.cli.render import show
    from airshed.runtime.box import run_box

    show(run_box(mechanism, conditions, output))

"""`airshed merge`: one file of many."""

from typing import Annotated

import typer

from airshed.cli.options import RunFolder


def merge(
    run: RunFolder,
    name: Annotated[str | None, typer.Option(help="One result of the run; all of them without it.")] = None,
) -> None:
    """Turn a result that lies in many files (`files`, `zarr`) into one netCDF file, and remove the many."""
    from airshed.io.merge import merge as merge_results

    made = merge_results(run, name)
    for path in made:
        typer.echo(str(path))
    if not made:
        typer.echo(f"airshed: each result in {run} is one file already", err=True)

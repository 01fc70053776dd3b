"""The commands of the program `airshed`."""

import logging
from typing import Annotated

import typer

from airshed import __version__
from airshed.cli.commands.adjoint import adjoint
from airshed.cli.commands.assimilate import assimilate
from airshed.cli.commands.box import box
from airshed.cli.commands.installation import bench, doctor, verify
from airshed.cli.commands.mechanism import (
    check_mechanism,
    convert_mechanism,
    map_mechanism,
    show_kernel,
    show_mechanism,
)
from airshed.cli.commands.new import new
from airshed.cli.commands.pasture import point, prepare
from airshed.cli.commands.results import evaluate, merge, plot
from airshed.cli.commands.run import run, show
from airshed.cli.commands.schema import schema
from airshed.cli.commands.serve import export, serve, view
from airshed.cli.commands.sweep import sweep
from airshed.cli.errors import CommandGroup

logging.getLogger("airshed").addHandler(logging.NullHandler())  # commands print notices themselves

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
kernel = typer.Typer(no_args_is_help=True, help="Show generated code.")
pasture = typer.Typer(no_args_is_help=True, help="Soil water and pasture growth: inputs, and runs at a station.")
mechanism = typer.Typer(no_args_is_help=True, help="Show, check and convert reaction files.")

for command in (
    new,
    run,
    sweep,
    serve,
    view,
    export,
    adjoint,
    assimilate,
    evaluate,
    show,
    box,
    plot,
    merge,
    schema,
    verify,
    doctor,
):
    app.command()(command)
kernel.command("show")(show_kernel)
app.add_typer(kernel, name="kernel")
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})(bench)
mechanism.command("show")(show_mechanism)
mechanism.command("check")(check_mechanism)
mechanism.command("convert")(convert_mechanism)
mechanism.command("map")(map_mechanism)
app.add_typer(mechanism, name="mechanism")
pasture.command("prepare")(prepare)
pasture.command("point")(point)
app.add_typer(pasture, name="pasture")


def _version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"airshed {__version__}")
        raise typer.Exit


@app.callback()
def airshed(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Simulate the air over a region (winds, emissions, chemistry, deposition), or pasture on its land."""

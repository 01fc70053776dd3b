"""`airshed mechanism`: what a mechanism is, what looks wrong with it, and its files in other formats."""

from pathlib import Path
from typing import Annotated

import typer

from airshed.cli.options import AsJson

Mechanism = Annotated[
    str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep), reaction file or OpenAtmos file.")
]


def show_mechanism(
    mechanism: Mechanism,
    temperature: Annotated[str, typer.Option(help="Temperature for the rates.")] = "298.15 K",
    pressure: Annotated[str, typer.Option(help="Pressure for the rates.")] = "1013.25 hPa",
    humidity: Annotated[str, typer.Option(help="Relative humidity for the rates.")] = "50 %",
    sun: Annotated[float, typer.Option(help="Cosine of the solar zenith angle for the rates; 0 at night.")] = 1.0,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Also draw the pattern of the Jacobian.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List species, reactions, rate constants, the balance of atoms, and what is left open."""
    from airshed.cli.render import show
    from airshed.mechanism.describe import describe, environment_of

    show(describe(mechanism, environment_of(temperature, pressure, humidity, sun)), as_json=as_json)
    if picture is not None:
        from airshed.mechanism import inspect_mechanism
        from airshed.plot.sparsity import save_sparsity

        path = save_sparsity(inspect_mechanism(mechanism), picture)
        typer.echo(path, err=as_json)


def check_mechanism(
    mechanism: Mechanism,
    write_rates: Annotated[
        bool,
        typer.Option("--write-rates", help="Write all that the rates lack into NAME.rates.toml, to be filled in."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tell everything that looks wrong or odd; exit code 1 where a reaction does not conserve an atom under #CHECK."""
    from airshed.cli.render import show
    from airshed.mechanism.describe import check
    from airshed.mechanism.describe import write_rates as written

    report = written(mechanism) if write_rates else check(mechanism)
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


def convert_mechanism(
    mechanism: Mechanism,
    output: Annotated[
        Path,
        typer.Argument(metavar="OUTPUT", help="File to write; .eqn, .def, .kpp (KPP) or .json, .yaml (OpenAtmos)."),
    ],
    as_json: AsJson = False,
) -> None:
    """Write a mechanism in another format, and read it back; exit code 1 where it is not the same network."""
    from airshed.cli.render import show
    from airshed.mechanism.describe import convert

    report = convert(mechanism, output)
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


def map_mechanism(mechanism: Mechanism) -> None:
    """Print a species map to begin with: what emission, the air outside and the ground are in its species."""
    from airshed.cli.render import say
    from airshed.mechanism import inspect_mechanism
    from airshed.models.air.map_template import template

    say(template(inspect_mechanism(mechanism)), end="")

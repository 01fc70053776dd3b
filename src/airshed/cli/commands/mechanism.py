"""`airshed mechanism` and `airshed kernel`: reaction files, and the code generated for them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airshed.cli.options import AsJson

if TYPE_CHECKING:
    from airshed.mechanism.network import ReactionNetwork


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
    """List species, reactions, rate constants, the balance of atoms, and open rates."""
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
        typer.Option("--write-rates", help="Write NAME.rates.toml, with the missing rates to be filled in."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a mechanism for errors and oddities; exit code 1 if a reaction does not conserve an atom under #CHECK."""
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
    """Write a mechanism in another format and read it back; exit code 1 if the network differs."""
    from airshed.cli.render import show
    from airshed.mechanism.describe import convert

    report = convert(mechanism, output)
    show(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


def map_mechanism(mechanism: Mechanism) -> None:
    """Print a template of a species map: emission, lateral boundary and deposition in the species of a mechanism."""
    from airshed.cli.render import say
    from airshed.mechanism import inspect_mechanism
    from airshed.models.air.map_template import template

    say(template(inspect_mechanism(mechanism)), end="")


class Precision(StrEnum):
    """Floating-point precision of the generated code."""

    DOUBLE = "double"
    SINGLE = "single"


def show_kernel(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep) or reaction file.")],
    levels: Annotated[int, typer.Option(min=1, help="Number of layers.")] = 18,
    precision: Annotated[Precision, typer.Option(help="Floating-point precision.")] = Precision.DOUBLE,
) -> None:
    """Print the C++ code of a mechanism as a run compiles it, each line with its reaction.

    Comments at the beginning list the carbon, nitrogen and sulphur that reactions do not conserve.
    """
    from airshed.kernels.backend import LARGEST_GROUP, WIDTH
    from airshed.kernels.layout import MechanismShape
    from airshed.kernels.schedule import schedule
    from airshed.kernels.step.emit import emit
    from airshed.mechanism import inspect_mechanism
    from airshed.models.air.budget import FAMILIES

    network = inspect_mechanism(mechanism).with_defaults()
    families = tuple(element for element in FAMILIES if element in network.atoms)
    order = schedule(network, LARGEST_GROUP)
    source = emit(network, order, MechanismShape(WIDTH, precision.value, levels, families))
    size = f"{source.operations} operations for production and loss of a cell, species in {len(order.groups)} groups"
    typer.echo(f"{_balance(network)}// {size}\n{source.text}", nl=False)


def _balance(network: "ReactionNetwork") -> str:
    """Return as comments the reactions that do not conserve an atom, with the atoms that each makes or loses."""
    from airshed.kernels.cpp import comment
    from airshed.mechanism.structure import report

    total, *reactions = report(network).splitlines()
    heading = ["atoms that the others make (+) or lose (-), each time that they happen:"] if reactions else []
    return "".join(f"// {comment(line)}\n" for line in (total, *heading, *reactions))

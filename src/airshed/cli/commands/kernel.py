"""`airshed kernel show`: the code generated for a mechanism."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from airshed.mechanism.network import ReactionNetwork


class Precision(StrEnum):
    """Floating-point precision of the generated code."""

    DOUBLE = "double"
    SINGLE = "single"


def show_kernel(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep) or reaction file.")],
    levels: Annotated[int, typer.Option(min=1, help="Number of layers.")] = 18,
    precision: Annotated[Precision, typer.Option(help="Floating-point precision.")] = Precision.DOUBLE,
) -> None:
    """Print the C++ that a mechanism becomes, as a run compiles it, each line with its reaction.

    First comes what the mechanism's reactions do not conserve of carbon, nitrogen and sulphur.
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
    """Return which reactions do not conserve an atom, and what each of them makes or loses, as comments."""
    from airshed.kernels.cpp import comment
    from airshed.mechanism.structure import report

    total, *reactions = report(network).splitlines()
    heading = ["atoms that the others make (+) or lose (-), each time that they happen:"] if reactions else []
    return "".join(f"// {comment(line)}\n" for line in (total, *heading, *reactions))

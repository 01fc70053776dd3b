"""`airshed kernel show`: the code generated for a mechanism."""

from enum import StrEnum
from typing import Annotated

import typer


class Precision(StrEnum):
    """Floating-point precision of the generated code."""

    DOUBLE = "double"
    SINGLE = "single"


def show_kernel(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Shipped mechanism (emep) or reaction file.")],
    levels: Annotated[int, typer.Option(min=1, help="Number of layers.")] = 18,
    precision: Annotated[Precision, typer.Option(help="Floating-point precision.")] = Precision.DOUBLE,
) -> None:
    """Print the C++ that a mechanism becomes, each line with its reaction."""
    from airshed.kernels.emit import Shape, emit
    from airshed.kernels.pipeline import LARGEST_GROUP, WIDTH
    from airshed.kernels.schedule import schedule
    from airshed.mechanism import load_mechanism

    network = load_mechanism(mechanism)
    typer.echo(emit(network, schedule(network, LARGEST_GROUP), Shape(levels, WIDTH, precision.value)).text, nl=False)

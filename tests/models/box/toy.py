"""A mechanism for boxes with open rates only, and its compiled libraries that tests share.

One library is for all Rosenbrock methods, another one for Gauss-Seidel with a loss of TRACER. Unused reactions have
the rate 0.
"""

from pathlib import Path
from typing import Any, Final

from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun

TEXT: Final = """
#DEFVAR
A = H; B = H;
TRACER = IGNORE; TRACER2 = IGNORE;
RN = H; PO = H; PB = H;
#DEFFIX
X = IGNORE;
#EQUATIONS
<1> A = B : j_A;
<2> A + X = B : k_AX;
<3> A + A = 3 A : k_grow;
"""
NAME: Final = "boxes.def"
CLOSED: Final[dict[str, Any]] = {"j_A": "0 1/s", "k_AX": "0 cm3/s", "k_grow": "0 cm3/s"}
"""Rates of a box without reactions."""

INERT: Final = '[rates]\nj_A = "0 1/s"\nk_AX = "0 cm3/s"\nk_grow = "0 cm3/s"\n'
"""The same as text."""


def write_toy(folder: Path, more: str = "") -> Path:
    """Write the mechanism into a folder, followed by additional text; return its path."""
    path = folder / NAME
    path.write_text(f"{TEXT}{more}", encoding="utf-8")
    return path


def load_toy(folder: Path) -> ReactionNetwork:
    return load_mechanism(write_toy(folder))


def compile_toy(folder: Path) -> None:
    """Compile both libraries."""
    network = load_toy(folder)
    data = {"time": {"length": "10 min"}, "rates": CLOSED, "fixed": {"X": "0 molecules/cm3"}}
    for solver in ({}, {"method": "gauss-seidel"}):
        BoxRun(network, BoxConditions.from_dict({**data, "solver": solver, "deposition": {"TRACER": "0 1/s"}})).run()

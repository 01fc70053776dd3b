"""What acts on species in a step besides transport by the wind and chemistry, as kernels are given it.

An operator is one term of the equation of each species that it touches, of one of seven kinds. Its rate is a formula of
packed fields, of numbers and of the air of the cell, computed where it is needed, in every step:

    loss           - L q,   L [1/s], implicit; at all levels or in the lowest one
    source         + S,     S [mol/mol/s], implicit, known at the end of the step; at all levels or in the lowest one
    exchange       E [mol/s] of air through upper faces, up and down alike, for all species; implicit
    sinking        F [mol/s] of air that species fall through, downward through the lower face; implicit
    face_exchange  D [mol/s] of air through west and south faces, both ways alike, for all species; explicit
    column_matrix  M [mol/s], what the air of layer k' brings to layer k: sum over k' of M(k, k') q(k'); explicit
    face_flux      all species go with the air through faces, by the limited scheme of transport; explicit; no rate

Conserving kinds (exchange, face_exchange, column_matrix) add nothing to budgets. `loss` and `source` add what they took
or gave [mol/s], `sinking` what left through the ground. `face_flux` adds to the terms `inflow` and `outflow`, which
every step has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from airshed.formula.tree import Expression

Kind = Literal["loss", "source", "exchange", "sinking", "face_exchange", "column_matrix", "face_flux"]
Shape = Literal["cells", "ground", "west faces", "south faces", "matrix"]

AIR: Final[Mapping[str, str]] = {
    "temperature": "K",
    "pressure": "Pa",
    "air_density": "mol/m3",
    "water_vapour": "mol/mol",
    "air": "mol",
    "thickness": "m",
    "cos_zenith": "1",
    "light": "1",
}
"""Names of the air of a cell that formulas may use, and their units.

air        content of the cell at the end of the step;  thickness  of its layer
cos_zenith of the sun, 0 while it is down;  light  what clouds and the night leave of clear daylight, 0 to 1
"""


@dataclass(frozen=True)
class OperatorField:
    """A packed field that an operator reads, linear between the ends of a forcing interval.

    name     a C identifier, no other field's; its key among the fields that steps are given
    shape    what it has one value for: each cell, each column at the ground, each west or south face of a cell, or each
             pair of layers of a column
    species  whether it has one for each species of the operator, in front of levels

    Packed: [lat][block][species][level][W], without what it lacks; a matrix [lat][block][k][k'][W]; faces as the air
    fluxes are. Padding lanes hold zero.
    """

    name: str
    shape: Shape = "cells"
    species: bool = False


@dataclass(frozen=True)
class Operator:
    """One term of the equations of species; see the module.

    name     a C identifier, no other operator's
    species  numbers of those it touches, rising; empty for kinds that touch all (and where it touches none)
    fields   what it reads;  numbers  names of numbers that it reads, which may change between steps, with their values
             for each species that it touches, or one value for all
    rate     the formula over names of fields, of numbers and of :data:`AIR`; two for `face_exchange`, of the west and
             of the south face; none for `face_flux`
    ground   whether a loss or a source acts in the lowest level alone
    term     the name of the budget's term that it adds to; None for a kind that conserves

    Operators of one term add up there.
    """

    name: str
    kind: Kind
    rate: tuple[Expression, ...]
    species: tuple[int, ...] = ()
    fields: tuple[OperatorField, ...] = ()
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ground: bool = False
    term: str | None = None


ADVECTION: Final = Operator("carried", "face_flux", ())
"""What the wind does: the operator of advection."""

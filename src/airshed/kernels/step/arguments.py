"""Inputs and outputs of a step: weights of its formula, forcing and state in the packed layout, and halo exchange."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.program.weights import StageWeights

if TYPE_CHECKING:
    from airshed.kernels.boundary import BoundaryForcing


Side = Literal["west", "east", "south", "north"]

SIDES: Final[tuple[Side, ...]] = ("west", "east", "south", "north")

REACH = 2
"""Width of the halo: cells on each side that the stencil of a face reads."""

HORIZONTAL_TERMS: Final = (0, 1, 3)
"""Indices of the budget terms of horizontal transport, which are by level."""

Directions = Literal["all", "horizontal", "vertical"]
"""Directions of transport."""

Pair = tuple[AnyArray, AnyArray]
"""A packed field at the two ends of a forcing interval."""


@dataclass(frozen=True)
class TransportForcing:
    """Packed air fluxes [mol/s] around time level n, and the weight of the end of their interval at n (0..1).

    fields    inputs of operators that act with transport: face exchange and column matrices
    numbers   values of numbers of operators, in place of the declared ones
    boundary  concentrations along the lateral faces; None for the profile of :class:`StepConstants`
    """

    flux_x: Pair
    flux_y: Pair
    flux_z: Pair
    weight: float
    weight_z: float
    fields: Mapping[str, Pair] = field(default_factory=dict)
    numbers: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    boundary: "BoundaryForcing | None" = None


@dataclass(frozen=True)
class ColumnForcing:
    """Packed fields around time level n+1, and the weight of the end of their interval (0..1).

    temperature  [K];  water  [mol/mol]
    emission     [mol/s] (emitted species, lowest levels)
    sun          secant of the zenith angle and light factor of each column
    parameters   open parameters of the mechanism [molecules, cm3, s], (parameter, level); None if there are none
    fields       inputs of operators that act in columns;  numbers  as of transport
    """

    temperature: Pair
    water: Pair
    weight: float
    emission: AnyArray
    sun: AnyArray
    parameters: Pair | None = None
    fields: Mapping[str, Pair] = field(default_factory=dict)
    numbers: Mapping[str, npt.ArrayLike] = field(default_factory=dict)


@dataclass
class State:
    """Packed state of a run: two time levels of mixing ratios and air, and the newest transport tendencies.

    q, q_other          [mol/mol] level n and n-1, [lat][block][species][level][W]
    tendency            [mol/s] transport of level n-1, the same shape
    air, air_other      [mol] air in each cell, [lat][block][level][W];  air_tendency [mol/s]
    """

    q: AnyArray
    q_other: AnyArray
    tendency: AnyArray
    air: AnyArray
    air_other: AnyArray
    air_tendency: AnyArray

    @classmethod
    def zeros(cls, layout: Layout, species: int, levels: int) -> "State":
        """Return a state of zeros."""
        chemical = [layout.zeros(species, levels) for _ in range(3)]
        air = [layout.zeros(levels) for _ in range(3)]
        return cls(*chemical, *air)

    def rotate(self) -> None:
        """Make the level just computed the newest one."""
        self.q, self.q_other = self.q_other, self.q
        self.air, self.air_other = self.air_other, self.air


VALUE, CHANGE = range(2)
"""Indices of a value and its tangent in interleaved memory."""


@dataclass(frozen=True)
class StateAndChanges:
    """State with tangents of its mixing ratios and tendencies; the air has no tangent.

    both  interleaved memory, [lat][block][species][level][2][W];  state, changes  views of it
    """

    both: State
    state: State
    changes: State

    @classmethod
    def zeros(cls, layout: Layout, species: int, levels: int) -> "StateAndChanges":
        """Return a state of zeros without tangents."""
        chemical, air = [layout.zeros(species, levels, 2) for _ in range(3)], [layout.zeros(levels) for _ in range(3)]
        none = np.broadcast_to(air[0].dtype.type(0.0), air[0].shape)
        state, changes = ([each[..., which, :] for each in chemical] for which in (VALUE, CHANGE))
        return cls(State(*chemical, *air), State(*state, *air), State(*changes, *[none] * 3))

    def rotate(self) -> None:
        """Make the level just computed the newest one."""
        for each in (self.both, self.state, self.changes):
            each.rotate()


@dataclass(frozen=True)
class StepForcing:
    """Forcing of a step: its weights, and the fields around its instants; column: None without a vertical part."""

    weights: StageWeights
    transport: TransportForcing
    column: ColumnForcing | None


StepObserver = Callable[[StepForcing, State], None]


@dataclass(frozen=True)
class StepChanges:
    """Tangents of the inputs of a step, each in the layout of its input; None or empty for zero.

    emission          [mol/s], packed
    boundary_profile  of the lateral profile (species, level) [mol/mol];  top  (species,)
    boundary          of boundary concentrations along the faces, at both ends of the interval of the forcing
    reactions         of the factor on the rate of each reaction (reaction,); the factors are one
    fields            of fields of operators, packed, at both ends of the interval of the forcing
    numbers           of numbers of operators
    """

    emission: AnyArray | None = None
    boundary_profile: Array | None = None
    top: Array | None = None
    reactions: Array | None = None
    fields: Mapping[str, Pair] = field(default_factory=dict)
    numbers: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    boundary: "BoundaryForcing | None" = None


@dataclass(frozen=True)
class TimeLevel:
    """State at one time level: mixing ratios [mol/mol], and the air [mol] without species; packed as in `State`."""

    q: AnyArray
    air: AnyArray


EmissionShare = tuple[float, AnyArray]
"""Share of an emission period in a step, and the adjoint of its sources [s/mol], [lat][block][species][level][W]."""


@dataclass(frozen=True)
class FieldAdjoint:
    """Sensitivity to a field of operators at an instant, per unit of the field; both packed in the same layout."""

    name: str
    field: AnyArray
    adjoint: AnyArray


@dataclass(frozen=True)
class StepConstants:
    """Constants of all steps.

    profile           boundary concentrations (species, level) [mol/mol], the same along all lateral faces, for steps
                      without boundary concentrations in their forcing
    top               mixing ratios (species,) above the model
    density_factor    (level, lat, lon) relative air density per mole of air in a cell [1/mol]; (level, lat, 1)
                      if it is constant along rows
    vertical_weights  (level, 4) parabola weights of each upper face for upward and for downward flow
    thickness         [m] of the levels; None if no operator reads it
    emitted           indices of the emitted species
    sweeps            number of sweeps over the species of a column
    oxygen, nitrogen  mole fractions in air
    """

    profile: Array
    top: Array
    density_factor: Array
    vertical_weights: Array
    thickness: Array | None = None
    emitted: Sequence[int] = ()
    sweeps: int = 1
    oxygen: float = 0.2095
    nitrogen: float = 0.7808


class InputAdjoints(Protocol):
    """Adjoints of the inputs of operators, summed over steps; numbers by name, [lat][block][value]."""

    numbers: dict[str, Array]

    @property
    def fields(self) -> list[FieldAdjoint]:
        """Adjoints of fields at each instant of the forcing."""
        ...


class Neighbours(Protocol):
    """Neighbours of the open sides of the state, with a non-blocking halo exchange; see ``parallel.halo``.

    sides   sides with a neighbouring rank
    """

    @property
    def sides(self) -> Collection[Side]:
        """Sides with a neighbouring rank."""
        ...

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Start the exchange of the edges of the mixing ratios, which must not change until it is complete.

        Returns the halo by side; the arrays are valid until the exchange after the next one starts:
            west, east    packs (row, species, level, W)
            south, north  two rows (2, block, species, level, W), from south to north
        """
        ...

    def arrived(self) -> bool:
        """Drive the exchange, and return True when all edges have arrived."""
        ...

    def close(self) -> None:
        """Release the resources of the exchange."""
        ...


class HaloExchange(Protocol):
    """Blocking halo exchange with the neighbours of the open sides; see ``parallel.halo``.

    sides   sides with a neighbouring rank
    """

    @property
    def sides(self) -> Collection[Side]:
        """Sides with a neighbouring rank."""
        ...

    def __call__(self, outgoing: Mapping[Side, AnyArray], incoming: Mapping[Side, AnyArray]) -> None:
        """Send arrays to the neighbours on some open sides; receive arrays of the same shapes from them."""
        ...

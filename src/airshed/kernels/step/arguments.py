"""What a step reads and writes: the weights of its formula, forcing and state in the packed layout, and edges."""

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
"""Cells on each side that a face of the transport scheme looks at: so many rows next to a neighbour need its values."""

HORIZONTAL_TERMS: Final = (0, 1, 3)
"""Those of horizontal transport alone, by level."""

Directions = Literal["all", "horizontal", "vertical"]
"""Where transport goes."""

Pair = tuple[AnyArray, AnyArray]
"""A packed field at the two ends of a forcing interval."""


@dataclass(frozen=True)
class TransportForcing:
    """Packed air fluxes [mol/s] around the instant n, and where n lies between their ends (0..1).

    fields   those that operators read which act with transport: exchange through faces, and matrices of columns
    numbers  values of numbers of operators, in the place of those that they were declared with
    boundary  concentrations along the lateral faces; None where the profile of :class:`StepConstants` is there
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
    """Packed fields around the instant n+1, and where it lies between their ends (0..1).

    temperature [K], water [mol/mol],
    emission [mol/s] (emitted species, lowest levels), sun: secant of the zenith angle and light factor of each column,
    parameters: what the mechanism leaves open [molecules, cm3, s], (parameter, level); None where there is nothing,
    fields: those that operators read which act in columns;  numbers: as those of transport.
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
    """The packed state of a run: two time levels of mixing ratios and air, and the newest transport tendencies.

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
        """Return an empty state."""
        chemical = [layout.zeros(species, levels) for _ in range(3)]
        air = [layout.zeros(levels) for _ in range(3)]
        return cls(*chemical, *air)

    def rotate(self) -> None:
        """Make the level just computed the newest."""
        self.q, self.q_other = self.q_other, self.q
        self.air, self.air_other = self.air_other, self.air


VALUE, CHANGE = range(2)
"""Which of two is which, where values and their changes lie beside each other."""


@dataclass(frozen=True)
class StateAndChanges:
    """A state and the changes of its mixing ratios and tendencies; the air has none.

    both  in one memory, [lat][block][species][level][2][W];  state, changes  views of it
    """

    both: State
    state: State
    changes: State

    @classmethod
    def zeros(cls, layout: Layout, species: int, levels: int) -> "StateAndChanges":
        """Return an empty state without changes."""
        chemical, air = [layout.zeros(species, levels, 2) for _ in range(3)], [layout.zeros(levels) for _ in range(3)]
        none = np.broadcast_to(air[0].dtype.type(0.0), air[0].shape)
        state, changes = ([each[..., which, :] for each in chemical] for which in (VALUE, CHANGE))
        return cls(State(*chemical, *air), State(*state, *air), State(*changes, *[none] * 3))

    def rotate(self) -> None:
        """Make the level just computed the newest."""
        for each in (self.both, self.state, self.changes):
            each.rotate()


@dataclass(frozen=True)
class StepForcing:
    """All that a step is given: its weights, and the forcing around its instants; no column without a vertical part."""

    weights: StageWeights
    transport: TransportForcing
    column: ColumnForcing | None


StepObserver = Callable[[StepForcing, State], None]


@dataclass(frozen=True)
class StepChanges:
    """Changes of what a step is given, each like what changes; none where there is nothing.

    emission   [mol/s], packed;  boundary_profile  of the lateral profile (species, level) [mol/mol];  top  (species,)
    boundary   of boundary concentrations along the faces, at both ends of the interval of a step that has them
    reactions  of a factor of one on the rate of each reaction (reaction,)
    fields     that operators read, packed, at both ends of the interval of forcing;  numbers  that operators read
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
    """The state at one instant: mixing ratios [mol/mol], and the air [mol] without species; packed as in `State`."""

    q: AnyArray
    air: AnyArray


EmissionShare = tuple[float, AnyArray]
"""Share of an emission period in a step, and the adjoint of its sources [s/mol], [lat][block][species][level][W]."""


@dataclass(frozen=True)
class FieldAdjoint:
    """What a field that operators read at an instant is worth to a cost, per its unit; both packed alike."""

    name: str
    field: AnyArray
    adjoint: AnyArray


@dataclass(frozen=True)
class StepConstants:
    """What stays the same in all steps.

    profile            boundary concentrations (species, level) [mol/mol], the same along all lateral faces, in steps
                      that are given none of their own
    top               mixing ratios (species,) above it
    density_factor    (level, lat, lon) relative air density per mole of air in a cell [1/mol]; (level, lat, 1)
                      where a row has one
    vertical_weights  (level, 4) parabola weights of each upper face for upward and for downward flow
    thickness         [m] of the levels; None where no operator asks
    emitted           numbers of the species that are emitted
    sweeps            over the species of a column
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
        """Those of fields at each instant of the forcing."""
        ...


class Neighbours(Protocol):
    """Who holds what lies beyond the open sides of the state; see ``parallel.halo``.

    sides   on which a neighbour goes on
    """

    @property
    def sides(self) -> Collection[Side]:
        """See above."""
        ...

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Begin to exchange the edges of the mixing ratios, which stay as they are until all are here.

        Returns where the neighbours' edges will lie, by side, until the exchange after the next begins:
            west, east    packs (row, species, level, W)
            south, north  two rows (2, block, species, level, W), rising as in the grid
        """
        ...

    def arrived(self) -> bool:
        """See to the exchange under way, and return whether all edges are here."""
        ...

    def close(self) -> None:
        """Give free what the exchange holds."""
        ...


class HaloExchange(Protocol):
    """Gives edges to those who hold what lies beyond the open sides, and takes theirs; see ``parallel.halo``.

    sides   on which a neighbour goes on
    """

    @property
    def sides(self) -> Collection[Side]:
        """See above."""
        ...

    def __call__(self, given: Mapping[Side, AnyArray], taken: Mapping[Side, AnyArray]) -> None:
        """Send arrays to the neighbours on some open sides; fill others, of the same shapes, with what these send."""
        ...

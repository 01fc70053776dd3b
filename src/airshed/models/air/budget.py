"""Budgets of species by process: sums that follow the two-step formula, so that they close to round-off.

The formula is linear in the contribution of each process. The amount B_p that process p has added therefore obeys the
same formula as the total amount M of the species,

    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + t0 R_p(n) + t1 R_p(n-1)     explicit: inflow, outflow
    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + g R_p(n+1)                  implicit: all other processes

and M - M(0) - sum of B_p is round-off, for any steps. The same formula sums the atoms of a family that reactions of the
mechanism do not conserve. The remaining change of a family by chemistry is the drift of the unconverged iteration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.kernels.backend import Stepper
from airshed.kernels.boundary import FaceCells, cells_of
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.step.arguments import SIDES, Pair, Side, State, StepConstants, StepForcing, TransportForcing
from airshed.kernels.transport.reference import ALPHA, BETA, face_value
from airshed.models.air.boundary.field import face_cells
from airshed.parallel.domain import Subdomain
from airshed.program.weights import StageWeights

USUAL: Final = {"inflow": 1.0, "outflow": -1.0, "emitted": 1.0, "deposited": -1.0, "chemistry": 1.0, "clipped": 1.0}
"""Terms of every budget, with their signs in the balance; terms of other active processes precede chemistry."""

EXPLICIT: Final = ("inflow", "outflow")
"""Terms of transport, explicit in the formula; other terms are implicit, except clipping, which is an amount."""

FAMILIES: Final = {"N": "nitrogen", "S": "sulphur"}
"""Elements with budgets of the atoms in all species."""


@dataclass(frozen=True)
class Baseline:
    """Reference of budgets: time [s], amounts of species [mol], and the sums of the budget at that time."""

    seconds: float
    amounts: Array
    processes: Array
    imbalance: Array


class Budget:
    """Amounts [mol] that each process has added to each species since the start.

    signs       of terms in the balance, by name: negative for losses
    amounts     (term, species) [mol], in the order of signs
    imbalance   (family,) [mol of atoms] added by reactions that do not conserve atoms
    faces       inflow and outflow by face of the boundary; None without `boundary.budget = "faces"`
    """

    faces: "FaceBudget | None" = None

    def __init__(self, species: int, families: int, further: Mapping[str, float] | None = None) -> None:
        """Start at zero; `further` are terms of processes, each with its sign."""
        last = {name: USUAL[name] for name in ("chemistry", "clipped")}
        self.signs = {name: sign for name, sign in USUAL.items() if name not in last} | dict(further or {}) | last
        self.amounts = np.zeros((len(self.signs), species))
        self.imbalance = np.zeros(families)
        self._previous_imbalance = np.zeros(families)
        self._previous = np.zeros_like(self.amounts)
        self._explicit = np.zeros((len(EXPLICIT), species))
        self._row = {name: row for row, name in enumerate(self.signs)}
        self._explicit_rows = [self._row[name] for name in EXPLICIT]

    def add(self, weights: StageWeights, sums: Mapping[str, Array], imbalance: Array) -> None:
        """Add one step: the rate of each term for each species [mol/s], and imbalance; clipped [mol].

        Terms that are not in `sums` are zero.
        """
        w, nothing = weights, np.zeros(self.amounts.shape[1])
        rates = np.array([sums.get(name, nothing) for name in self.signs])
        by = [w.t0 if name in EXPLICIT else 1.0 if name == "clipped" else w.g for name in self.signs]
        new = w.c0 * self.amounts + w.c1 * self._previous + np.array(by)[:, None] * rates
        new[self._explicit_rows] += w.t1 * self._explicit
        self._previous, self.amounts, self._explicit = self.amounts, new, rates[self._explicit_rows]
        made = w.c0 * self.imbalance + w.c1 * self._previous_imbalance + w.g * imbalance
        self._previous_imbalance, self.imbalance = self.imbalance, made
        if self.faces is not None:
            self.faces.add(weights)

    def add_chemistry(self, made: Array, clipped: Array, imbalance: Array) -> None:
        """Add a step of chemistry: species produced and clipped [mol], and imbalance of atoms [mol]."""
        self.amounts = self.amounts.copy()
        self.amounts[self._row["chemistry"]] += made
        self.amounts[self._row["clipped"]] += clipped
        self.imbalance = self.imbalance + imbalance

    def add_amounts(
        self, term: str, species: Sequence[int], made: Array, clipped: Array, *, all_levels: bool
    ) -> None:  # fmt: skip
        """Add a change of some species to a term [mol], and the clipped amounts [mol].

        all_levels  whether the older time level changed by the same amount
        """
        changed = [self.amounts.copy(), self._previous.copy()]
        for amounts in changed[: 2 if all_levels else 1]:
            amounts[self._row[term], species] += made
            amounts[self._row["clipped"], species] += clipped
        self.amounts, self._previous = changed

    def copy(self) -> Array:
        """Return a copy of all amounts in one array, for :meth:`put` and :meth:`add_up`."""
        faces = [] if self.faces is None else [self.faces.amounts.ravel()]
        return np.concatenate([self.amounts.ravel(), self.imbalance, *faces])

    def put(self, copied: Array) -> None:
        """Set the amounts from a copy, for a formula without history."""
        ends = np.cumsum([self.amounts.size, self.imbalance.size])
        amounts, self.imbalance, faces = np.split(copied, ends)
        self.amounts = amounts.reshape(self.amounts.shape)
        if self.faces is not None:
            self.faces.amounts = faces.reshape(self.faces.amounts.shape)

    def add_up(self, coefficients: Sequence[float], copied: Sequence[Array], clipped: Array) -> None:
        """Set the amounts to a linear combination of copies, and add the clipped amounts of the result [mol]."""
        self.put(np.sum([each * numbers for each, numbers in zip(coefficients, copied, strict=True)], axis=0))
        self.amounts[self._row["clipped"]] += clipped

    def begin(self, seconds: float, amounts: Array) -> Baseline:
        """Return the baseline of budgets that start at a time [s] with amounts [mol] of species."""
        if self.faces is not None:
            self.faces.begin()
        return Baseline(seconds, amounts, self.amounts.copy(), self.imbalance.copy())

    def save(self) -> dict[str, Array]:
        """Return the arrays for :meth:`restore`."""
        return {
            "amounts": self.amounts,
            "previous": self._previous,
            "explicit": self._explicit,
            "imbalance": self.imbalance,
            "previous_imbalance": self._previous_imbalance,
            **({} if self.faces is None else self.faces.save()),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore saved sums."""
        self.amounts, self._previous, self._explicit, self.imbalance, self._previous_imbalance = (
            arrays[name].copy() for name in ("amounts", "previous", "explicit", "imbalance", "previous_imbalance")
        )
        if self.faces is not None:
            self.faces.restore(arrays)


_SAVED = ("amounts", "previous", "explicit", "baseline")
_OPPOSITE: dict[Side, Side] = {"west": "east", "east": "west", "south": "north", "north": "south"}


class FaceBudget:
    """Inflow and outflow [mol] by face, for the columns of a rank.

    Arrays are (2, species, face): inflow and outflow, through the lateral faces of each level in the order of
    :class:`airshed.kernels.boundary.FaceCells`, then through the top of each column.

    constants  returns the profile at the sides and the top, for steps without boundary concentrations
    """

    def __init__(self, layout: Layout, subdomain: Subdomain, constants: Callable[[], StepConstants]) -> None:
        self._layout, self._subdomain, self._constants = layout, subdomain, constants
        species, self._levels = constants().profile.shape
        decomposition, rank = subdomain.decomposition, subdomain.tile.rank
        self._sides = [side for side in SIDES if decomposition.neighbour(rank, side) is None]
        self._cells = FaceCells(layout.rows, layout.columns)
        self._lateral = self._levels * self._cells.count
        self.amounts: Array = np.zeros((2, species, self._lateral + layout.rows * layout.columns))
        self.previous, self.explicit, self.baseline = (np.zeros_like(self.amounts) for _ in range(3))
        self._rates: list[tuple[StageWeights, Array]] = []  # of steps that are not yet added

    def watch(self, steppers: Sequence[Stepper]) -> None:
        """Register an observer that computes the rates of each step from the state at its start."""
        for stepper in steppers:
            stepper.observer = partial(self._observe, stepper.kernel.shape)

    def begin(self) -> None:
        """Start the budget at the current time."""
        self.baseline = self.amounts.copy()

    def _observe(self, shape: MechanismShape, step: StepForcing, state: State) -> None:
        outward = np.zeros(self.amounts.shape[1:])
        if shape.horizontal:
            sides = {side: self._lateral_flux(side, step.transport, state) for side in self._sides}
            outward[:, : self._lateral] = self._joined(sides).reshape(len(outward), -1)
        if shape.vertical:
            outward[:, self._lateral :] = self._top_flux(step.transport, state)
        self._rates.append((step.weights, np.stack([np.maximum(-outward, 0.0), np.maximum(outward, 0.0)])))

    def add(self, weights: StageWeights) -> None:
        """Add the step with these weights; rates of earlier steps belong to repeated attempts and are discarded."""
        number = next((n for n, (each, _) in enumerate(self._rates) if each is weights), None)
        rates = np.zeros_like(self.amounts) if number is None else self._rates[number][1]
        del self._rates[: 0 if number is None else number + 1]
        w = weights
        new = w.c0 * self.amounts + w.c1 * self.previous + w.t0 * rates + w.t1 * self.explicit
        self.previous, self.amounts, self.explicit = self.amounts, new, rates

    def save(self) -> dict[str, Array]:
        """Return the arrays for :meth:`restore`, of the whole area; collective."""
        found: dict[str, Array] = {}
        for name in _SAVED:
            lateral, top = self._whole(getattr(self, name))
            found |= {f"faces.{name}.lateral": lateral, f"faces.{name}.top": top}
        return found

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Restore the sums of any number of ranks; without saved sums, start at the current time."""
        self._rates.clear()
        if f"faces.{_SAVED[0]}.top" not in saved:
            self.begin()
            return
        window, whole = self._subdomain.window, self._subdomain.decomposition
        around = FaceCells(whole.rows, whole.columns)
        for name in _SAVED:
            lateral = around.part(saved[f"faces.{name}.lateral"], window.rows, window.columns)
            parts = [lateral, window.of(saved[f"faces.{name}.top"])]
            setattr(self, name, np.concatenate([each.reshape(*self.amounts.shape[:2], -1) for each in parts], axis=-1))

    def by_side(self) -> dict[str, Array]:
        """Return (2, species) [mol], inflow and outflow since the baseline, by side and through the top; collective."""
        lateral, top = self._whole(self.amounts - self.baseline)
        whole = self._subdomain.decomposition
        sides = FaceCells(whole.rows, whole.columns).split(lateral)
        return {**{str(side): each.sum(axis=(2, 3)) for side, each in sides.items()}, "top": top.sum(axis=(2, 3))}

    def variables(self, grid: Grid, weights: Array) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the variables and coordinates of a dataset, since the baseline; collective.

        weights  (row, species) of each budget
        """
        lateral, top = self._whole(self.amounts - self.baseline)
        found: dict[str, Any] = {}
        for number, name in enumerate(("inflow", "outflow")):
            found[f"{name}_faces"] = ("species", "level", "face"), np.tensordot(weights, lateral[number], 1)
            found[f"{name}_top"] = ("species", *grid.dims), np.tensordot(weights, top[number], 1)
        cells = {f"face_{name}": each.variable for name, each in face_cells(grid).coords.items()}
        places = {name: (dims, values) for name, (dims, values, _) in grid.axes.dataset_coords().items()}
        return {name: (*each, {"units": "mol"}) for name, each in found.items()}, cells | places

    def _whole(self, amounts: Array) -> tuple[Array, Array]:
        """Return (2, species, level, face cell) and (2, species, lat, lon) of the whole area."""
        shape = amounts.shape[:2]
        lateral = amounts[..., : self._lateral].reshape(*shape, self._levels, -1)
        top = amounts[..., self._lateral :].reshape(*shape, self._layout.rows, self._layout.columns)
        return self._subdomain.whole_faces(lateral), self._subdomain.whole(top)

    def _joined(self, sides: Mapping[Side, Array]) -> Array:
        """Return values along open sides as a field (species, level, face cell), zero along closed sides."""
        field = np.zeros((self.amounts.shape[1], self._levels, self._cells.count))
        for side, values in sides.items():
            field[..., self._cells.places[side]] = values
        return field

    def _lateral_flux(self, side: Side, transport: TransportForcing, state: State) -> Array:
        """Return the outflow through the faces of a side [mol/s], (species, level, face cell)."""
        layout = self._layout
        if side in ("west", "east"):
            block, lane = divmod(0 if side == "west" else layout.columns, layout.width)
            air = _between(transport.flux_x, transport.weight, (slice(None), block, slice(None), lane)).T
        else:
            air = self._along(_between(transport.flux_y, transport.weight, (0 if side == "south" else -1,)))
        outward = air if side in ("east", "north") else -air
        inside, beyond = self._inside(side, transport, state, 0), self._concentration(side, transport)
        if len(beyond) > len(inside) > 0:
            near, far = cells_of(beyond, len(inside))
            leaving = face_value(self._inside(side, transport, state, 1), inside, near, ALPHA, BETA)
            inside, beyond = leaving, face_value(far, near, inside, ALPHA, BETA)
        return np.asarray(outward * np.where(outward > 0.0, inside, beyond))

    def _inside(self, side: Side, transport: TransportForcing, state: State, number: int) -> Array:
        """Return the mixing ratios of the cell with a number from a side inwards (species, level, face cell).

        The second of a single cell is the one beyond the opposite side.
        """
        layout = self._layout
        size = layout.columns if side in ("west", "east") else layout.rows
        if number == size:
            return np.asarray(cells_of(self._concentration(_OPPOSITE[side], transport), state.q.shape[2])[0])
        place = number if side in ("west", "south") else size - 1 - number
        if side in ("west", "east"):
            block, lane = divmod(place, layout.width)
            return np.moveaxis(state.q[:, block, :, :, lane].astype(np.float64), 0, -1)
        return self._along(state.q[place].astype(np.float64))

    def _concentration(self, side: Side, transport: TransportForcing) -> Array:
        """Return the boundary concentrations along a side (species of all cells, level, face cell)."""
        if transport.boundary is None:
            return np.asarray(self._constants().profile)[..., None]
        given = transport.boundary
        values = _between((given.start.sides[side], given.end.sides[side]), given.weight, ())
        return np.moveaxis(values, 0, -1) if side in ("west", "east") else self._along(values)

    def _along(self, blocks: Array) -> Array:
        """Return [block][...][W] as (..., lon)."""
        lanes = np.moveaxis(blocks, 0, -2)
        return lanes.reshape(*lanes.shape[:-2], -1)[..., : self._layout.columns]

    def _top_flux(self, transport: TransportForcing, state: State) -> Array:
        """Return the outflow through the top [mol/s], (species, column)."""
        unpack, top = self._layout.unpack, np.asarray(self._constants().top)[:, None, None]
        air = unpack(_between(transport.flux_z, transport.weight_z, (slice(None), slice(None), -1)))
        outward = air * np.where(air > 0.0, unpack(state.q[:, :, :, -1]), top)
        return outward.reshape(len(outward), -1)


def _between(pair: Pair, weight: float, place: tuple[Any, ...]) -> Array:
    """Return an element of a packed field, interpolated between the ends of its interval in double precision."""
    start, end = (each[place].astype(np.float64) for each in pair)
    return np.asarray(start + weight * (end - start))

"""Planted errors, each of which the law of the same bits must see."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager as Block
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import netCDF4
import numpy as np
from tests.laws.pairwise import Row

from airshed.io.archive import load_arrays, save_arrays
from airshed.io.folder import RESTARTS
from airshed.models.air.model import AirModel
from airshed.models.points.model import PointModel
from airshed.parallel.communicator import Communicator, MpiRanks
from airshed.parallel.halo import Halo


def no_patch(ranks: Communicator) -> Block[Any]:
    """Change nothing while a case runs."""
    return nullcontext()


def no_edit(folder: Path) -> None:
    """Change no file."""


@dataclass(frozen=True)
class Fault:
    """A planted error.

    row      levels of the row in which it is, where they differ from those of the plain row
    seen     digests that must differ from those of the plain run;  unseen  digests that must not
    patch    a block around the whole run, on each of its ranks
    restart  changes the folder where the run was cut;  output  changes that of the finished run
    """

    row: Row
    seen: frozenset[str]
    patch: Callable[[Communicator], Block[Any]] = no_patch
    restart: Callable[[Path], None] = no_edit
    output: Callable[[Path], None] = no_edit
    unseen: frozenset[str] = frozenset()


def raise_last_bit(array: np.ndarray[Any, Any], index: Any) -> None:
    """Replace values by the next larger ones."""
    array[index] = np.nextafter(array[index], np.inf, dtype=array.dtype)


@contextmanager
def wrong_edge(ranks: Communicator) -> Iterator[None]:
    """Change the last bits of the values that the last rank receives from a neighbour; one may be rounded away."""
    arrived = Halo.arrived

    def wrong(edges: Halo) -> bool:
        done = arrived(edges)
        if done and ranks.rank == ranks.size - 1:
            raise_last_bit(edges._received[edges.sides[0]], ...)
        return done

    with mock.patch.object(Halo, "arrived", wrong):
        yield


@contextmanager
def lost_step(ranks: Communicator) -> Iterator[None]:
    """Make one step of two within each batch of more than two."""
    through = AirModel.step_through
    with mock.patch.object(AirModel, "step_through", lambda model, ends: through(model, [*ends[:-2], ends[-1]])):
        yield


@contextmanager
def wrong_sum(ranks: Communicator) -> Iterator[None]:
    """Omit the first summand of the last rank in sums over ranks."""
    total = MpiRanks.total

    def wrong(own: MpiRanks, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return total(own, np.zeros_like(counts) if ranks.rank == ranks.size - 1 else counts)

    with mock.patch.object(MpiRanks, "total", wrong):
        yield


@contextmanager
def changed_cell(ranks: Communicator) -> Iterator[None]:
    """Change the last bit of a value of the last rank before each batch of steps."""
    air, points = AirModel.step_through, PointModel.step_through

    def change_air(model: AirModel, ends: Any) -> None:
        if ranks.rank == ranks.size - 1:
            raise_last_bit(model.stepper.state.q, (-1, 0, 0, 0, 0))
        air(model, ends)

    def change_points(model: PointModel, ends: Any) -> None:
        if ranks.rank == ranks.size - 1:
            raise_last_bit(model.state["water_1"], (-1,))
        points(model, ends)

    with (
        mock.patch.object(AirModel, "step_through", change_air),
        mock.patch.object(PointModel, "step_through", change_points),
    ):
        yield


def edit_restart(name: str, edit: Callable[[np.ndarray[Any, Any]], None]) -> Callable[[Path], None]:
    """Return a function that changes an array of the newest restart; the file remains valid."""

    def change(folder: Path) -> None:
        path = max((folder / RESTARTS).glob("[!.]*.npz"), key=lambda each: float(each.stem))
        arrays, metadata = load_arrays(path)
        edit(arrays[name])
        save_arrays(path, arrays, metadata)

    return change


def swap_rows(array: np.ndarray[Any, Any]) -> None:
    """Swap two rows of a restart."""
    array[[0, 1]] = array[[1, 0]]


def edit_output(name: str) -> Callable[[Path], None]:
    """Return a function that changes the last bit of a value of a result."""

    def change(folder: Path) -> None:
        with netCDF4.Dataset(folder / "output.nc", "a") as file:
            values = file[name][...]
            raise_last_bit(values, (-1,) * values.ndim)
            file[name][...] = values

    return change


def one_bit(array: np.ndarray[Any, Any]) -> None:
    """Change the last bit of a value of a restart."""
    raise_last_bit(array, (1,) * (array.ndim - 1) + (3,) if array.ndim > 1 else (3,))


def double(array: np.ndarray[Any, Any]) -> None:
    """Double a mean in a restart; the output has it in single precision."""
    array *= 2.0


def forget(array: np.ndarray[Any, Any]) -> None:
    """Discard the content of a restart."""
    array[...] = 0.0


BITS = frozenset({"state", "restart"})
"""Where a last bit is seen: output has single precision, and a sum may round it away."""

ALL = BITS | {"budget", "summary", "output"}
OUTPUT = frozenset({"output"})
TWO, CUT = {"ranks": "2: [1, 2]"}, {"restart": "same ranks"}

FAULTS = {
    "a bit of an edge": Fault({"model": "imex", **TWO}, BITS, patch=wrong_edge),
    "a bit of an edge, by Strang": Fault({"model": "strang", **TWO}, BITS, patch=wrong_edge),
    "a step that a batch leaves out": Fault({"model": "imex", "batch": "64"}, ALL, patch=lost_step),
    "sums without a rank": Fault({"model": "imex", **TWO}, BITS | {"budget"}, patch=wrong_sum),
    "a bit of a cell of the second rank": Fault({"model": "strang", **TWO}, BITS, patch=changed_cell),
    "a bit of a cell of pasture": Fault({"model": "pasture", "ranks": "2: [1, 2]"}, BITS, patch=changed_cell),
    "a bit of a cell under the server": Fault(
        {"model": "imex", **TWO, "observer": "server"}, frozenset({"state"}), patch=changed_cell
    ),
    "a bit of a restart": Fault({"model": "imex", **CUT}, BITS, restart=edit_restart("state.q", one_bit)),
    "swapped rows of a restart": Fault({"model": "imex", **CUT}, ALL, restart=edit_restart("state.q", swap_rows)),
    "a restart without first steps of cells": Fault(
        {"model": "strang", **CUT}, ALL, restart=edit_restart("chemistry.first", forget)
    ),
    "the start of a mean in a restart": Fault(
        {"model": "means", "ranks": "2: [1, 2]", "restart": "other ranks"}, frozenset({"output"}),
        restart=edit_restart("beside.output.output.last.O3", double), unseen=frozenset({"state"}),
    ),
    "a bit of a restart of pasture": Fault({"model": "pasture", **CUT}, BITS, restart=edit_restart("water_2", one_bit)),
    "a bit of a restart of ponds": Fault(
        {"model": "row", "restart": "other ranks"}, BITS, restart=edit_restart("depth", one_bit)
    ),
    "a bit of output by one rank": Fault({"model": "imex"}, OUTPUT, output=edit_output("O3"), unseen=ALL - OUTPUT),
    "a bit of output by two ranks": Fault(
        {"model": "row", "ranks": "2: [1, 2]", "strategy": "mpiio"}, OUTPUT, output=edit_output("depth"),
        unseen=ALL - OUTPUT,
    ),
}  # fmt: skip

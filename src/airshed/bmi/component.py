"""A model as a component of the Basic Model Interface 2.0: BMI functions of a simulation.

Source: Hutton, Piper & Tucker 2020, The Basic Model Interface 2.0, J. Open Source Softw. 5, 2317.
"""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from airshed.bmi.grids import ModelGrid, grid_of
from airshed.core.alarm import INSTANT
from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

try:
    from bmipy import Bmi
except ImportError as error:
    raise CaseError('airshed.bmi needs bmipy: pip install "airshed[bmi]"') from error


class Component(Bmi):
    """A case of a model as a BMI component; a class without a model accepts cases of all models.

    given  arguments of :class:`airshed.Simulation` in addition to the case, such as `output` and `ranks`

    Variables have the names and units of the model's fields. All fields are outputs; the inputs are fields that can be
    set. Arrays are flat and cover the whole domain, also on several ranks, which make the same calls. Times are seconds
    since the start of the case. Raises AirshedError for an invalid case, name, array or time.
    """

    model: ClassVar[str] = ""

    def __init_subclass__(cls, *, model: str = "", **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.model = model or cls.model

    def __init__(self, **given: Any) -> None:
        self._given = given
        self._simulation: Simulation | None = None

    # ---- control ----

    def initialize(self, config_file: str | Path) -> None:
        """Build the model of a case, given by its file, its folder, or the name of a shipped one."""
        if self._simulation is not None:
            raise CaseError(f"{type(self).__name__} is initialized already; finalize it first")
        case: Any = load_case(config_file)
        if self.model and case.model != self.model:
            name = type(self).__name__
            raise CaseError(f"{config_file} is a case of the model {case.model}; {name} takes those of {self.model}")
        self._simulation = simulation = Simulation(case, **self._given)
        fields = simulation.model.fields.values()
        self._dims = list(dict.fromkeys(spec.dims for spec in fields))
        self._grids = [grid_of(simulation.model.domain.axes, dims) for dims in self._dims]
        self._types: dict[str, np.dtype[Any]] = {}
        self._pointers: dict[str, AnyArray] = {}
        self._step = simulation.next_step() if simulation.seconds < simulation.end else 0.0

    def update(self) -> None:
        """Advance by one step; raises CaseError at the end of the case."""
        simulation = self.simulation
        self._step = simulation.step().dt
        if simulation.seconds >= simulation.end:
            simulation.run()  # there is nothing left but to write the output, if the case has a folder for it
        self._renew_pointers()

    def update_until(self, time: float) -> None:
        """Advance to a time [s], also within a step; raises CaseError for an earlier time."""
        now = self.simulation.seconds
        if time < now - INSTANT:
            raise CaseError(f"time = {time:g} s is before the present time, {now:g} s; BMI has no step backwards")
        self.simulation.run(until=float(time))
        self._renew_pointers()

    def finalize(self) -> None:
        """Close the model and its files."""
        simulation, self._simulation = self._simulation, None
        if simulation is not None:
            simulation.close()

    @property
    def simulation(self) -> Simulation:
        """The simulation; raises CaseError before it is initialized and after it is finalized."""
        if self._simulation is None:
            raise CaseError(f"{type(self).__name__} has no case; call initialize with one first")
        return self._simulation

    # ---- description ----

    def get_component_name(self) -> str:
        """Return the name of the component."""
        model = self.model or (self._simulation.case.model if self._simulation else "")
        return f"Airshed {model}".strip()

    def get_input_item_count(self) -> int:
        """Return the number of variables that can be set."""
        return len(self.get_input_var_names())

    def get_output_item_count(self) -> int:
        """Return the number of variables."""
        return len(self.get_output_var_names())

    def get_input_var_names(self) -> tuple[str, ...]:
        """Return the variables that can be set."""
        return tuple(spec.name for spec in self.simulation.model.fields.values() if spec.settable)

    def get_output_var_names(self) -> tuple[str, ...]:
        """Return all variables."""
        return tuple(self.simulation.model.fields)

    def get_var_grid(self, name: str) -> int:
        """Return the number of its grid."""
        return self._dims.index(self._spec(name).dims)

    def get_var_type(self, name: str) -> str:
        """Return the name of its NumPy type."""
        return self._type(name).name

    def get_var_units(self, name: str) -> str:
        """Return its unit."""
        return self._spec(name).unit

    def get_var_itemsize(self, name: str) -> int:
        """Return the bytes of one value."""
        return self._type(name).itemsize

    def get_var_nbytes(self, name: str) -> int:
        """Return the bytes of all values."""
        return self._type(name).itemsize * self._grid_of(name).size

    def get_var_location(self, name: str) -> str:
        """Return "node", since nodes are the centres of cells."""
        self._spec(name)
        return "node"

    # ---- time ----

    def get_current_time(self) -> float:
        """Return the time of the state [s]."""
        return float(self.simulation.seconds)

    def get_start_time(self) -> float:
        """Return the time of the first state [s]: 0, or less where a case has a spin-up."""
        return float(self.simulation.begin)

    def get_end_time(self) -> float:
        """Return the time of the last state [s]."""
        return float(self.simulation.end)

    def get_time_units(self) -> str:
        """Return "s"."""
        return "s"

    def get_time_step(self) -> float:
        """Return the length of the next step [s], which may vary; at the end that of the last step."""
        if self.simulation.seconds < self.simulation.end:
            self._step = self.simulation.next_step()
        return float(self._step)

    # ---- values ----

    def get_value(self, name: str, dest: AnyArray) -> AnyArray:
        """Fill an array with the values of a variable, and return it."""
        return fill(dest, self.simulation.values(name), name)

    def get_value_ptr(self, name: str) -> AnyArray:
        """Return a read-only array that always has the values of the present time.

        It is a copy that each update renews, since models have their own memory layouts.
        """
        simulation = self.simulation
        if name not in self._pointers:
            self._pointers[name] = simulation.values(name).reshape(-1)
        lasting = self._pointers[name].view()
        lasting.flags.writeable = False
        return lasting

    def get_value_at_indices(self, name: str, dest: AnyArray, inds: AnyArray) -> AnyArray:
        """Fill an array with some values of a variable, by their places in the flat array, and return it."""
        return fill(dest, self.simulation.values(name).reshape(-1)[self._places(name, inds)], name)

    def set_value(self, name: str, src: AnyArray) -> None:
        """Change an input variable, from the next step on."""
        shape, values = self._grid_of(name).shape, np.asarray(src)
        if values.size != self._grid_of(name).size:
            raise CaseError(f"{name} has {self._grid_of(name).size} values; {values.size} cannot be set")
        if values.dtype.kind not in "fiu":
            raise CaseError(f"{name} cannot be set to values of {values.dtype}; give numbers")
        self.simulation.set({name: values.reshape(shape) if shape else values.item()})
        self._renew_pointers()

    def set_value_at_indices(self, name: str, inds: AnyArray, src: AnyArray) -> None:
        """Change some values of an input variable, by their places in the flat array; the others stay as they are."""
        values, places = self.simulation.values(name).reshape(-1), self._places(name, inds)
        if np.size(src) != places.size:
            raise CaseError(f"{name}: {np.size(src)} values cannot be set at {places.size} indices")
        values[places] = np.reshape(src, places.shape)
        self.set_value(name, values)

    # ---- grids; a function that a type of grid does not have raises NotImplementedError ----

    def get_grid_type(self, grid: int) -> str:
        """Return "scalar", "points", "uniform_rectilinear" or "rectilinear"."""
        return self._grid(grid).type

    def get_grid_rank(self, grid: int) -> int:
        """Return the number of directions."""
        return self._grid(grid).rank

    def get_grid_size(self, grid: int) -> int:
        """Return the number of nodes, which are the centres of cells."""
        return self._grid(grid).size

    def get_grid_shape(self, grid: int, shape: AnyArray) -> AnyArray:
        """Fill in the number of nodes along z, y and x."""
        found = self._grid(grid)
        if found.unstructured:
            raise _no(found, "shape")
        return fill(shape, np.array(found.shape), f"the shape of grid {grid}")

    def get_grid_spacing(self, grid: int, spacing: AnyArray) -> AnyArray:
        """Fill in the distance of nodes along z, y and x."""
        found = self._grid(grid)
        if not found.spacing:
            raise _no(found, "spacing")
        return fill(spacing, np.array(found.spacing), f"the spacing of grid {grid}")

    def get_grid_origin(self, grid: int, origin: AnyArray) -> AnyArray:
        """Fill in the first node along z, y and x."""
        found = self._grid(grid)
        if not found.spacing:
            raise _no(found, "origin")
        return fill(origin, np.array([each[0] for each in found.nodes.values()]), f"the origin of grid {grid}")

    def get_grid_x(self, grid: int, x: AnyArray) -> AnyArray:
        """Fill in the coordinates of columns, or of each point."""
        return self._nodes(grid, "x", x)

    def get_grid_y(self, grid: int, y: AnyArray) -> AnyArray:
        """Fill in the coordinates of rows, or of each point."""
        return self._nodes(grid, "y", y)

    def get_grid_z(self, grid: int, z: AnyArray) -> AnyArray:
        """Fill in the coordinates of layers, or of each point."""
        return self._nodes(grid, "z", z)

    def get_grid_node_count(self, grid: int) -> int:
        """Return the number of nodes."""
        return self._grid(grid).size

    def get_grid_edge_count(self, grid: int) -> int:
        """Return 0, for points."""
        return self._without_edges(grid, "edges")

    def get_grid_face_count(self, grid: int) -> int:
        """Return 0, for points."""
        return self._without_edges(grid, "faces")

    def get_grid_edge_nodes(self, grid: int, edge_nodes: AnyArray) -> AnyArray:
        """Fill in nothing, for points."""
        return self._nothing(grid, "edge_nodes", edge_nodes)

    def get_grid_face_edges(self, grid: int, face_edges: AnyArray) -> AnyArray:
        """Fill in nothing, for points."""
        return self._nothing(grid, "face_edges", face_edges)

    def get_grid_face_nodes(self, grid: int, face_nodes: AnyArray) -> AnyArray:
        """Fill in nothing, for points."""
        return self._nothing(grid, "face_nodes", face_nodes)

    def get_grid_nodes_per_face(self, grid: int, nodes_per_face: AnyArray) -> AnyArray:
        """Fill in nothing, for points."""
        return self._nothing(grid, "nodes_per_face", nodes_per_face)

    def _grid(self, grid: int) -> ModelGrid:
        _ = self.simulation
        if grid not in range(len(self._grids)):
            raise CaseError(f"there is no grid {grid!r}; grids are numbered from 0 to {len(self._grids) - 1}")
        return self._grids[grid]

    def _spec(self, name: str) -> FieldSpec:
        (spec,) = self.simulation.model.fields.select([name], where="variable")
        return spec  # type: ignore[no-any-return]

    def _grid_of(self, name: str) -> ModelGrid:
        return self._grids[self.get_var_grid(name)]

    def _type(self, name: str) -> np.dtype[Any]:
        if name not in self._types:
            self._types[name] = self.simulation.values(name).dtype
        return self._types[name]

    def _places(self, name: str, inds: AnyArray) -> npt.NDArray[np.integer[Any]]:
        places, size = np.asarray(inds), self._grid_of(name).size
        if places.size and (places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= size):
            raise CaseError(f"{name} has the indices 0 to {size - 1}, as integers; got {places}")
        return places.astype(np.int64)

    def _renew_pointers(self) -> None:
        for name, array in self._pointers.items():
            array[...] = self.simulation.values(name).reshape(-1)

    def _nodes(self, grid: int, direction: str, target: AnyArray) -> AnyArray:
        found = self._grid(grid)
        if direction not in found.nodes:
            raise _no(found, direction)
        return fill(target, found.nodes[direction], f"{direction} of grid {grid}")

    def _without_edges(self, grid: int, item: str) -> int:
        found = self._grid(grid)
        if not found.unstructured:
            raise _no(found, item)
        return 0

    def _nothing(self, grid: int, item: str, target: AnyArray) -> AnyArray:
        return fill(target, np.zeros(self._without_edges(grid, item), np.int64), f"{item} of grid {grid}")


def fill(target: AnyArray, values: AnyArray, label: str) -> AnyArray:
    """Fill an array, flat or in the shape of the values, and return it; raises CaseError for one that does not fit."""
    if not isinstance(target, np.ndarray) or target.size != values.size:
        given = f"one of {target.size}" if isinstance(target, np.ndarray) else f"a {type(target).__name__}"
        raise CaseError(f"{label}: give a NumPy array for {values.size} values, not {given}")
    try:
        np.copyto(target, values.reshape(target.shape), casting="same_kind")
    except (TypeError, ValueError) as error:
        raise CaseError(f"{label}: an array of {target.dtype} cannot take {values.dtype}: {error}") from error
    return target


def _no(grid: ModelGrid, item: str) -> NotImplementedError:
    return NotImplementedError(f"a grid of the type {grid.type} and rank {grid.rank} has no {item}")

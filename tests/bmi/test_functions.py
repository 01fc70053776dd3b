"""All functions of the Basic Model Interface, for models with and without space, with neighbours and of points."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bmipy import Bmi

from airshed.bmi import Air, Component
from airshed.core.errors import CaseError

from .conftest import COMPONENTS, Started

ALL = pytest.mark.parametrize("model", COMPONENTS)
TIMES = {"air": 2400.0, "lorenz": 4.0, "bucket": 20 * 86400.0, "row": 3600.0, "pasture": 20 * 86400.0}
INPUTS = {
    "air": ("TRACER", "TRACER2"), "lorenz": ("x", "y", "z"),
    "bucket": ("rain", "drainage_share"), "row": (),
    "pasture": (
        "water_1", "water_2", "water_3", "water_4", "green_leaf", "green_stem", "dead_leaf", "dead_stem", "litter",
        "rain", "pan_evaporation", "radiation", "max_temperature", "min_temperature", "vapour_pressure", "day_of_year",
        "month", "burnt_fraction", "grazing_stocking_rate",
    ),
}  # fmt: skip
GRIDS = {
    "air": {("rectilinear", (4, 8, 8)), ("uniform_rectilinear", (8, 8))},
    "lorenz": {("scalar", ())},
    "bucket": {("uniform_rectilinear", (7,)), ("scalar", ())},
    "row": {("points", (7,)), ("points", (2, 7))},
    "pasture": {("points", (40,)), ("scalar", ())},
}
CONNECTIVITY = ("edge_nodes", "face_edges", "face_nodes", "nodes_per_face")


class CallRecorder:
    """A component, and the names of the called functions."""

    def __init__(self, component: Component) -> None:
        self.component, self.names = component, {"initialize"}

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.component, name)


def check_names(bmi: Any, model: str) -> None:
    assert bmi.get_component_name() == f"Airshed {model}"
    assert bmi.get_input_var_names() == INPUTS[model]
    assert bmi.get_input_item_count() == len(INPUTS[model])
    assert bmi.get_output_item_count() == len(bmi.get_output_var_names()) >= 2
    assert set(INPUTS[model]) <= set(bmi.get_output_var_names())


def check_variable(bmi: Any, name: str) -> tuple[str, tuple[int, ...]]:
    """Check all properties of a variable; return the type and the shape of its grid."""
    (spec,) = bmi.component.simulation.model.fields.select([name])
    expected = bmi.component.simulation[name].values
    assert (bmi.get_var_units(name), bmi.get_var_location(name)) == (spec.unit, "node")
    assert bmi.get_var_type(name) == expected.dtype.name
    assert bmi.get_var_itemsize(name) == expected.itemsize
    assert bmi.get_var_nbytes(name) == expected.nbytes
    grid = bmi.get_var_grid(name)
    assert bmi.get_grid_size(grid) == expected.size
    dest = np.full(expected.size, np.nan)
    assert bmi.get_value(name, dest) is dest
    np.testing.assert_array_equal(dest, expected.reshape(-1))
    some = np.arange(expected.size)[::-2]
    few = np.empty(some.size)
    assert bmi.get_value_at_indices(name, few, some) is few
    np.testing.assert_array_equal(few, dest[::-2])
    np.testing.assert_array_equal(bmi.get_value_ptr(name), dest)
    return bmi.get_grid_type(grid), expected.shape


def check_grid(bmi: Any, grid: int) -> None:
    kind, rank, size = bmi.get_grid_type(grid), bmi.get_grid_rank(grid), bmi.get_grid_size(grid)
    assert bmi.get_grid_node_count(grid) == size
    lengths = [size] * rank
    if kind in ("rectilinear", "uniform_rectilinear"):
        shape = np.empty(rank, np.int32)
        assert bmi.get_grid_shape(grid, shape) is shape
        assert shape.prod() == size
        lengths = shape.tolist()
    else:
        refused(bmi.get_grid_shape, grid, np.empty(rank))
    nodes = {}
    for direction, length in zip("zyx"[3 - rank :], lengths, strict=True):
        nodes[direction] = np.full(length, np.nan)
        assert getattr(bmi, f"get_grid_{direction}")(grid, nodes[direction]) is nodes[direction]
        assert np.isfinite(nodes[direction]).all()
    for direction in "zyx"[: 3 - rank]:
        refused(getattr(bmi, f"get_grid_{direction}"), grid, np.empty(size))
    for item, number in (("spacing", 1), ("origin", 0)):
        target, function = np.empty(rank), getattr(bmi, f"get_grid_{item}")
        if kind != "uniform_rectilinear":
            refused(function, grid, target)
            continue
        assert function(grid, target) is target
        firsts = np.array([each[:2] for each in nodes.values()])
        np.testing.assert_allclose(target, [firsts[:, 0], firsts[:, 1] - firsts[:, 0]][number], rtol=1e-12)
    check_connectivity(bmi, grid, kind in ("points", "scalar"))


def check_connectivity(bmi: Any, grid: int, unstructured: bool) -> None:
    for item in CONNECTIVITY:
        function, nothing = getattr(bmi, f"get_grid_{item}"), np.empty(0, np.int32)
        if unstructured:
            assert function(grid, nothing) is nothing
        else:
            refused(function, grid, nothing)
    for function in (bmi.get_grid_edge_count, bmi.get_grid_face_count):
        if unstructured:
            assert function(grid) == 0
        else:
            refused(function, grid)


def refused(function: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(NotImplementedError, match="a grid of the type"):
        function(*arguments)


@ALL
def test_every_function_satisfies_the_bmi_standard(started: Started, model: str) -> None:
    bmi = CallRecorder(started(model))
    check_names(bmi, model)
    assert (bmi.get_start_time(), bmi.get_current_time(), bmi.get_time_units()) == (0.0, 0.0, "s")
    assert bmi.get_end_time() == TIMES[model]
    step = bmi.get_time_step()
    assert bmi.update() is None
    assert bmi.get_current_time() == pytest.approx(step, rel=1e-15)
    assert bmi.update_until(0.5 * TIMES[model]) is None
    assert bmi.get_current_time() == 0.5 * TIMES[model]
    found = {check_variable(bmi, name) for name in bmi.get_output_var_names()}
    assert found == GRIDS[model]
    for grid in range(len(found)):
        check_grid(bmi, grid)
    for name in INPUTS[model]:
        before = bmi.get_value_ptr(name).copy()
        bmi.set_value(name, 0.5 * before)
        bmi.set_value_at_indices(name, np.array([0]), before[:1])
        assert bmi.get_value_ptr(name).tolist() == [before[0], *(0.5 * before[1:])]
    assert bmi.finalize() is None
    never = set() if INPUTS[model] else {"set_value", "set_value_at_indices"}
    assert set(Bmi.__abstractmethods__) - bmi.names == never


def test_a_function_that_is_not_called_is_noticed(started: Started) -> None:
    bmi = CallRecorder(started("lorenz"))
    check_names(bmi, "lorenz")
    assert {"update", "get_grid_face_edges", "set_value"} <= set(Bmi.__abstractmethods__) - bmi.names


def test_nothing_is_there_before_a_case_is() -> None:
    with pytest.raises(CaseError, match="has no case"):
        Air().get_value_ptr("O3")


def test_places_of_points_are_those_of_their_cells(started: Started) -> None:
    row = started("row")
    grid = row.get_var_grid("water")
    assert row.get_grid_x(grid, np.empty(14)).tolist() == [*np.arange(5.0, 12.0)] * 2
    assert row.get_grid_y(grid, np.empty(14)).tolist() == [0.5] * 7 + [1.5] * 7
    assert row.get_grid_rank(row.get_var_grid("depth")) == 1


def test_places_of_air_are_its_axes(started: Started) -> None:
    air = started("air")
    volume, ground = air.get_var_grid("TRACER"), air.get_var_grid("precipitation")
    assert air.get_grid_shape(volume, np.empty(3, int)).tolist() == [4, 8, 8]
    assert air.get_grid_z(volume, np.empty(4)).tolist() == [50.0, 175.0, 375.0, 750.0]
    assert air.get_grid_origin(ground, np.empty(2)).tolist() == [-1.75, -1.75]
    assert air.get_grid_spacing(ground, np.empty(2)).tolist() == [0.5, 0.5]


def test_types_are_those_that_models_compute_in(started: Started) -> None:
    row = started("row")
    model = row.simulation.model
    model.depth = model.depth.astype(np.float32)
    depth = np.empty(7, np.float32)
    assert (row.get_var_type("depth"), row.get_var_nbytes("depth")) == ("float32", depth.nbytes)
    row.update()
    wide = row.get_value("depth", np.empty(7))
    np.testing.assert_array_equal(row.get_value("depth", depth), wide)
    assert started("bucket").get_var_type("water") == "float64"

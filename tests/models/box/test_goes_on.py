"""Output of a run of boxes as initial states of the next run: its last time, for one or several boxes, .csv and .nc."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import CLOSED

from airshed.core.errors import DataError
from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions, load_states, states_from_dataset
from airshed.models.box.run import BoxRun, write_series

pytestmark = pytest.mark.standard

SUFFIXES = (".csv", ".nc")
BASE: dict[str, Any] = {
    "time": {"start": "0 s", "length": "2 h", "output_every": "30 min"},
    "environment": {"temperature": "290 + t/3600", "pressure": "1000 hPa"},
    "fixed": {"X": "0 molecules/cm3"},
    "rates": CLOSED,
    "initial": {"TRACER": "40 ppb", "TRACER2": "3 ppb"},
    "deposition": {"TRACER": "1e-4 1/s"},
}
SECOND = BASE | {"time": {"start": "2 h", "length": "1 h", "output_every": "30 min"}, "initial": {}}
WHOLE = BASE | {"time": {"start": "0 s", "length": "3 h", "output_every": "30 min"}}


def run(toy: ReactionNetwork, data: dict[str, Any], states: Any = None) -> tuple[xr.Dataset, BoxRun]:
    boxes = BoxRun(toy, BoxConditions.from_dict(data), states=states)
    return boxes.run(), boxes


def written(series: xr.Dataset, folder: Path, suffix: str) -> Path:
    path = folder / f"first{suffix}"
    write_series(series, path, suffix)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_box_goes_on(toy: ReactionNetwork, tmp_path: Path, suffix: str) -> None:
    first, _ = run(toy, BASE)
    states = load_states(written(first, tmp_path, suffix), toy)
    assert states.cells == 1
    second, boxes = run(toy, SECOND, states)
    whole, _ = run(toy, WHOLE)
    assert second["TRACER"].dims == ("time",), "one box remains one"
    assert float(second["TRACER"][0]) == float(first["TRACER"][-1])
    assert second["temperature"].values == pytest.approx(whole["temperature"].values[-3:]), "the conditions continue"
    # The air expands as it warms, and the tracer with it; the whole run is the reference.
    assert second["TRACER"].values == pytest.approx(whole["TRACER"].values[-3:], rel=1e-5)
    assert (
        boxes.model.notes[0] == f"the initial states are those at the last of 5 times in {tmp_path / f'first{suffix}'}"
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_boxes_go_on(toy: ReactionNetwork, tmp_path: Path, suffix: str) -> None:
    data = xr.Dataset({"TRACER": ("cell", [10.0, 20.0, 30.0], {"units": "ppb"}),
                       "pressure": ("cell", [1000.0, 900.0, 500.0], {"units": "hPa"})})  # fmt: skip
    first, _ = run(toy, BASE, states_from_dataset(data, toy))
    second, boxes = run(toy, SECOND, load_states(written(first, tmp_path, suffix), toy))
    whole, _ = run(toy, WHOLE, states_from_dataset(data, toy))
    assert second["TRACER"].dims == ("time", "cell")
    np.testing.assert_array_equal(second["TRACER"][0], first["TRACER"][-1])
    np.testing.assert_allclose(second["pressure"], whole["pressure"][-3:])
    np.testing.assert_allclose(second["TRACER"], whole["TRACER"][-3:], rtol=1e-5)
    assert "the last of 5 times" in boxes.model.notes[0]


def test_a_data_set_of_one_box_goes_on(toy: ReactionNetwork) -> None:
    first, _ = run(toy, BASE)
    assert states_from_dataset(first, toy).cells == 1
    assert states_from_dataset(first, toy).species[toy.index("TRACER")][0] == first["TRACER"].values[-1:]


def test_rows_of_one_time_are_boxes(toy: ReactionNetwork, tmp_path: Path) -> None:
    path = tmp_path / "states.csv"
    path.write_text("time [s],TRACER [ppb]\n5,1\n5,2\n")
    assert load_states(path, toy).cells == 2
    path.write_text("time [s],cell,TRACER [ppb]\n0,0,1\n0,1,2\n5,0,3\n5,0,4\n")
    with pytest.raises(DataError, match="a cell occurs twice at time 5"):
        load_states(path, toy)
    path.write_text("TRACER [ppb]\n1\n2\n")
    assert load_states(path, toy).last == ""

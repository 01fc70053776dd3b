"""Several boxes: states from files and datasets, and independence of boxes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import CLOSED

from airshed.core.errors import AirshedError
from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions, load_states, states_from_dataset
from airshed.models.box.run import BoxRun, box

Problem = Callable[..., BoxConditions]

CONDITIONS = {
    "time": {"start": "3.4 h", "length": "1 h", "output_every": "30 min"},
    "environment": {
        "temperature": "290 + 5*sin(t/3600)",
        "pressure": "1000 hPa",
        "humidity": "60 %",
        "location": {"lat": 50, "lon": 14, "date": "2022-06-21"},
    },
    "initial": {"O3": "40 ppb", "CO": "150 ppb", "HCHO": "1 ppb", "ISOPRE": "1 ppb"},
    "emission": {"NO": "1e6*where(t > 4*3600 + 100*(T - 290), 1, 0.5)"},
    "solver": {"relative_tolerance": 1e-4, "absolute_tolerance": "1e-15 mol/mol"},
}


def cells(count: int) -> xr.Dataset:
    rng = np.random.default_rng(5)
    return xr.Dataset(
        {
            "NO2": ("cell", rng.uniform(0.5, 5.0, count), {"units": "ppb"}),
            "o3": ("cell", rng.uniform(4e11, 1e12, count), {"units": "molecules cm-3"}),
            "pressure": ("cell", rng.uniform(300.0, 1010.0, count), {"units": "hPa"}),
        }
    )


def chosen(data: xr.Dataset, places: list[int]) -> xr.Dataset:
    return data.isel(cell=places)


@pytest.mark.parametrize("temperature", ["each its own", "the same"])
def test_a_box_does_not_depend_on_the_others(emep: ReactionNetwork, temperature: str) -> None:
    """The bits are the same, also if conditions jump at different times in each cell."""
    count = 11 if temperature == "the same" else 3
    conditions, data = BoxConditions.from_dict(CONDITIONS), cells(count)
    if temperature == "each its own":
        data["temperature"] = ("cell", np.linspace(270.0, 305.0, count), {"units": "K"})
    together = box(emep, conditions, states=states_from_dataset(data, emep))
    assert together["O3"].dims == ("time", "cell")
    assert together["NO2"].shape == (3, count)
    for places in ([1], [count - 1, 0]):
        alone = box(emep, conditions, states=states_from_dataset(chosen(data, places), emep))
        for name in together.data_vars:
            assert np.array_equal(alone[name], together[name][:, places]), name
    assert np.ptp(together["O3"].values[-1]) > 1e11


@pytest.mark.thorough
def test_threads_do_not_matter(emep: ReactionNetwork) -> None:
    conditions, data = BoxConditions.from_dict(CONDITIONS), cells(20)
    one, two = (box(emep, conditions, states=states_from_dataset(data, emep), threads=each) for each in (1, 2))
    assert one.identical(two)


@pytest.mark.thorough
def test_gauss_seidel_takes_many_cells_too(emep: ReactionNetwork) -> None:
    solver = {"method": "gauss-seidel", "step": "100 s", "sweeps": 4}
    data = cells(11)
    by = [
        box(emep, BoxConditions.from_dict(CONDITIONS | {"solver": each}), states=states_from_dataset(data, emep))
        for each in (solver, CONDITIONS["solver"])
    ]
    assert np.allclose(by[0]["O3"], by[1]["O3"], rtol=5e-3)
    alone = box(
        emep,
        BoxConditions.from_dict(CONDITIONS | {"solver": solver}),
        states=states_from_dataset(chosen(data, [7]), emep),
    )
    assert np.array_equal(alone["O3"][:, 0], by[0]["O3"][:, 7])


def test_states_go_before_conditions(toy: ReactionNetwork, tmp_path: Path) -> None:
    path = tmp_path / "states.csv"
    path.write_text("cell,TRACER [ppb],temperature [degC],pressure [hPa]\n0,40,0,1000\n1,20,10,500\n", encoding="utf-8")
    conditions = BoxConditions.from_dict(
        {
            "time": {"length": "1 h"},
            "environment": {"temperature": "290 K"},
            "fixed": {"M": "2e19 molecules/cm3", "X": "0 molecules/cm3"},
            "rates": CLOSED,
            "initial": {"TRACER": "1 ppb", "TRACER2": "3 ppb"},
        }
    )
    series = box(toy, conditions, states=load_states(path, toy))
    assert np.allclose(1e9 * series["TRACER"] / series["M"], [40.0, 20.0])
    assert np.allclose(1e9 * series["TRACER2"] / series["M"], 3.0)
    assert series["temperature"][0].values.tolist() == [273.15, 283.15]
    assert np.allclose(series["M"], series["pressure"] / (1.380649e-17 * series["temperature"]))
    series.to_netcdf(tmp_path / "states.nc", engine="netcdf4")
    again = box(toy, conditions, states=load_states(tmp_path / "states.nc", toy))
    assert np.allclose(again["TRACER"][0], series["TRACER"][-1], rtol=1e-14)


FAULTS = {
    "no unit": ("TRACER\n1\n", "TRACER has no unit: write it after the name, as in"),
    "no species": ("tracr [ppb]\n1\n", "tracr is not a species of tracer; did you mean"),
    "below zero": ("TRACER [ppb]\n1\n-2\n", "TRACER is -2 in cell 1; it must be finite and not below 0"),
    "unit": ("TRACER [K]\n1\n", "TRACER = '0 K' has the wrong kind of unit"),
    "text": ("TRACER [ppb]\nmuch\n", "states.csv:2: 'much' is not a number"),
    "columns": ("TRACER [ppb],cell\n1\n", "states.csv:2 has 1 values, but there are 2 columns"),
    "empty": ("TRACER [ppb]\n", "needs a line with the names of its columns, followed by rows of numbers"),
    "nothing": ("temperature [K]\n290\n", "has no species of tracer"),
    "per cent": (
        "TRACER [ppb],humidity\n1,0.5\n1,50\n",
        "humidity is 5000 %; for per cent use the heading humidity [%]",
    ),
    "twice": ("TRACER [ppb],TRACER [ppt]\n1,2\n", "has two columns 'TRACER'"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_wrong_states(tracer: ReactionNetwork, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "states.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AirshedError) as caught:
        load_states(path, tracer)
    assert message in str(caught.value)


def test_a_value_that_is_no_number_names_its_cell(emep: ReactionNetwork) -> None:
    data = cells(3)
    data["temperature"] = ("cell", [290.0, 0.0, 290.0], {"units": "K"})
    with pytest.raises(AirshedError, match="states: T is 0 in cell 1; it must be finite and above 0"):
        BoxRun(emep, BoxConditions.from_dict(CONDITIONS), states=states_from_dataset(data, emep))


def test_states_of_no_time_are_refused(emep: ReactionNetwork) -> None:
    with pytest.raises(AirshedError, match="states has no values along time"):
        states_from_dataset(cells(3).expand_dims(time=2).isel(time=slice(0)), emep)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_states_of_a_file_are_refused_by_its_name(emep: ReactionNetwork, tmp_path: Path) -> None:
    """Errors name the conditions file only if the conditions are wrong."""
    states, conditions = tmp_path / "hot.csv", tmp_path / "conditions.toml"
    states.write_text("O3 [ppb],temperature [K]\n40,290\n40,1e300\n", encoding="utf-8")
    given = 'time.length = "1 h"\nenvironment = { temperature = "290 K", pressure = "1000 hPa" }\n'
    conditions.write_text(f'{given}[rates]\nSUN = 0\n[fixed]\nH2O = "1 %"\n', encoding="utf-8")
    with pytest.raises(AirshedError, match=rf"^{states}: T is 1e\+300 in cell 1; it must be 100 to 1000 K"):
        box(emep, conditions, states)
    states.write_text("O3 [ppb],temperature [K]\n40,290\n1e308,290\n", encoding="utf-8")
    with pytest.raises(AirshedError, match=rf"^{states}: O3 in cell 1 is inf of the air"):
        box(emep, conditions, states)
    conditions.write_text(conditions.read_text().replace('"290 K"', '{ csv = "", column = "T" }'))
    with pytest.raises(AirshedError, match=f"environment.temperature: {tmp_path} is a folder"):
        box(emep, conditions)
    conditions.write_text(conditions.read_text().replace('{ csv = "", column = "T" }', '"1e6 K"'))
    with pytest.raises(AirshedError, match=rf"^{conditions}: environment.temperature is 1e\+06; it must be"):
        box(emep, conditions)

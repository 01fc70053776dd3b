from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import CaseError, DataError
from airshed.grid import Grid
from airshed.mechanism import load_mechanism
from airshed.models.air.boundary import BoundaryProfiles, initial_from_dataset, record_of_a_run
from airshed.models.air.species_map import BoundaryMap, read_species_map, shipped_species_map

PPB = 1e-9
EMEP = shipped_species_map("emep").boundary
GROUND, ALOFT = np.array(1.01e5), np.array(5e4)
GRID = Grid.regular((0.0, 2.0), (45.0, 48.0), 1.0, [20.0, 50.0, 100.0, 200.0])


def profiles_of(names: list[str], species_map: BoundaryMap = EMEP, **settings: object) -> BoundaryProfiles:
    return BoundaryProfiles(names, species_map, **settings)  # type: ignore[arg-type]


def one(name: str, pressure: np.ndarray = GROUND, **settings: object) -> float:
    return float(profiles_of([name], **settings).at(pressure)[0])


def test_every_species_of_emep_has_a_profile() -> None:
    species = [species.name for species in load_mechanism("emep").species]
    profiles = profiles_of(species)
    values = profiles.at(np.geomspace(2e4, 1.05e5, 50))
    assert values.shape == (66, 50)
    assert np.all((values >= 0.0) & (values < 2e-6))
    assert list(profiles.provenance) == species


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("O3", 25, 35), ("CO", 60, 120), ("NO2", 0.02, 0.2), ("PAN", 0.01, 0.2), ("H2O2", 0.2, 2), ("HCHO", 0.1, 0.6),
     ("CH4", 1800, 2000), ("H2", 480, 580), ("C2H6", 0.3, 2), ("SO2", 0.01, 0.2), ("SA", 0.05, 1.0)],
)  # fmt: skip
def test_clean_air_at_the_ground(name: str, low: float, high: float) -> None:
    assert low < one(name) / PPB < high


@pytest.mark.parametrize(
    ("profile", "name", "ground", "aloft"),
    [
        ("europe-summer", "O3", 38.0, 54.0),
        ("europe-winter", "O3", 35.0, 45.0),
        ("europe-summer", "NO2", 1.0, 0.015),
        ("europe-winter", "NO2", 3.0, 0.015),
    ],
)
def test_profiles_of_europe_are_rural_below_and_clean_above(
    profile: str, name: str, ground: float, aloft: float
) -> None:
    at_ground, at_700 = profiles_of([name], profile=profile).at(np.array([1.013e5, 7e4]))[0] / PPB
    assert at_ground == pytest.approx(ground, rel=0.02)
    assert at_700 == pytest.approx(aloft, rel=0.1)


def test_sulfate_is_converted_from_mass() -> None:
    """1.15 ug/m3 of sulfate in air of 41.6 mol/m3 is 0.288 ppb; the gas H2SO4 adds 0.0002 ppb."""
    assert one("SA", np.array(101810.0)) / PPB == pytest.approx(1.1515e-6 / 96.06 / 41.6 / PPB, rel=0.01)


def test_ozone_rises_with_height() -> None:
    column = profiles_of(["O3"]).at(np.array([1e5, 8e4, 6e4, 4e4, 3e4]))[0]
    assert np.all(np.diff(column) > 0.0)


def test_file_values_at_file_pressures_and_log_linear_between() -> None:
    assert one("O3", np.array(101810.0)) == pytest.approx(29.161 * PPB, rel=1e-12)
    between = np.exp(0.5 * (np.log(101810.0) + np.log(101550.0)))
    assert one("CO", between) == pytest.approx(0.5 * (one("CO", np.array(101810.0)) + one("CO", np.array(101550.0))))


def test_outermost_values_beyond_the_file() -> None:
    assert one("O3", np.array(1.1e5)) == one("O3", np.array(101810.0))
    assert one("O3", np.array(1e3)) == one("O3", np.array(5899.0))


@given(st.floats(1e3, 1.2e5))
def test_positive_and_bounded_at_any_pressure(pressure: float) -> None:
    column = profiles_of(["O3", "NO2"]).at(np.array(pressure))
    assert np.all((column > 0.0) & (column < 3e-6))


def test_shapes() -> None:
    profiles = profiles_of(["O3", "CO", "OH"])
    pressure = np.broadcast_to(np.array([1e5, 9e4, 8e4, 7e4])[:, None, None], GRID.shape)
    assert profiles.at(pressure).shape == (3, *GRID.shape)
    assert profiles.at(np.float64(6e4)).shape == (3,)
    assert np.array_equal(profiles.at(pressure[:, 0, 0]), profiles.at(pressure)[:, :, 0, 0])


def test_the_initial_state_of_a_part_is_the_wholes_cut() -> None:
    profiles = profiles_of(["O3", "CO", "OH"])
    pressure = 3e4 + 8e4 * np.random.default_rng(4).random((4, 17, 23))
    part = profiles.at(np.ascontiguousarray(pressure[:, 5:6, 7:20]))
    assert part.tobytes() == profiles.at(pressure)[:, :, 5:6, 7:20].tobytes()


def test_scale_and_values() -> None:
    profiles = profiles_of(["O3", "CO"], scale={"O3": 1.3}, values={"CO": 120 * PPB})
    assert profiles.at(GROUND)[0] == pytest.approx(1.3 * one("O3"))
    assert profiles.at(ALOFT)[1] == pytest.approx(120 * PPB)
    assert "1.3" in profiles.provenance["O3"]
    assert "given" in profiles.provenance["CO"]


def test_tracers_need_no_map() -> None:
    assert one("TRACER", values={"TRACER": 5e-9}) == 5e-9
    assert one("TRACER", profile="zero") == 0.0
    assert profiles_of([], profile="zero").at(GROUND).shape == (0,)


def test_all_missing_species_are_named_at_once() -> None:
    with pytest.raises(CaseError, match=r"no initial and boundary value for XX, YY, .* boundary\.values"):
        profiles_of(["O3", "XX", "YY"])


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_files_of_ones_own(tmp_path: Path) -> None:
    profile = write(tmp_path / "p.csv", "# mine\npressure [Pa],ozone,nox\n50000,0.06,0.001\n100000,0.04,0.002\n")
    mapping = write(
        tmp_path / "m.toml",
        '[boundary]\nzero = ["OH"]\nCO = "100 ppb"\nO3 = { ozone = 1.0 }\nNO2 = { nox = 0.75 }\n',
    )
    own = read_species_map(mapping).boundary
    profiles = profiles_of(["O3", "NO2", "CO", "OH"], profile=profile, species_map=own)
    np.testing.assert_allclose(profiles.at(np.array(1e5)), [40e-9, 1.5e-9, 100e-9, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a header, then"),
        ("ozone\n1\n2\n", "first column"),
        ("pressure [Pa],O3\n1e5,0.03\n", "two or more"),
        ("pressure [Pa],O3\n1e5,0.03\n5e4\n", "p.csv, line 3: 1 numbers, but 2 columns"),
        ("pressure [Pa],O3\n1e5,0.03\n5e4,-0.01\n", "p.csv, line 3: O3 is -0.01, but must be at least 0"),
        ("pressure [Pa],O3\n1e5,1e300\n5e4,0.01\n", "p.csv, line 2: O3 is 1e300, but must be at most 1e[+]06"),
        ("pressure [Pa],O3,O3\n1e5,1,1\n5e4,1,1\n", "column 'O3' that is a duplicate"),
        ("pressure [Pa],O3\n1e5,0.03\n5e4,nan\n", "O3 'nan' is not a number"),
        ("pressure [Pa],O3\n1e5,0.03\n1e5,0.04\n", "a pressure more than once"),
        ("pressure [Pa],O3\n1e5,much\n5e4,0.04\n", "p.csv, line 2: O3 'much' is not a number"),
    ],
)
def test_profile_files_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        profiles_of(["O3"], profile=write(tmp_path / "p.csv", text))


def test_a_column_that_the_profile_lacks() -> None:
    with pytest.raises(CaseError, match=r"computes O3 from 'O33', which clean-air\.csv lacks: did you mean O3"):
        profiles_of(["O3"], species_map=BoundaryMap("m.toml", profile={"O3": {"O33": 1.0}}))


def test_all_that_a_map_does_not_name_may_be_zero() -> None:
    assert profiles_of(["OH"], species_map=BoundaryMap("m.toml", others=True)).provenance == {"OH": "0 (m.toml)"}


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        profiles_of(["O3"], profile=tmp_path / "nowhere.csv")


SPECIES = ["O3", "TRACER"]


def dataset(values: np.ndarray, dims: tuple[str, ...] = ("level", "lat", "lon"), **attrs: str) -> xr.Dataset:
    return xr.Dataset({"TRACER": (dims, values, attrs)})


def test_initial_state_from_a_dataset() -> None:
    values = np.arange(np.prod(GRID.shape), dtype=float).reshape(GRID.shape)
    state = initial_from_dataset(dataset(values, units="ppb"), SPECIES, GRID, np.full((2, 1, 1, 1), 3e-8))
    np.testing.assert_allclose(state[1], values * PPB)
    assert np.all(state[0] == 3e-8)


@pytest.mark.parametrize("unit", ["mol mol-1", "1", "mol/mol"])
def test_initial_units_without_a_factor(unit: str) -> None:
    state = initial_from_dataset(dataset(np.full(GRID.shape, 1e-9), units=unit), SPECIES, GRID, np.zeros(()))
    assert np.all(state[1] == 1e-9)


def test_initial_state_broadcasts_and_transposes() -> None:
    column = initial_from_dataset(dataset(np.array([0.4, 0.3, 0.2, 0.1]), ("level",)), SPECIES, GRID, np.zeros(()))
    assert np.all(column[1] == np.array([0.4, 0.3, 0.2, 0.1])[:, None, None])
    surface = 0.125 * np.arange(6.0).reshape(2, 3)
    turned = initial_from_dataset(dataset(surface, ("lon", "lat")), SPECIES, GRID, np.zeros(()))
    assert np.all(turned[1] == surface.T)


def test_initial_latitudes_from_north_to_south() -> None:
    rows = np.array([0.3, 0.2, 0.1])
    northern = dataset(rows, ("lat",)).assign_coords(lat=GRID.y[::-1])
    assert initial_from_dataset(northern, SPECIES, GRID, np.zeros(()))[1, 0, :, 0].tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("levels", [[0, 1, 2, 3], GRID.level, GRID.level.astype(np.float32)])
def test_initial_levels_by_height_or_number(levels: list[int] | np.ndarray) -> None:
    column = dataset(0.25 * np.arange(4.0), ("lev",)).assign_coords(lev=levels)
    assert initial_from_dataset(column, SPECIES, GRID, np.zeros(()))[1, :, 0, 0].tolist() == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("given_dataset", "message"),
    [
        (xr.Dataset({"TRACR": (("lat",), np.ones(3)), "O4": (("lat",), np.ones(3))}), "TRACR, O4"),
        (dataset(np.ones((3, 3)), ("lat", "lon")), "3 points along lon, but the grid has 2"),
        (dataset(np.ones(5), ("time",)), "dimension 'time'"),
        (dataset(np.ones(3), ("lat",)).assign_coords(lat=[10.0, 11.0, 12.0]), "interpolate it onto the grid"),
        (dataset(np.ones(4), ("level",)).assign_coords(level=[1, 2, 3, 4]), "is at level 1 to 4"),
        (dataset(np.full(3, -1.0), ("lat",)), "negative or not finite"),
        (dataset(np.full(3, np.nan), ("lat",)), "negative or not finite"),
        (dataset(np.ones(3), ("lat",), units="ug m-3"), "wrong kind of unit"),
        (dataset(np.full(3, 1e300), ("lat",)), "more than (there is|all) air"),
    ],
)
def test_initial_datasets_that_do_not_fit(given_dataset: xr.Dataset, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        initial_from_dataset(given_dataset, SPECIES, GRID, np.zeros(()))


def test_an_endless_name_in_an_initial_state_is_told_in_short() -> None:
    endless = xr.Dataset({"a" * 100_000: (("lat",), np.ones(3))})
    with pytest.raises(CaseError, match="the initial dataset has aaa") as found:
        initial_from_dataset(endless, SPECIES, GRID, np.zeros(()))
    assert len(str(found.value)) < 500


def test_a_factor_of_a_map_that_makes_more_than_all_air_is_told_with_the_map() -> None:
    made = BoundaryMap("mine.species.toml", profile={"NO2": {"O3": 1e30}})
    with pytest.raises(CaseError, match=r"the boundary's NO2 is .* more than .*, by mine\.species\.toml"):
        profiles_of(["NO2"], species_map=made)


def test_more_than_all_air_is_refused() -> None:
    """A scale factor, a value, an initial dataset or its unit can give a mixing ratio above 1."""
    with pytest.raises(CaseError, match=r"the boundary's O3 is \S+ mol/mol"):
        one("O3", scale={"O3": 1e9})
    with pytest.raises(CaseError, match="the boundary's O3 is 2 mol/mol"):
        one("O3", values={"O3": 2.0})
    for data in ({"O3": ((), 1.5)}, {"O3": ((), 200.0, {"units": "percent"})}):
        with pytest.raises(CaseError, match=r"up to \S+ mol/mol, more than all air"):
            initial_from_dataset(xr.Dataset(data), ["O3"], GRID, np.zeros(()))


def test_an_initial_dataset_of_texts_is_refused() -> None:
    with pytest.raises(DataError, match="O3 holds text"):
        initial_from_dataset(xr.Dataset({"O3": ((), "x")}), ["O3"], GRID, np.zeros(()))
    texts = xr.Dataset({"O3": ("lon", np.zeros(2))}, {"lon": ["a", "b"]})
    with pytest.raises(DataError, match="its lon holds text"):
        initial_from_dataset(texts, ["O3"], GRID, np.zeros(()))


def test_initial_longitudes_may_begin_at_another_place() -> None:
    grid = Grid.regular((-180.0, 180.0), (45.0, 48.0), 60.0 / 20.0, [20.0])
    lon = np.sort(grid.x % 360.0)
    data = xr.Dataset({"O3": (("lon",), 1e-9 * lon)}, {"lon": lon})
    found = initial_from_dataset(data, ["O3"], grid, np.zeros((1, *grid.shape)))
    np.testing.assert_allclose(found[0, 0, 0], 1e-9 * (grid.x % 360.0))


def output_of_a_run(**more: object) -> xr.Dataset:
    """Return a dataset like the output of `airshed run`: records, weather, and bounds."""
    times = np.datetime64("2022-08-31T00", "ns") + np.arange(3) * np.timedelta64(1, "h")
    dims, shape = ("time", "level", "lat", "lon"), (3, *GRID.shape)
    values = np.broadcast_to(1e-9 * np.arange(1.0, 4.0)[:, None, None, None], shape)
    data = {
        "TRACER": (dims, values, {"units": "mol mol-1"}), "air_pressure": (dims, np.full(shape, 1e5)),
        "lat_bnds": (("lat", "bnds"), np.zeros((GRID.shape[1], 2))), **more,
    }  # fmt: skip
    coords = {"time": times, "level": GRID.level, "lat": GRID.y, "lon": GRID.x}
    return xr.Dataset(data, coords, {"airshed_case": "[time]"})


def test_the_output_of_a_run_gives_its_record_at_the_start() -> None:
    given, note = record_of_a_run(output_of_a_run(), np.datetime64("2022-08-31T01:00"), SPECIES)
    state = initial_from_dataset(given, SPECIES, GRID, np.full((2, 1, 1, 1), 3e-8))
    np.testing.assert_allclose(state[1], 2e-9)
    assert np.all(state[0] == 3e-8)
    assert note.startswith("read: output of a run at 2022-08-31T01:00:00")
    assert note.endswith(f"from the boundary's profiles: {SPECIES[0]}")


def test_an_output_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        CaseError, match=r"records from 2022-08-31T00:00:00 to 2022-08-31T02:00:00, but none at the start"
    ):
        record_of_a_run(output_of_a_run(), np.datetime64("2022-09-01"), SPECIES)
    with pytest.raises(CaseError, match="has no species of the mechanism"):
        record_of_a_run(output_of_a_run().drop_vars("TRACER"), np.datetime64("2022-08-31"), SPECIES)
    means = output_of_a_run()
    means["TRACER"].attrs["cell_methods"] = "time: mean"
    with pytest.raises(CaseError, match="but its values are a mean over time, not a state"):
        record_of_a_run(means, np.datetime64("2022-08-31"), SPECIES)
    other = dataset(np.ones(3), ("lat",))
    assert record_of_a_run(other, np.datetime64("2022-08-31"), SPECIES) == (other, "")


def test_a_netcdf_file_as_profile_is_named_as_such(tmp_path: Path) -> None:
    for kind in ("NETCDF4", "NETCDF3_CLASSIC"):
        dataset(np.ones(3), ("lat",)).to_netcdf(tmp_path / "outer.nc", format=kind)
        with pytest.raises(
            DataError, match=r"outer.nc is a netCDF file; a profile is a CSV file for all lateral faces"
        ):
            profiles_of(["O3"], profile=tmp_path / "outer.nc")

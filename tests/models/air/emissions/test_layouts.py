"""Files of gridded emission in the layouts of known inventories, with their names, units, axes and times."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import CaseError, DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.models.air.emissions import FieldSettings, GriddedContext, GriddedEmissions, read_gridded, replaced
from airshed.models.air.emissions.split import read_split
from airshed.models.air.emissions.targets import Targets
from airshed.models.air.species_map.parts import EmissionMap

GRID = Grid.regular((4.0, 8.0), (50.0, 52.0), 0.5, [20.0, 100.0, 1000.0])
START = np.datetime64("2022-08-31T00:00:00")
SPECIES = ("NO", "NO2", "SO2", "SA", "CO", "C2H6", "NC4H10", "C2H4", "C3H6", "OXYL", "C2H5OH", "CH4")
SPLIT = read_split(resource("cases/west-europe/emissions/species_split.csv"))
TARGETS = Targets(SPECIES, dict.fromkeys(SPECIES), EmissionMap.same(SPECIES), SPLIT)
CONTEXT = GriddedContext(TARGETS, 86400.0)
DAY, YEAR = 86400.0, 365.0 * 86400.0
LAT, LON = np.arange(48.05, 54.0, 0.1), np.arange(2.05, 10.0, 0.1)
AREA = float(GRID.cell_area.sum())


def read(*paths: Path, **settings: object) -> list[GriddedEmissions]:
    return read_gridded(list(paths), GRID, START, FieldSettings(**{"profiles": False, **settings}), CONTEXT)


def in_area(sources: list[GriddedEmissions]) -> dict[tuple[str, str], float]:
    """Return the emission in the area [kg/s] by sector and name."""
    return {(row.sector, row.name): row.inside / DAY for each in sources for row in each.totals}


def write(path: Path, fields: dict[str, tuple[float, dict[str, object]]], **axes: object) -> Path:
    """Write uniform fields on latitudes and longitudes, with further axes before them."""
    coords: dict[str, object] = {"lat": LAT, "lon": LON, **axes.pop("coords", {})}
    dims = (*axes.pop("dims", ()), "lat", "lon")
    shape = [len(coords[dim]) for dim in dims]
    data = {name: (dims, np.full(shape, value, np.float32), given) for name, (value, given) in fields.items()}
    dataset = xr.Dataset(data, coords, attrs=axes.pop("attrs", {}))
    for name, given in {"lat": {"units": "degrees_north"}, "lon": {"units": "degrees_east"}, **axes}.items():
        dataset[name].attrs.update(given)
    dataset.to_netcdf(path)
    return path


def edgar_flux(folder: Path) -> list[Path]:
    told = {"units": "kg m-2 s-1", "substance": "NOx", "long_name": "Road transportation"}
    names = ("v8.1_FT2022_AP_NOx_2022_TRO_flx.nc", "v8.1_FT2022_AP_NOx_2022_ENE_flx.nc")
    return [write(folder / name, {"fluxes": (1e-9, told)}) for name in names]


def edgar_tonnes(folder: Path) -> list[Path]:
    told = {"units": "Tonnes", "substance": "NOx", "year": "2022"}
    return [write(folder / "v8.1_FT2022_AP_NOx_2022_TRO_emi.nc", {"emissions": (365.0, told)})]


def edgar_months(folder: Path) -> list[Path]:
    told = {"units": "Tonnes", "substance": "NOx"}
    name = folder / "v8.1_FT2022_AP_NOx_2022_bkl_TRANSPORT_emi.nc"
    time = {"units": "months since 2022-01-01"}
    return [write(name, {"emissions": (31.0, told)}, dims=("time",), coords={"time": np.arange(12)}, time=time)]


def cams_global(folder: Path) -> list[Path]:
    told = {"units": "kg m-2 s-1"}
    fields = dict.fromkeys(("ene", "tro", "shp"), (1e-09, told)) | {"sum": (3e-9, told)}
    months = {"time": 15.0 + 30.4 * np.arange(12)}
    name = folder / "CAMS-GLOB-ANT_Glb_0.1x0.1_anthro_nox_v5.3_monthly.nc"
    return [write(name, fields, dims=("time",), coords=months, time={"units": "days since 2022-01-01"})]


def cams_regional(folder: Path) -> list[Path]:
    fields = {name: (365e-9, {"units": "Tg"}) for name in ("A_PublicPower", "F_RoadTransport", "SumAllSectors")}
    name = folder / "CAMS-REG-ANT_EUR_0.05x0.1_anthro_nox_v6.1-Ref2_yearly_2022.nc"
    time = {"units": "days since 2022-01-01"}
    return [write(name, fields, dims=("time",), coords={"time": [0.0]}, time=time)]


def htap(folder: Path) -> list[Path]:
    told = {"units": "kg m-2 s-1"}
    names = ("HTAPv3_1_International_Shipping", "HTAPv3_5_1_Road_Transport", "HTAPv3_8_2_Agriculture_livestock")
    return [write(folder / "edgar_HTAPv3_2018_NOx.nc", dict.fromkeys(names, (1e-09, told)))]


def ceds(folder: Path) -> list[Path]:
    """Sectors as a dimension with their names in an attribute, months in the middle of a calendar without leap days."""
    ids = "0: Agriculture; 1: Energy; 2: Industrial; 3: Transportation"
    months = 272.0 * 365.0 + 15.5 + np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    path = folder / "NOx-em-anthro_input4MIPs_emissions_CMIP_CEDS-2024-11-25_gn_202201-202212.nc"
    fields = {"NOx_em_anthro": (1e-9, {"units": "kg m-2 s-1"})}
    coords = {"time": months, "sector": np.arange(4)}
    time = {"units": "days since 1750-01-01 0:0:0", "calendar": "365_day"}
    return [write(path, fields, dims=("time", "sector"), coords=coords, time=time, sector={"ids": ids})]


def hemco(folder: Path) -> list[Path]:
    """Longitudes from 0 to 360, descending latitudes, one level, one file for each species."""
    coords = {"time": [0], "lev": [1.0], "lat": np.arange(89.5, -90.0, -1.0), "lon": np.arange(0.5, 360.0)}
    given = {"units": "kg/m2/s"}
    fields = {"NO_agr": (1e-9, given), "NO_tra": (1e-9, given)}
    time = {"units": "hours since 2019-1-1 00:00:0.0", "calendar": "standard"}
    return [write(folder / "NO-em-anthro_CMIP_CEDS_2019.nc", fields, dims=("time", "lev"), coords=coords, time=time)]


def emiproc(folder: Path) -> list[Path]:
    fields = {f"NOx_{letter}": (365e3, {"units": "kg y-1"}) for letter in "AF"}
    return [write(folder / "raster.nc", fields, attrs={"emiproc_history": "remapped"})]


def gfas(folder: Path) -> list[Path]:
    fields = {"noxfire": (1e-9, {"units": "kg m**-2 s**-1", "long_name": "Wildfire flux of Nitrogen Oxides NOx"}),
              "mami": (100.0, {"units": "m", "long_name": "Mean altitude of maximum injection"})}  # fmt: skip
    time = {"units": "days since 2022-08-31"}
    return [write(folder / "gfas.nc", fields, dims=("time",), coords={"time": [0, 1]}, time=time)]


def years(folder: Path) -> list[Path]:
    told = {"units": "kgN/m2/year"}
    time = {"units": "year as %Y"}
    coords = {"time": np.array([2021, 2022])}
    return [write(folder / "soils.nc", {"nox_flux": (1.0, told)}, dims=("time",), coords=coords, time=time)]


FLUX = 1e-9 * AREA
CELL = AREA / (
    float(np.mean(np.outer(np.cos(np.radians(LAT[20:40])), np.ones(40)))) * (6371229.0 * np.radians(0.1)) ** 2
)
TO_NO2 = 46.0055 / 30.0061


@pytest.mark.parametrize(
    ("make", "layout", "expected"),
    [
        (edgar_flux, "EDGAR", {("F_RoadTransport", "NOx"): FLUX, ("A_PublicPower", "NOx"): FLUX}),
        (edgar_tonnes, "EDGAR", {("F_RoadTransport", "NOx"): 800e3 / DAY}),
        (edgar_months, "EDGAR", {("F_RoadTransport", "NOx"): 800e3 / DAY}),
        (
            cams_global, "CAMS-GLOB",
            {(name, "NOx"): FLUX * TO_NO2 for name in ("A_PublicPower", "F_RoadTransport", "G_Shipping")},
        ),
        (cams_regional, "CAMS-REG", {(name, "NOx"): 800.0 / DAY for name in ("A_PublicPower", "F_RoadTransport")}),
        (htap, "HTAP v3", {(name, "NOx"): FLUX for name in ("G_Shipping", "F_RoadTransport", "K_AgriLivestock")}),
        (
            ceds, "CEDS",
            {(n, "NOx"): FLUX for n in ("L_AgriOther", "A_PublicPower", "B_Industry", "F_RoadTransport")},
        ),
        (hemco, "HEMCO (CEDS for GEOS-Chem)", {(name, "NO"): FLUX for name in ("L_AgriOther", "F_RoadTransport")}),
        (emiproc, "emiproc", {(name, "NOx"): 800e3 / DAY for name in ("A_PublicPower", "F_RoadTransport")}),
        (gfas, "GFAS fires", {("Fires", "NOx"): FLUX * TO_NO2}),
        (years, "", {("", "NOx"): AREA / YEAR * 46.0055 / 14.0067}),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)  # fmt: skip
def test_known_layouts(
    make: Callable[[Path], list[Path]], layout: str, expected: dict[tuple[str, str], float], tmp_path: Path
) -> None:
    sources = read(*make(tmp_path))
    found = in_area(sources)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-6)
    assert {row.layout for each in sources for row in each.totals} == {layout}
    for each in sources:
        assert each.rate(0.0).sum() == pytest.approx(
            found[each.sector, each.names[0]] / (46.0055e-3 if each.names == ("NOx",) else 30.0061e-3), rel=1e-6
        )


def lambert(rows: int = 30, columns: int = 40, size: float = 1e4) -> tuple[xr.Dataset, Grid]:
    """Return the coordinates of a file on a Lambert grid around the area, with descending y, and its grid."""
    mapping = projection("lambert", 6.0, 51.0, (45.0, 57.0), 6.37e6)
    x, y = (size * (np.arange(count + 1) - 0.5 * count) for count in (columns, rows))
    grid = Grid.mapped(mapping, x, y, [0.0, 20.0, 1000.0])
    centres = {"x": 0.5 * (x[1:] + x[:-1]), "y": 0.5 * (y[1:] + y[:-1])[::-1]}
    dataset = xr.Dataset({"crs": ((), 0, dict(mapping.parameters))}, centres)
    for axis in "xy":
        dataset[axis].attrs = {"units": "m", "standard_name": f"projection_{axis}_coordinate"}
    return dataset, grid


def noisy(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(7).random(shape)


@pytest.mark.parametrize("units", ["mol m-2 s-1", "mol s-1"])
def test_amounts_on_the_grid_itself_are_exact(units: str) -> None:
    flux = units != "mol s-1"
    lat, lon = GRID.lat[:, 0], GRID.lon[0]
    values = noisy((lat.size, lon.size))
    data = xr.Dataset({"CO": (("lat", "lon"), values[::-1], {"units": units})}, {"lat": lat[::-1], "lon": lon})
    exact = values * GRID.cell_area if flux else values
    (source,) = read_gridded([data], GRID, START)
    assert source.rate(0.0)[0, 0] == pytest.approx(exact, rel=1e-12)
    assert source.rate(0.0).sum() == pytest.approx(exact.sum(), rel=1e-12)

    dataset, grid = lambert()
    values = noisy(grid.shape[1:])
    dataset["CO"] = (("y", "x"), values[::-1], {"units": units, "grid_mapping": "crs"})
    exact = values * grid.cell_area if flux else values
    (source,) = read_gridded([dataset], grid, START)
    assert source.rate(0.0)[0, 0] == pytest.approx(exact, rel=1e-9)
    assert source.rate(0.0).sum() == pytest.approx(exact.sum(), rel=1e-12)


def test_amounts_between_grids_are_conserved() -> None:
    dataset, _ = lambert(18, 22)  # within the wider grid
    wide = Grid.regular((0.0, 12.0), (46.0, 56.0), 0.5, [20.0])
    dataset["CO"] = (("y", "x"), noisy((18, 22)), {"units": "mol s-1"})
    (source,) = read_gridded([dataset], wide, START, FieldSettings(partial=True))
    assert source.rate(0.0).sum() == pytest.approx(float(dataset.CO.sum()), rel=1e-12)
    (total,) = source.totals
    assert total.whole == pytest.approx(total.inside, rel=1e-12)
    dataset["CO"].attrs["units"] = "mol m-2 s-1"
    uniform = dataset.assign(CO=dataset.CO * 0.0 + 1.0)
    uniform["CO"].attrs["units"] = "mol m-2 s-1"
    inner = Grid.regular((5.4, 6.6), (50.8, 51.2), 0.1, [20.0])
    (source,) = read_gridded([uniform], inner, START)
    assert source.rate(0.0)[0, 0] == pytest.approx(inner.cell_area, rel=2e-3)  # radii of 6370 and 6371 km


def test_emission_of_wrf_chem_is_on_its_own_grid(tmp_path: Path) -> None:
    _, grid = lambert()
    rows, columns = grid.shape[1:]
    shape = (1, 1, rows, columns)
    dims = ("Time", "emissions_zdim_stag", "south_north", "west_east")
    told = {"MAP_PROJ": 1, "TRUELAT1": 45.0, "TRUELAT2": 57.0, "STAND_LON": 6.0, "CEN_LAT": 51.0, "MOAD_CEN_LAT": 51.0,
            "CEN_LON": 6.0, "DX": 1e4, "DY": 1e4}  # fmt: skip
    paths = []
    for hour in range(24):
        data = xr.Dataset({
            "Times": (("Time",), np.array([f"2022-08-31_{hour:02d}:00:00"], "S19")),
            "XLAT": (dims[2:], grid.lat.astype(np.float32)), "XLONG": (dims[2:], grid.lon.astype(np.float32)),
            "E_NO": (dims, np.full(shape, 1.0 + hour), {"units": "mol km^-2 hr^-1"}),
            "E_PM25I": (dims, np.ones(shape), {"units": "ug m^-2 s^-1"}),
        }, attrs=told)  # fmt: skip
        data.to_netcdf(tmp_path / f"wrfchemi_d01_2022-08-31_{hour:02d}")
        paths.append(tmp_path / f"wrfchemi_d01_2022-08-31_{hour:02d}")
    (source,) = read(*paths)
    assert (source.species, source.totals[0].layout) == (("NO",), "WRF-Chem emission (wrfchemi)")
    assert [source.rate(3600.0 * hour).sum() for hour in (0, 23)] == pytest.approx(
        [AREA / 3.6e9 * factor for factor in (1.0, 24.0)], rel=2e-3
    )
    assert "no species for PM2.5: left out" in source.notices()[0]
    with pytest.raises(DataError, match=r"covers 2022-08-31T00:00:00 to .*the run needs 2022-09-01T00:00:00 to"):
        read_gridded(list(paths), GRID, np.datetime64("2022-09-01"), FieldSettings(), CONTEXT)


def test_sources_without_a_sector_are_refused(tmp_path: Path) -> None:
    data = xr.Dataset({
        "nox": ("source", [1.0, 1.0], {"units": "kg/year"}),
        "longitude_source": ("source", [5.25, 6.0]), "latitude_source": ("source", [51.25, 51.0]),
        "emission_category_index": ("source", [1, 3]), "emis_cat_code": ("emis_cat", np.array([b"A", b"F1"])),
    })  # fmt: skip
    data.to_netcdf(tmp_path / "TNO.nc")
    with pytest.raises(DataError, match="an index of its sources is outside its 2 codes"):
        read(tmp_path / "TNO.nc")


def test_emission_for_cmaq_is_on_its_own_grid() -> None:
    """Rates per cell by hour, with dates as flags of year, day of the year, and time."""
    _, grid = lambert()
    rows, columns = grid.shape[1:]
    told = {"GDTYP": 2, "P_ALP": 45.0, "P_BET": 57.0, "P_GAM": 6.0, "XCENT": 6.0, "YCENT": 51.0, "XORIG": -2e5,
            "YORIG": -1.5e5, "XCELL": 1e4, "YCELL": 1e4, "NCOLS": columns, "NROWS": rows}  # fmt: skip
    flags = np.array([[[2022243, 10000 * hour]] for hour in range(24)])
    data = xr.Dataset({
        "TFLAG": (("TSTEP", "VAR", "DATE-TIME"), flags, {"units": "<YYYYDDD,HHMMSS>"}),
        "CO": (("TSTEP", "LAY", "ROW", "COL"), np.ones((24, 1, rows, columns)), {"units": "moles/s         "}),
    }, attrs=told)  # fmt: skip
    (source,) = read_gridded([data], GRID, START, FieldSettings(), CONTEXT)
    assert source.totals[0].layout == "I/O API (SMOKE, CMAQ)"
    assert source.rate(86399.0).sum() == pytest.approx(AREA / 1e8, rel=0.02)
    with pytest.raises(DataError, match="covers 2022-08-31T00:00:00 to 2022-09-01T00:00:00"):
        source.rate(86400.0)


def test_the_unknown_file_of_the_guide(tmp_path: Path) -> None:
    axes = {"lat": np.arange(-89.5, 90.0), "lon": np.arange(-179.5, 180.0), "time": np.arange(12)}
    told = {"units": "kgN/m2/s"}
    fields = {"emis_road": (1e-9, told), "emis_wetland": (2e-9, told)}
    time = {"units": "months since 2015-01-01"}
    path = write(tmp_path / "file.nc", fields, dims=("time",), coords=axes, time=time)
    with pytest.raises(CaseError, match="emis_road, emis_wetland are not species of the mechanism"):
        read(path)
    named = {"species": {"emis_*": "NOx"}, "sectors": {"emis_road": "F", "emis_wetland": "wetlands"}}
    with pytest.raises(DataError, match=r"repeat = .year. uses its twelve months for every year"):
        read(path, **named)
    found = in_area(read(path, **named, year=2015))
    as_no2 = 46.0055 / 14.0067 * FLUX
    assert found == pytest.approx({("F_RoadTransport", "NOx"): as_no2, ("wetlands", "NOx"): 2.0 * as_no2}, rel=1e-5)


SHARED = Path(os.environ.get("AIRSHED_SHARED") or Path(__file__).parents[5] / "shared") / "data"
SAMPLES = SHARED / "layout_samples"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared data are not there: layout_samples")
def test_files_of_inventories_as_published() -> None:
    """Known totals of the files: sums of their numbers times areas, made with other code."""
    (coarse,) = read(SAMPLES / "edgar_co_test.nc")
    assert (coarse.totals[0].layout, coarse.names) == ("EDGAR", ("CO",))
    assert coarse.totals[0].whole == pytest.approx(4.17e8, rel=1e-3)
    chosen = {"variables": ["nox", "co_*"], "species": {"co_*": "CO"}}
    points = read(SAMPLES / "tno_test_minimal.nc", **chosen, partial=True)
    with xr.open_dataset(SAMPLES / "tno_test_minimal.nc") as data:
        for name, fields in (("NOx", ("nox",)), ("CO", ("co_ff", "co_bf"))):
            whole = sum(row.whole for each in points for row in each.totals if row.name == name)
            assert whole == pytest.approx(sum(float(data[field].sum()) for field in fields) / 365.0)
    with pytest.raises(DataError, match="unstructured grid"):
        read(SAMPLES / "miem_x1.163842_2024_nox_subset.nc")


PRIOR = SHARED / "openmethane_au_test_wrf_mcip/prior-emissions.nc"


@pytest.mark.skipif(not PRIOR.is_file(), reason="shared data are not there: openmethane_au_test_wrf_mcip")
def test_methane_of_queensland_by_sector() -> None:
    grid = Grid.regular((148.2, 149.0), (-23.6, -23.0), 0.1, [20.0])
    settings, start = FieldSettings(profiles=False), np.datetime64("2022-12-07")
    sources = read_gridded([PRIOR], grid, start, settings, CONTEXT)
    with xr.open_dataset(PRIOR) as data:
        total = float(data["ch4_total"].sum()) * 1e8 * DAY
    on_sphere = 1.0433  # area of a cell of 10 km by 10 km of the plane, between the standard parallels
    assert sum(row.whole for each in sources for row in each.totals) == pytest.approx(on_sphere * total, rel=1e-3)
    names = {each.sector for each in sources}
    assert {"D_Fugitive", "K_AgriLivestock", "J_Waste", "wetlands", "termite", "lulucf"} <= names
    with pytest.raises(DataError, match=r"repeat = .day. uses its day for every day"):
        read_gridded([PRIOR], grid, np.datetime64("2022-12-08"), settings, CONTEXT)


def test_two_dimensional_places_without_a_projection(tmp_path: Path) -> None:
    _, grid = lambert()
    curves = {"lat": (("j", "i"), grid.lat), "lon": (("j", "i"), grid.lon)}
    values = noisy(grid.shape[1:])
    data = xr.Dataset({"CO": (("j", "i"), values, {"units": "kg m-2 s-1"})}, curves)
    wide = Grid.regular((0.0, 12.0), (46.0, 56.0), 0.5, [20.0])
    (source,) = read_gridded([data], wide, START, FieldSettings(partial=True), CONTEXT)
    assert source.totals[0].whole == pytest.approx(DAY * (values * grid.cell_area).sum(), rel=1e-3)
    assert source.totals[0].inside == pytest.approx(source.totals[0].whole, rel=1e-12)
    data["CO"] = (("j", "i"), np.ones(values.shape), {"units": "mol m-2 s-1"})
    (source,) = read_gridded([data], GRID, START)
    assert source.rate(0.0)[0, 0] == pytest.approx(GRID.cell_area, rel=0.1)


def test_a_list_of_sources(tmp_path: Path) -> None:
    """Point sources are in the cell that contains them; area sources fill their cell of 0.1 by 0.05 degrees."""
    data = xr.Dataset({
        "nox": ("source", [365.0, 730.0, 365.0], {"units": "kg/year"}),
        "longitude_source": ("source", [5.25, 6.02, 30.0]), "latitude_source": ("source", [51.25, 50.99, 51.0]),
        "source_type_index": ("source", [2, 1, 1]), "source_type_code": ("source_type", np.array([b"a", b"p"])),
        "emission_category_index": ("source", [1, 2, 2]), "emis_cat_code": ("emis_cat", np.array([b"A", b"F1"])),
    }, {"longitude": np.arange(-30.0, 60.0, 0.1), "latitude": np.arange(30.0, 72.0, 0.05)})  # fmt: skip
    data.to_netcdf(tmp_path / "TNO.nc")
    power, road = read(tmp_path / "TNO.nc")
    assert (power.sector, road.sector) == ("A_PublicPower", "F_RoadTransport")
    assert power.totals[0].whole == pytest.approx(1.0)
    rate = power.stored(0.0)[0, 0]
    assert rate[2, 2] == rate.sum() > 0.0
    assert road.totals[0].whole == pytest.approx(3.0)
    rate = road.stored(0.0)[0, 0] * DAY
    assert rate.sum() == pytest.approx(2.0, rel=1e-12)
    assert rate[1:3, 3:5] == pytest.approx(2.0 * np.outer([0.7, 0.3], [0.3, 0.7]), abs=0.1)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ("Tonnes", "'Tonnes', an amount without time; set per = .year. or per = .month."),
        ("ton", "which may be short tons"),
        ("kg m-2 cell-1", "both per cell and per area"),
        ("mol C m-2 s-1", "moles of atoms"),
        ("kg m-2 month-1", "divide by the seconds of each month"),
        ("ppb", "units"),
    ],
)
def test_ambiguous_units_are_refused(units: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "e.nc", {"nox": (1.0, {"units": units})})
    with pytest.raises(DataError, match=message):
        read(path)


def test_tonnes_of_a_file_for_each_month_are_those_of_a_month(tmp_path: Path) -> None:
    told = {"units": "Tonnes", "substance": "NOx"}
    paths = [
        write(
            tmp_path / f"v8.1_FT2022_AP_NOx_2022_{month + 1}_TRO_emi.nc", {"emissions": (31.0, told)}, dims=("time",),
            coords={"time": [month]}, time={"units": "months since 2022-01-01"},
        )
        for month in (6, 7)
    ]  # fmt: skip
    (source,) = read(*paths)
    assert source.totals[0].inside == pytest.approx(800e3)  # 40 x 20 cells of a tonne a day


def test_amounts_per_cell_are_no_fluxes(tmp_path: Path) -> None:
    path = write(tmp_path / "e.nc", {"nox": (365.0, {"units": "Tonnes"})})
    (source,) = read(path, per="year")
    assert source.totals[0].inside == pytest.approx(800.0 * 1000.0)  # 40 x 20 cells of a tonne a day
    leap = read_gridded([path], GRID, np.datetime64("2024-08-31"), FieldSettings(per="year"), CONTEXT)
    assert leap[0].totals[0].inside == pytest.approx(800e3 * 365.0 / 366.0)


@pytest.mark.parametrize(
    ("variable", "units", "settings", "per_kilogram"),
    [
        ("nmvoc", "kg m-2 s-1", {}, 1.0),
        ("nmvoc", "kgC/m2/s", {}, None),
        ("CO", "kgC/m2/s", {}, 28.0101 / 12.011),
        ("nox", "kg(N) m-2 s-1", {}, 46.0055 / 14.0067),
        ("nox", "kg NO m-2 s-1", {}, TO_NO2),
        ("nox", "kg m-2 s-1", {"basis": {"NOx": "NO"}}, TO_NO2),
        ("sox", "kg S m-2 s-1", {}, 64.066 / 32.06),
    ],
)
def test_masses_stand_for_their_molecule(
    variable: str, units: str, settings: dict[str, object], per_kilogram: float | None, tmp_path: Path
) -> None:
    (source,) = read(write(tmp_path / "e.nc", {variable: (1.0, {"units": units})}), **settings)
    if per_kilogram is None:
        carbon = sum(each.share * each.carbon * 12.011e-3 / each.molar_mass for each in SPLIT["NMVOC"])
        per_kilogram = 1.0 / carbon
    assert source.totals[0].inside == pytest.approx(DAY * AREA * per_kilogram, rel=1e-6)
    if "nox" in variable:
        assert source.rate(0.0)[0].sum() == pytest.approx(0.95 * AREA * per_kilogram / 46.0055e-3, rel=1e-6)


def test_masses_of_an_unknown_molecule_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a mass of NMVOC as N cannot be converted"):
        read(write(tmp_path / "e.nc", {"nmvoc": (1.0, {"units": "kgN/m2/s"})}))
    with pytest.raises(DataError, match="moles of the mixture NMVOC cannot be split"):
        read(write(tmp_path / "f.nc", {"nmvoc": (1.0, {"units": "mol/m2/s"})}))


@pytest.mark.parametrize("told", [{}, {"molecular_weight": 30.07}])
def test_masses_of_carbon_of_a_compound(told: dict[str, object], tmp_path: Path) -> None:
    (source,) = read(write(tmp_path / "e.nc", {"C2H6": (1.0, {"units": "kgC/m2/s", **told})}))
    assert source.rate(0.0).sum() == pytest.approx(AREA / (2.0 * 12.011e-3), rel=1e-6)


def test_masses_of_carbon_of_an_unknown_formula_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "e.nc", {"ISOP": (1.0, {"units": "kgC/m2/s", "molecular_weight": 68.12})})
    targets = Targets(("ISOP",), {"ISOP": 68.117e-3}, EmissionMap.same(("ISOP",)), SPLIT)
    with pytest.raises(DataError, match="a mass of ISOP as C cannot be converted"):
        read_gridded([path], GRID, START, FieldSettings(), GriddedContext(targets, 86400.0))
    known = Targets(("ISOP",), {"ISOP": 68.117e-3}, EmissionMap({"ISOP": {"ISOP": 1.0}}, carbon={"ISOP": 5.0}), SPLIT)
    (source,) = read_gridded([path], GRID, START, FieldSettings(), GriddedContext(known, 86400.0))
    assert source.rate(0.0).sum() == pytest.approx(AREA / (5.0 * 12.011e-3), rel=1e-6)


def test_a_given_basis_precedes_the_mass_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "e.nc", {"nox": (1.0, {"units": "kg m-2 s-1", "molecular_weight": 46.0})})
    (source,) = read(path, basis={"NOx": "NO"})
    assert source.totals[0].inside == pytest.approx(DAY * AREA * TO_NO2, rel=1e-6)


def test_variables_are_mapped_and_selected(tmp_path: Path) -> None:
    told = {"units": "kg m-2 s-1"}
    path = write(tmp_path / "e.nc", {"emis_road": (1.0, told), "emis_lakes": (2.0, told), "bc": (1.0, told)})
    with pytest.raises(CaseError, match=r"emis_road, emis_lakes are not species.*species = \{ \"emis_road\""):
        read(path)
    species, sectors = {"emis_*": "NOx"}, {"emis_road": "F", "emis_lakes": "lakes"}
    road, lakes = read(path, species=species, sectors=sectors)
    assert (road.sector, lakes.sector) == ("F_RoadTransport", "lakes")
    assert "no species for BC: left out" in road.notices()[0]
    (only,) = read(path, variables=["emis_lakes"], species=species, scale=0.5)
    assert only.stored(0.0).sum() == pytest.approx(AREA, rel=1e-6)
    (without,) = read(path, species={"emis_road": "none", "emis_lakes": "CO"})
    assert without.names == ("CO",)
    with pytest.raises(DataError, match="has no variable"):
        read(path, variables=["*_x"])


def uniform(units: str = "mol m-2 s-1", **given: object) -> xr.Dataset:
    field = (("lat", "lon"), np.ones((60, 80)), {"units": units, **given})
    return xr.Dataset({"CO": field}, {"lat": LAT, "lon": LON})


def marked(value: float, **given: object) -> xr.Dataset:
    data = xr.Dataset(
        {"CO": (("lat", "lon"), np.ones((60, 80)), {"units": "mol s-1", **given})}, {"lat": LAT, "lon": LON}
    )
    data.CO.values[:, :30] = value
    return data


@pytest.mark.parametrize(
    ("value", "settings", "hint"),
    [
        (-999.0, {"missing_values": [-999.0], "missing": "zero"}, "if -999 marks missing values"),
        (1e20, {"missing": "zero"}, "missing = .zero. takes missing values as no emission"),
        (np.nan, {"missing": "zero"}, "missing = .zero."),
        (-0.5, {"negative": "zero"}, "negative = .zero. omits an uptake"),
    ],
)
def test_missing_and_negative_values(value: float, settings: dict[str, object], hint: str, tmp_path: Path) -> None:
    data = marked(value)
    data.to_netcdf(tmp_path / "e.nc")
    for each in (data, tmp_path / "e.nc"):
        with pytest.raises(DataError, match=hint):
            read_gridded([each], GRID, START)
        (source,) = read_gridded([each], GRID, START, FieldSettings(**settings))
        assert source.rate(0.0).sum() == pytest.approx(30.0 * 20.0, rel=1e-9)
        assert "are no emission (37.5 % of its cells)" in source.notices()[0]
    east = Grid.regular((5.5, 8.0), (50.0, 52.0), 0.5, [20.0])  # marks outside the area do not matter
    assert read_gridded([data], east, START)[0].rate(0.0).sum() == pytest.approx(25.0 * 20.0, rel=1e-6)


def test_an_entry_replaces_those_above_it() -> None:
    told = {"units": "mol m-2 s-1"}
    wide = xr.Dataset(
        {name: (("lat", "lon"), np.ones((60, 80)), told) for name in ("CO", "NO")}, {"lat": LAT, "lon": LON}
    )
    west = wide[["CO"]].isel(lon=slice(0, 40)) * 3.0
    west.CO.attrs.update(told)
    below = FieldSettings(), read_gridded([wide], GRID, START)
    settings = FieldSettings(overlap="replace")
    first, second = replaced([below, (settings, read_gridded([west], GRID, START, settings))])
    sums = {name: first.rate(0.0)[row, 0].sum(axis=0) for row, name in enumerate(first.species)}
    area = GRID.cell_area.sum(axis=0)
    assert sums["NO"] == pytest.approx(area, rel=1e-6)
    assert sums["CO"] == pytest.approx(np.where(GRID.lon[0] < 6.0, 0.0, area), rel=1e-6)
    assert (sums["CO"] + second.rate(0.0)[0, 0].sum(axis=0))[:4] == pytest.approx(3.0 * area[:4], rel=1e-6)
    assert "replaces CO of the emission dataset in 50 % of the area" in second.notices()[0]


def test_countries_are_parts_of_the_land() -> None:
    data = xr.Dataset({"CO": (("lat", "lon"), np.ones((60, 80)), {"units": "mol m-2 s-1"})}, {"lat": LAT, "lon": LON})
    parts = [
        read_gridded([data], GRID, START, FieldSettings(countries=[name]))[0].rate(0.0)[0, 0] for name in ("DE", "BE")
    ]
    everything = read_gridded([data], GRID, START, FieldSettings(countries=["DE", "BE", "NL", "LU", "FR"]))[0]
    assert everything.rate(0.0)[0, 0] == pytest.approx(GRID.cell_area, rel=1e-9)
    assert parts[0][2, 7] == pytest.approx(GRID.cell_area[2, 7], rel=1e-9)
    assert parts[1][1, 1] == pytest.approx(GRID.cell_area[1, 1], rel=1e-9)
    assert parts[1][2, 7] == 0.0
    for name, message in (("XX", "'XX' in countries is unknown"), ("IT", "IT has no land inside the grid")):
        with pytest.raises(CaseError, match=message):
            read_gridded([data], GRID, START, FieldSettings(countries=[name]))


def test_sectors_follow_their_profiles_in_local_time(tmp_path: Path) -> None:
    (path,) = edgar_months(tmp_path)
    (road,) = read_gridded([path], GRID, START, FieldSettings(), CONTEXT)
    hours = np.array([road.rate(3600.0 * hour).sum() for hour in range(24)])
    assert hours[15] > 5.0 * hours[0]  # 17 to 18 o'clock in summer time, against the middle of the night
    month = read_gridded([path], GRID, np.datetime64("2022-08-01"), FieldSettings(), GriddedContext(TARGETS, 31 * DAY))[
        0
    ]
    assert month.emitted(0.0, 31 * DAY)[0] == pytest.approx(month.totals[0].inside, rel=0.01)
    assert "profiles by height, weekday, hour of F_RoadTransport" in " ".join(road.notes())
    (power,) = read_gridded([path], GRID, START, FieldSettings(sectors={"*": "A"}), CONTEXT)
    assert power.levels == 3
    assert power.rate(0.0)[0, 0].sum() < 1e-6 < power.rate(0.0)[0, 2].sum()
    assert read(path)[0].rate(0.0).sum() == read(path)[0].rate(3600.0).sum()


def test_levels_are_heights_or_layers(tmp_path: Path) -> None:
    told = {"units": "mol s-1"}
    data = xr.Dataset({"CO": (("z", "lat", "lon"), np.ones((2, 60, 80)), told)}, {"lat": LAT, "lon": LON})
    with pytest.raises(DataError, match="its dimension z has 2 levels of unknown heights; give their tops"):
        read_gridded([data], GRID, START)
    (source,) = read_gridded([data], GRID, START, FieldSettings(levels=[60.0, 150.0]))
    assert source.rate(0.0).sum(axis=(0, 2, 3)) == pytest.approx(800.0 * np.array([1 / 3, 2 / 3 + 4 / 9, 5 / 9]))
    (high,) = read_gridded([data], GRID, START, FieldSettings(levels=[20.0, 3020.0]))  # the layers end at 1000 m
    assert high.rate(0.0).sum(axis=(0, 2, 3)) == pytest.approx(800.0 * np.array([1.0, 80 / 3000, 2920 / 3000]))


def test_the_same_field_twice_is_refused(tmp_path: Path) -> None:
    told = {"units": "kg m-2 s-1"}
    paths = [
        write(tmp_path / f"v8.1_FT2022_AP_NOx_{year}_TRO_flx.nc", {"fluxes": (1.0, told)}) for year in (2021, 2022)
    ]
    with pytest.raises(CaseError, match=r"have the same fields.*they would be emitted twice"):
        read(*paths)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("TOTALS_flx", "TRO_flx"), "TOTALS_flx.nc has the total of NOx that .*TRO_flx.nc also has"),
        (("TRO_emi", "TOTALS_emi"), "TOTALS_emi.nc has the total of NOx that .*TRO_emi.nc also has"),
        (("TOTALS_emi", "TOTALS_flx"), "has the total of NOx"),
        (("TRO_emi", "TRO_flx"), "has the same NOx that .* it would be emitted twice: give one of them"),
    ],
)
def test_a_total_with_its_sectors_and_amounts_with_their_fluxes_are_refused(
    tmp_path: Path, names: tuple[str, str], reason: str
) -> None:
    units = {"emi": ("emissions", "Tonnes"), "flx": ("fluxes", "kg m-2 s-1")}
    paths = []
    for name in names:
        variable, unit = units[name[-3:]]
        path = tmp_path / f"v8.1_FT2022_AP_NOx_2022_{name}.nc"
        paths.append(write(path, {variable: (1.0, {"units": unit, "substance": "NOx"})}))
    with pytest.raises(CaseError, match=reason):
        read(*paths)
    assert [len(read(path)) for path in paths] == [1, 1]  # each alone is right


def test_totals_of_different_pollutants_are_added(tmp_path: Path) -> None:
    told = {"units": "kg m-2 s-1"}
    names = ("NOx_2022_TOTALS_flx", "CO_2022_TOTALS_flx")
    paths = [write(tmp_path / f"v8.1_FT2022_AP_{name}.nc", {"fluxes": (1.0, told)}) for name in names]
    assert len(read(*paths)) == 2


def test_keys_that_fit_nothing_in_the_files_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nc", {"emi_nox": (1.0, {"units": "kg m-2 s-1"})})
    (source,) = read(path, species={"emi_nox": "NOx", "emi_co": "CO"}, sectors={"emi_*": "F", "emi_nxo": "G"})
    unused = [line for line in source.notes() if "fits nothing in the files" in line]
    assert [line.split("a.nc: ")[1].split(",")[0] for line in unused] == [
        "species has 'emi_co'",
        "sectors has 'emi_nxo'",
    ]


def test_a_mapping_to_an_unknown_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nc", {"emissions": (1.0, {"units": "kg m-2 s-1"})})
    with pytest.raises(CaseError, match=r"species of emissions = 'NOxx' is neither .*; did you mean NOx\?"):
        read(path, species={"emissions": "NOxx"})


def test_a_field_without_units_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="CO has no units; add the attribute units"):
        read(write(tmp_path / "a.nc", {"CO": (1.0, {})}))


def test_unstructured_grids_are_refused() -> None:
    data = xr.Dataset({"nox_anth_sum": (("Time", "nCells"), np.ones((1, 9)), {"units": "kg m-2 s-1"})})
    with pytest.raises(DataError, match=r"cells of an unstructured grid; regrid it"):
        read_gridded([data], GRID, START)


def test_a_part_of_a_cell_is_replaced_for_all_species_of_a_field(tmp_path: Path) -> None:
    (source,) = read(write(tmp_path / "e.nc", {"nox": (1e-9, {"units": "kg m-2 s-1"})}))
    covered = np.full(GRID.shape[1:], 0.25)
    assert source.without(covered, ("NO", "NO2")).rate(0.0) == pytest.approx(0.75 * source.rate(0.0))
    assert np.array_equal(source.without(covered, ("NO",)).rate(0.0), source.rate(0.0))

"""Gridded emission in a case: settings, factors on sectors, reports, and controls of 4D-Var."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import CaseError
from airshed.models.air.assembly import Parts, assemble
from airshed.models.air.emissions import GriddedEmissions
from airshed.models.air.emissions.report import emission_notices, emission_rows, file_table

LAT, LON = np.arange(49.05, 53.0, 0.1), np.arange(3.05, 9.0, 0.1)


def parts_of(folder: Path, gridded: list[Any], **emissions: Any) -> Parts:
    told = {"units": "kg m-2 s-1"}
    names = ("ene", "tro", "sum")
    fields = {name: (("time", "lat", "lon"), np.full((12, LAT.size, LON.size), 1e-9), told) for name in names}
    months = np.arange("2019-01", "2020-01", dtype="M8[M]").astype("M8[ns]")
    data = xr.Dataset(fields, {"time": months, "lat": LAT, "lon": LON})
    data.to_netcdf(folder / "CAMS-GLOB-ANT_Glb_0.1x0.1_anthro_nox_v5.3_monthly.nc")
    case = {
        "grid": {"area": {"lon": [4, 8], "lat": [50, 52]}, "spacing": "0.5 deg", "layers": ["100 m", "1000 m"]},
        "time": {"start": "2022-08-31T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "emep"},
        "meteorology": {"kind": "uniform"}, "emissions": {"gridded": gridded, **emissions},
    }  # fmt: skip
    return assemble(airshed.Case.from_dict(case, base=folder))


BLOCK = {"files": ["CAMS*.nc"], "year": 2019}


def test_a_block_has_a_source_for_each_sector(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, [BLOCK])
    assert [each.sector for each in parts.sources] == ["A_PublicPower", "F_RoadTransport"]
    assert all(isinstance(each, GriddedEmissions) and each.species == ("NO", "NO2") for each in parts.sources)
    table = file_table(parts.sources, 0.0, 3600.0)
    area = float(parts.whole.cell_area.sum())
    for row in table.rows:
        assert row[1:3] == ("CAMS-GLOB", "NOx")
        assert row[5] == pytest.approx(1e-9 * area * 86400.0 * 46.0055 / 30.0061, rel=1e-6)
        assert row[4] > row[5]
    rows = emission_rows(parts.sources, parts.network, 0.0, 3600.0, np.datetime64("2022-08-31"))
    emitted = {row[3]: row[6] for row in table.rows}
    for sector, mass in emitted.items():  # NO as NO2, so that both are the reported mass of NOx
        assert sum(row.kilograms_per_day for row in rows if row.sector == sector) == pytest.approx(mass)


def test_factors_act_on_sectors_and_pollutants(tmp_path: Path) -> None:
    whole = [each.rate(0.0).sum() for each in parts_of(tmp_path, [BLOCK]).sources]
    scaled = parts_of(tmp_path, [{**BLOCK, "scale": 2.0}], scale={"F_RoadTransport": 0.5, "F_RoadTransport/NOx": 0.5})
    assert [each.rate(0.0).sum() for each in scaled.sources] == pytest.approx([2.0 * whole[0], 0.5 * whole[1]])
    with pytest.raises(CaseError, match=r"emissions.scale: 'F_Road' is not a pollutant or sector of the gridded files"):
        parts_of(tmp_path, [BLOCK], scale={"F_Road": 0.5})


def test_files_that_a_mechanism_lacks_are_noticed(tmp_path: Path) -> None:
    data = xr.Dataset({"PM2.5": (("lat", "lon"), np.ones((LAT.size, LON.size)), {"units": "kg m-2 s-1"})},
                      {"lat": LAT, "lon": LON})  # fmt: skip
    data.to_netcdf(tmp_path / "particles.nc")
    parts = parts_of(tmp_path, ["particles.nc"])
    assert [each.species for each in parts.sources] == [()]
    assert "no species for PM2.5: left out" in emission_notices(parts.sources)[0]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({}, "files"),
        ({"files": ["CAMS*.nc"]}, "repeat = .year. uses its twelve months"),
        ({**BLOCK, "year": 2018}, "has no fields of 2018; it has those of 2019"),
        ({**BLOCK, "repeat": "month"}, "repeat"),
        ({**BLOCK, "colour": 1}, "colour"),
    ],
)
def test_faulty_blocks_are_refused(block: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(airshed.AirshedError, match=message):
        parts_of(tmp_path, [block])

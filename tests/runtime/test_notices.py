"""Notices before a run begins."""

import xarray as xr

import airshed
from airshed.core.files import resource

CASE = {
    "grid": {"area": {"lon": [4.5, 5.5], "lat": [50, 51]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h"},
    "transport": {"diffusion": False},
    "deposition": {"scheme": "none"},
    "run": {"threads": 1},
}
STEADY = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})


def test_countries_in_the_area_that_report_less_are_told_before_the_run(tmp_path):
    shipped, folder = resource("cases/west-europe/emissions"), tmp_path / "inventory"
    folder.mkdir()
    for file in shipped.iterdir():
        (folder / file.name).symlink_to(file)
    totals = folder / "national_totals.csv"
    totals.unlink()
    totals.write_text((shipped / totals.name).read_text().replace("\nBE,2022", "\nBE,2032"))
    (tmp_path / "map.toml").write_text(
        'emissions = { CO = { TRACER = 1 }, none = ["NO", "NO2", "SO2", "SA", "NH3", "C2H6", "NC4H10", "C2H4", "C3H6", '
        '"OXYL", "C2H5OH"] }\nboundary.zero = "others"\n'
    )
    chemistry = {"mechanism": "tracer", "species_map": str(tmp_path / "map.toml")}
    emissions = {"inventory": str(folder), "year": 2022, "biogenic": False}
    case = airshed.Case.from_dict({**CASE, "chemistry": chemistry, "emissions": emissions})
    with airshed.Simulation(case, meteorology=STEADY) as simulation:
        notices = [text for text in simulation.notices if text.startswith("emission: ")]
    assert notices[0] == "emission: no totals of 2022, so no emission: BE"
    assert "BE has 16 totals only for other years (CO of " in notices[1]


def test_notices_are_logged_once(caplog):
    case = airshed.Case.from_dict(
        {**CASE, "chemistry": {"mechanism": "tracer"}, "boundary": {"scale": {"TRACER": 2.0}}}
    )
    with airshed.Simulation(case, meteorology=STEADY) as simulation:
        assert simulation.notices
        assert caplog.messages == simulation.notices
        assert {each.name for each in caplog.records} == {"airshed"}
        with simulation.branch() as branch:
            assert branch.notices == simulation.notices
        assert caplog.messages == simulation.notices  # those of a branch are the same


def test_a_case_without_notices_logs_nothing(caplog):
    case = airshed.Case.from_dict({**CASE, "chemistry": {"mechanism": "tracer"}})
    with airshed.Simulation(case, meteorology=STEADY) as simulation:
        assert simulation.notices == caplog.messages == []

"""Section [assimilation]: controls, observations, invalid settings, and its default."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import CaseError, DataError
from airshed.inverse.fourdvar.study import control_vector, fourdvar, read_case_observations, stop_rules
from airshed.models.air.case import Case, check_species, idle_settings

from ...observations.test_reading import HEADER, line
from .toys import Matrix

CONTROL = {"name": "nox", "species": ["NO", "NO2"], "parts_of_day": 4, "time": "6 h"}
OBSERVED = {"stations": ["*.csv"], "species": ["NO2"], "averaging": "1 h"}


def case(folder: Path | None = None, **section: Any) -> Case:
    given = {"scheme": "4dvar", "observations": OBSERVED, "control": [CONTROL], **section}
    data = {
        "grid": {"area": {"lon": [0, 8], "lat": [45, 51]}, "spacing": "1 deg", "layers": ["20 m", "100 m"]},
        "time": {"start": "2022-08-31T00:00Z", "length": "6 h"},
        "chemistry": {"mechanism": "tracer"},
        "assimilation": given,
    }
    return Case.from_dict(data, base=folder)


def test_blocks_have_the_axes_of_their_target() -> None:
    whole = {"name": "all", "species": ["NO"], "resolution": "domain", "parts_of_day": 2}
    start = {"name": "start", "target": "initial", "species": ["NO2"]}
    more = {"name": "more", "target": "initial", "species": ["O3"], "kind": "gaussian", "deviation": "5 ppb"}
    one = {"name": "one", "target": "initial", "species": ["O3"], "resolution": "domain"}
    given = case(control=[CONTROL, whole, start, more, one])
    control = control_vector(given, given.make_grid())
    shapes = {block.name: (block.dims, block.shape, block.kind) for block in control.blocks}
    assert shapes == {
        "nox": (("part_of_day", "lat", "lon"), (4, 6, 8), "log-normal"),
        "all": (("part_of_day",), (2,), "log-normal"),
        "start": (("level", "lat", "lon"), (2, 6, 8), "log-normal"),
        "more": (("level", "lat", "lon"), (2, 6, 8), "gaussian"),
        "one": (("domain",), (1,), "log-normal"),
    }
    assert np.ptp(control.blocks[3].covariance.sigma) == 0.0
    assert control.blocks[3].covariance.sigma.flat[0] == pytest.approx(5e-9)


def test_observations_and_stop_rules_are_those_of_the_case(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + line() + line(station="B", flag="7"), encoding="utf-8")
    given = case(tmp_path, iterations=7, gradient_tolerance=0.01)
    observations, rejected, _ = read_case_observations(given, given.make_grid())
    assert observations.value.tolist() == [21.0]
    assert [(row.place, row.station, row.reason) for row in rejected] == [("line 3", "B", "flag '7'")]
    assert (stop_rules(given).iterations, stop_rules(given).gradient) == (7, 0.01)
    other = {
        **OBSERVED,
        "flags": ["7"],
        "outside": "skip",
        "averaging": "2 h",
        "representativeness_error": 0.0,
        "names": {},
    }
    given = case(tmp_path, observations=other)
    (tmp_path / "b.csv").write_text(HEADER + line(flag="7", lon="30"), encoding="utf-8")
    (tmp_path / "c.csv").write_text(HEADER + line(flag="7", averaging="", error=""), encoding="utf-8")
    observations, rejected, _ = read_case_observations(given, given.make_grid())
    assert {row.reason for row in rejected} == {"flag ''", "outside the domain"}
    assert observations.end[1] - observations.begin[1] == 7200.0
    assert observations.sigma[1] == pytest.approx(2.1)
    with pytest.raises(CaseError, match="there is no such file"):
        read_case_observations(case(tmp_path, observations={**OBSERVED, "stations": ["d.csv"]}), given.make_grid())


def test_files_without_places_times_and_units_take_them_from_the_case(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("date;NO2\n31.08.2022 04:00;23,5\n31.08.2022 05:00;20\n", encoding="utf-8")
    (tmp_path / "places.txt").write_text("id,lon,lat\na,4.5,47.5\n", encoding="utf-8")
    more = {"station_tables": ["places.txt"], "units": {"NO2": "ppb"}}
    time = {"zone": "Europe/Berlin", "label": "end"}
    given = case(tmp_path, observations={**OBSERVED, "averaging": "auto", "time": time, **more})
    observations, _, (file,) = read_case_observations(given, given.make_grid())
    assert (observations.begin / 3600.0).tolist() == [1.0, 2.0]
    assert (observations.lon[0], observations.unit[0]) == (4.5, "ppb")
    assert (file.layout, file.convention.zone, file.known) == ("wide table", "Europe/Berlin", "given")
    without = case(tmp_path, observations={**OBSERVED, **more})
    with pytest.raises(DataError, match="give both, as in time = "):
        read_case_observations(without, without.make_grid())
    with pytest.raises(CaseError, match=r"observations.time has no label; write time = "):
        case(tmp_path, observations={**OBSERVED, "time": {"zone": "UTC"}})


def test_4dvar_of_a_case_runs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + line(unit="ppb"), encoding="utf-8")
    given = case(tmp_path, control=[{"name": "f", "species": ["NO2"], "resolution": "domain"}])
    observations, *_ = read_case_observations(given, given.make_grid())
    found = fourdvar(given, Matrix(np.array([[10.0]])), observations, tmp_path / "state.npz")
    assert (found.check, found.background_share) == (5.0, 0.5)
    assert 1.0 < found.run().controls["f"][0] < 2.1


def test_it_is_off_by_default_and_reports_settings_without_effect() -> None:
    assert case(scheme="none", control=[], observations={}).assimilation == type(case().assimilation)()
    told = idle_settings(case(scheme="none", iterations=3))
    assert 'assimilation.iterations has no effect with assimilation.scheme = "none"' in told
    assert not [line for line in idle_settings(case()) if line.startswith("assimilation")]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"control": []}, r"needs \[\[assimilation.control\]\]"),
        ({"control": [CONTROL, CONTROL]}, "two controls have the same name"),
        ({"observations": {"stations": ["a.csv"]}}, "needs assimilation.observations.species, and files"),
        ({"observations": {"species": ["NO2"]}}, "needs assimilation.observations.species, and files"),
        ({"control": [{**CONTROL, "kind": "gaussian"}]}, "is for .*initial.* and one species"),
        ({"control": [{**CONTROL, "target": "initial"}]}, "parts_of_day are for"),
        ({"control": [{**CONTROL, "species": ["NO", "NO"]}]}, "has a duplicate; name each once"),
        (
            {
                "control": [
                    {"name": "a", "target": "initial", "species": ["NO"], "kind": "gaussian", "deviation": "0 ppb"}
                ]
            },
            "fixes the initial state; give more than 0",
        ),
        ({"control": [{**CONTROL, "sigma": 0.0}]}, "sigma"),
        ({"control": [{**CONTROL, "length": "-1 km"}]}, "length"),
        ({"window": "7 h"}, "assimilation.window = '7 h' is longer than time.length"),
        ({"gradient_tolerances": 1}, "did you mean assimilation.gradient_tolerance"),
    ],
)
def test_invalid_settings_are_refused(section: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        case(**section)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"control": [{**CONTROL, "species": ["NOx"]}]}, "assimilation.control.0.species: 'NOx' is not a species"),
        ({"observations": {**OBSERVED, "species": ["O33"]}}, "assimilation.observations.species: 'O33'"),
        ({"observations": {**OBSERVED, "names": {"a": "N2"}}}, "assimilation.observations.names: 'N2'"),
    ],
)
def test_species_are_those_of_the_mechanism(section: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        check_species(case(**section), ["NO", "NO2", "O3"])
    check_species(case(), ["NO", "NO2", "O3"])

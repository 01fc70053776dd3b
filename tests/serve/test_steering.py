"""Steering: settings, painting, releases; each replays with the same bits and is undone by a snapshot."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError, OutputError
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote, ServerError
from airshed.serve.model.sessions import START, HostedSession
from airshed.serve.model.store import FolderStore
from airshed.serve.protocol.schema import case_schema, values_of
from airshed.serve.protocol.types import Paint, Set, Snapshot


def settings(schema: Mapping[str, Any], values: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Yield the path, the schema and the value of each setting that may change."""
    if "properties" in schema:
        for key, each in schema["properties"].items():
            yield from settings(each, (values or {}).get(key), f"{path}.{key}".removeprefix("."))
    elif "properties" in schema.get("items", {}):
        for number, each in enumerate(values or ()):
            yield from settings(schema["items"], each, f"{path}.{number}")
    elif "x-effect" in schema:
        yield path, schema, values


def test_a_setting_of_the_case_changes_while_it_runs(remote: Remote) -> None:
    remote.step(4)
    before = remote.snapshot()
    name = remote.snapshot()
    with remote.branch(name, {"emissions.point.0.rate": "2 mol/s"}) as more, remote.branch(name) as same:
        more.step(6)
        same.step(6)
        remote.step(6)
        trunk = remote["TRACER"].values
        assert np.array_equal(same["TRACER"].values, trunk)
        assert more["TRACER"].values.sum() > 1.2 * trunk.sum()
        assert more.replay().equal
        remote.restore(before)
        remote.set({"emissions.point.0.rate": "2 mol/s"})
        remote.step(6)
        assert np.array_equal(remote["TRACER"].values, more["TRACER"].values)
        assert remote.replay().equal
        remote.restore(before)
        remote.step(6)
        assert np.array_equal(remote["TRACER"].values, trunk)
        for each in (more, same):
            each.end()


def test_info_lists_the_settings_that_can_change(remote: Remote) -> None:
    info = remote.info()
    found = {path: (schema, value) for path, schema, value in settings(info.settings, info.values)}
    assert sorted(set(info.processes)) == sorted(info.processes)
    assert found["transport.advection"][1] is True
    assert found["transport.advection"][0]["type"] == "boolean"
    assert found["meteorology.eastward"][1] == "0 m/s"  # where the weather is uniform
    assert found["deposition.velocities"][0]["x-keys"] == ["TRACER", "TRACER2"]
    rate, value = found["emissions.point.0.rate"]
    assert (value, rate["format"], rate["x-effect"]) == ("1 mol/s", "quantity", "rebuild")
    assert rate["x-range"]
    assert rate["x-unit"] == "kg/s or mol/s"
    when = {each.name: each.when for each in info.variables}
    assert (when["TRACER"], when["air_pressure"]) == ("at the end of a step", None)
    valid = {each.name: each.valid for each in info.variables}
    assert (valid["TRACER"], valid["eastward_wind"]) == ((0.0, 1.0), (-1000.0, 1000.0))
    assert None not in valid.values()
    assert not {"grid.spacing", "time.start", "output", "model", "chemistry.solver"} & set(found)
    assert info.values["grid"]["spacing"]
    assert info.shown[0] == "TRACER"
    assert info.air == "air_density"


@pytest.mark.thorough
def test_a_switch_turns_a_process_off(remote: Remote) -> None:
    remote.step(3)
    remote.set({"transport.diffusion": False})
    assert remote.info().values["transport"]["diffusion"] is False
    remote.step(2)
    assert remote.replay().equal


def test_painting_sets_cells_within_a_window_or_a_polygon(remote: Remote) -> None:
    remote.step(3)
    before = remote["TRACER2"].values
    remote.paint("TRACER2", 5e-8, window=(10, 12, 20, 25))
    after = remote["TRACER2"].values
    assert np.allclose(after[0, 10:12, 20:25], 5e-8, rtol=1e-6)
    assert int((after != before).sum()) == 10
    triangle = [(-3.0, -3.0), (3.0, -3.0), (0.0, 3.0)]
    remote.command(Paint(variable="TRACER2", value=2.0, operation="multiply", level=None, polygon=triangle))
    doubled = remote["TRACER2"].values
    assert np.allclose(doubled[:, 8, 20], 2.0 * after[:, 8, 20])
    assert np.array_equal(doubled[:, :4], after[:, :4])
    remote.step(3)
    assert remote.replay().equal


def test_a_release_adds_its_mass(remote: Remote) -> None:
    with airshed.Simulation("tracer-rotation") as simulation:
        air = simulation["air_density"].values
    remote.step(3)
    begin = remote.state.seconds
    remote.release("TRACER2", (-2.1, -2.1), 100.0, height=60.0, unit="mol/s", duration=600.0)
    remote.run(until=begin + 3600.0)
    values = remote["TRACER2"].values
    assert air.shape == values.shape
    assert values.max() > 1.01e-8
    assert float(values[:, :25].max()) == float(values.max())
    assert remote.replay().equal


def test_invalid_settings_are_refused_and_change_nothing(remote: Remote) -> None:
    remote.step(1)
    before = remote["TRACER"].values
    for name, value, message in (
        ("grid.spacing", "1 deg", "cannot change while the model runs"),
        ("emissions.nothing", 1.0, "nothing"),
        ("chemistry.mechanism", "../../../etc/passwd", "outside the catalogue"),
        ("chemistry.mechanism", "racm", "cannot change while the model runs"),
        ("boundary.profiles", "/etc/passwd", "outside the catalogue"),
        ("emissions.gridded", "http://example.org/x.nc", "outside the catalogue"),
        ("boundary.profiles", "../../../../etc/passwd", "outside the catalogue"),
        ("transport.advection", "perhaps", "transport.advection"),
        ("TRACER", -1.0, "between 0 and 1"),
        ("TRACER", "x", "TRACER"),
        ("no_such", 1.0, "no field"),
        ("transport.diffusion=false #", True, "is not a setting; did you mean transport.diffusion"),
        (".", True, "no field"),
        ("transport..diffusion", True, "is not the name of a setting"),
    ):
        with pytest.raises(ServerError, match=message):
            remote.set({name: value})
        assert np.array_equal(remote["TRACER"].values, before)
    remote.step(1)
    assert remote.replay().equal


@pytest.mark.parametrize(
    "change",
    [
        {"level": 9, "window": (0, 1, 0, 1)}, {"window": (50, 60, 0, 1)}, {},
        {"variable": "air_temperature", "window": (0, 1, 0, 1)},
        {"polygon": [(100.0, 0.0), (101.0, 0.0), (101.0, 1.0)]},
    ],
)  # fmt: skip
def test_invalid_painting_is_refused(remote: Remote, change: dict[str, object]) -> None:
    with pytest.raises(ServerError):
        remote.command(Paint(**{"variable": "TRACER", "value": 1e-9, **change}))


def test_a_release_that_lasts_is_that_of_a_case() -> None:
    case = load_case("tracer-rotation", ['time.length="2 h"'])
    point = {"species": "TRACER2", "lon": 1.0, "lat": 1.0, "rate": "1 mol/s", "begin": "600 s", "duration": "1200 s"}
    data = case.to_dict()
    data["emissions"]["point"].append(point)
    with airshed.Simulation(type(case).from_dict(data)) as simulation:
        simulation.run()
        budget = simulation.budget()
    assert float(budget["emitted"].sel(species="TRACER2")) == pytest.approx(1200.0, rel=1e-3)
    assert float(budget["emitted"].sel(species="TRACER")) == pytest.approx(7200.0, rel=1e-3)


def test_a_snapshot_that_is_not_stored_does_not_exist() -> None:
    full = create_autospec(FolderStore, instance=True)
    full.save.side_effect = OutputError("the disk is full")
    session = HostedSession(airshed.Simulation("tracer-rotation"), store=full)
    with pytest.raises(OutputError, match="full"):
        session.apply(Snapshot(), "me")
    assert (session.log, list(session.snapshots)) == ([], [START])
    session.store = None
    info = session.apply(Snapshot(), "me")
    assert info is not None
    assert info.snapshot == "s0"
    session.close()


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("tracer-rotation", ("chemistry", "time", "transport", "emissions")),
        pytest.param("queensland", ("runoff", "grazing"), marks=pytest.mark.thorough),
    ],
)
def test_settings_that_are_listed_can_be_set(name: str, sections: tuple[str, ...]) -> None:
    with airshed.Simulation(load_case(Path(name), ["run.threads=1"])) as simulation:
        simulation.step(2)
        session = HostedSession(simulation)
        listed = list(settings(case_schema(simulation), values_of(simulation)))
        listed = [(path, value) for path, _, value in listed if path.partition(".")[0] in sections]
        assert {path.partition(".")[0] for path, _ in listed} == set(sections)
        case = simulation.case
        for path, value in listed:
            if isinstance(value, bool | int | float | str):
                session.apply(Set(changes={path: value}), "me")
                assert session.simulation.case == case, path
        session.close()


@pytest.mark.parametrize(
    "name", [pytest.param("tracer-rotation", marks=pytest.mark.thorough), "queensland", "west-europe"]
)
def test_settings_that_are_listed_keep_to_their_ranges(name: str) -> None:
    """A number or quantity far outside the range of any setting is refused by its name, and changes nothing."""
    few = ["grid.spacing=1 deg", "time.spinup=0 h"] if name == "west-europe" else []
    with airshed.Simulation(load_case(Path(name), ["run.threads=1", *few])) as simulation:
        session, sections = HostedSession(simulation), set()
        for path, schema, _ in settings(case_schema(simulation), values_of(simulation)):
            quantity = schema.get("format") == "quantity"
            if schema.get("x-range") and (quantity or schema.get("type") in ("number", "integer")):
                value = f"-1e300 {schema['x-unit'].partition(' or ')[0]}" if quantity else -1e300
                with pytest.raises(CaseError, match=re.escape(path.rpartition(".")[2])):
                    session.apply(Set(changes={path: value}), "me")
                sections.add(path.partition(".")[0])
        assert (session.log, session.simulation) == ([], simulation)
        assert len(sections) > 2
        session.close()

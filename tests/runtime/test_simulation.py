"""Airshed as a library: analytic air on any box, passive tracers, no files."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import AirshedError, CaseError, NumericalError, OutputError
from airshed.models.air.programs import air_check
from airshed.runtime.clock import StepInfo

DOCS = (Path(__file__).parents[2] / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
CENTRES = np.arange(20) * 0.5 - 4.75
FACES = np.linspace(-5.0, 5.0, 21)
STEADY = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})


def settings(**sections):
    base = {
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "6 h"},
        "chemistry": {"mechanism": "tracer"},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "run": {"threads": 1},
    }
    return {name: {**base.get(name, {}), **sections.get(name, {})} for name in base | sections}


def make(**sections):
    return airshed.Case.from_dict(settings(**sections))


def writing(output):
    return airshed.Case.from_dict({**settings(), "output": [output]})


def winds(east=5.0, north=2.0, *, lat=CENTRES, lon=CENTRES, **more):
    shape = (len(lat), len(lon))
    data = {
        "eastward_wind": (("lat", "lon"), np.full(shape, east)),
        "northward_wind": (("lat", "lon"), np.full(shape, north)),
    }
    return xr.Dataset(data | more, coords={"lat": lat, "lon": lon})


def puff(lon=CENTRES, lat=CENTRES, at=(0.0, 0.0), width=1.5):
    x, y = np.meshgrid(lon - at[0], lat - at[1])
    values = 1e-9 * np.exp(-0.5 * (x**2 + y**2) / width**2)
    return xr.Dataset({"TRACER": (("lat", "lon"), values)}, coords={"lat": lat, "lon": lon})


def ended(case, meteorology, initial=None):
    simulation = airshed.Simulation(case, meteorology=meteorology, initial=initial)
    simulation.run()
    return simulation


def test_the_documented_example_runs(capsys):
    (example,) = (each for each in re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL) if "def wind" in each)
    names = {}
    exec(compile(example, "docs/how-to/library.md", "exec"), names)
    assert names["error"] < 0.2
    assert re.search(r"180 steps, at 2022-06-02T00:00:00.000: l1 error 0.13", capsys.readouterr().out)


def test_a_field_has_dims_unit_coordinates_and_time():
    simulation = airshed.Simulation(make(), STEADY, puff())
    field = simulation["TRACER"]
    assert field.dims == ("level", "lat", "lon")
    assert field.shape == (2, 20, 20)
    assert field.attrs["units"] == "mol mol-1"
    assert field.level.values.tolist() == [250.0, 750.0]
    assert (field.level.attrs["units"], field.lat.attrs["units"]) == ("m", "degrees_north")
    np.testing.assert_allclose(field.lon, CENTRES)
    assert field.time == np.datetime64("2022-01-01T00:00")
    assert simulation["air_temperature"].attrs["units"] == "K"


@pytest.mark.compiles
def test_a_field_does_not_change_when_the_run_goes_on(tmp_path):
    """Also where one species, one level and a full row of columns would let it lie in the state itself."""
    (tmp_path / "one.spc").write_text("#DEFVAR\nSMOKE = IGNORE;\n")
    grid = {"area": {"lon": [0, 8], "lat": [0, 3]}, "spacing": "1 deg", "layers": ["500 m"]}
    case = airshed.Case.from_dict(settings(grid=grid, chemistry={"mechanism": "one.spc"}), base=tmp_path)
    simulation = airshed.Simulation(case, STEADY, xr.Dataset({"SMOKE": 1e-9}))
    before = simulation["SMOKE"]
    simulation.run()
    assert np.all(before == 1e-9)
    assert not np.array_equal(simulation["SMOKE"], before)


def test_a_setting_that_does_nothing_is_told():
    with airshed.Simulation(make(chemistry={"mechanism": "tracer", "solver": "ros2"}), STEADY) as simulation:
        assert simulation.notices == ['chemistry.solver has no effect with chemistry.integrator = "imex"']


def test_what_resuming_does_is_told(tmp_path):
    """A run in an empty folder begins, so that one command can begin and continue; later it continues."""

    def notices(*, resume):
        with airshed.Simulation(make(), STEADY, output=tmp_path / "run", resume=resume) as simulation:
            simulation.run(until="1 h")
            return simulation.notices

    assert notices(resume=True) == [f"{tmp_path / 'run'} has no run to resume; the run begins at its start"]
    assert notices(resume=True) == ["resumed at 1 h of the case"]
    assert notices(resume=False) == []


@pytest.mark.parametrize(
    ("begun", "then", "told"),
    [
        (("files", "none"), "none", "files"),
        (("zarr", "none"), "none", "zarr"),
        (("gather", "zlib"), "zlib", "gather"),
        (("auto", "zlib"), "zlib", "(gather|files|zarr)"),
        (("mpiio", "none"), "none", "(gather|mpiio|pnetcdf)"),
    ],
)
def test_auto_goes_on_with_the_records_that_are_there_and_says_so(tmp_path, begun, then, told):
    def run(strategy, compression, until=None):
        case = writing({"strategy": f"{strategy}:async", "compression": compression})
        with airshed.Simulation(case, STEADY, puff(), output=tmp_path / "run", resume=until is None) as simulation:
            simulation.run(until=until)
            return simulation.notices

    run(*begun, until="2 h")
    notices = run("auto", then)
    assert notices[0] == "resumed at 2 h of the case"
    assert re.fullmatch(f"output continues with {told}:async, the strategy of its records", notices[1])
    with airshed.open_run(tmp_path / "run") as results:
        assert len(results["time"]) == 7


def test_auto_goes_on_with_what_is_there_rather_than_with_what_it_took_before(tmp_path):
    case = writing({"strategy": "gather", "compression": "zlib"})
    with airshed.Simulation(case, STEADY, output=tmp_path / "run") as simulation:
        (tmp_path / "run" / "records" / "output" / "strategy").write_text("files")
        simulation.run(until="2 h")
    again = writing({"strategy": "auto", "compression": "zlib"})
    with airshed.Simulation(again, STEADY, output=tmp_path / "run", resume=True) as simulation:
        assert simulation.notices[1] == "output continues with gather:sync, the strategy of its records"


def test_auto_refuses_records_that_no_strategy_goes_on_with(tmp_path):
    case = writing({"strategy": "gather", "compression": "zlib"})
    with airshed.Simulation(case, STEADY, output=tmp_path / "run") as simulation:
        simulation.run(until="2 h")
    with pytest.raises(OutputError, match=r"are of the strategy gather with compression, and not of .*; resume with"):
        airshed.Simulation(writing({"strategy": "auto"}), STEADY, output=tmp_path / "run", resume=True)


def test_time_goes_by_steps_and_by_runs():
    seen: list[StepInfo] = []
    simulation = airshed.Simulation(make(), STEADY, puff())
    info = simulation.step()
    assert 0.0 < info.dt == info.time == simulation.seconds
    simulation.run(until="1 h", observer=seen.append)
    assert simulation.time == np.datetime64("2022-01-01T01:00")
    simulation.run(until=2.0 * 3600.0)
    simulation.run(until=np.float32(10800.0))
    assert simulation.seconds == 10800.0
    simulation.run()
    assert simulation.time == np.datetime64("2022-01-01T06:00")
    assert seen[-1].time == 3600.0
    with pytest.raises(AirshedError, match="ends at 6 h"):
        simulation.step()
    simulation.run()


def test_a_fixed_step_is_kept():
    simulation = airshed.Simulation(make(time={"step": "10 min"}), STEADY, puff())
    assert [simulation.step().dt for _ in range(3)] == [600.0, 600.0, 600.0]
    assert "20 x 20 x 2 cells" in repr(simulation)


@pytest.mark.parametrize(
    ("lon", "lat"),
    [
        ((-5, 5), (-5, 5)),
        ((0, 10), (55, 65)),
        ((20, 30), (-65, -55)),
        ((175, 185), (-5, 5)),
        ((350, 360), (0, 10)),
        ((0, 360), (80, 90)),
    ],
)
def test_a_uniform_mixing_ratio_stays_uniform_on_any_box(lon, lat):
    grid = {
        "area": {"lon": list(lon), "lat": list(lat)},
        "spacing": {"lon": f"{(lon[1] - lon[0]) / 20} deg", "lat": "0.5 deg"},
    }
    case = make(grid=grid, boundary={"values": {"TRACER": "1 ppb"}}, time={"length": "2 h"})
    lons = case.make_grid().x
    air = winds(lat=case.make_grid().y, lon=lons, east=8.0 * np.cos(np.radians(lons)), north=3.0)
    simulation = ended(case, air)
    np.testing.assert_allclose(simulation["TRACER"], 1e-9, rtol=1e-12)
    assert abs(simulation.budget()["residual"].sel(species="TRACER")) < 1e-12 * simulation.budget()["throughput"].max()


@pytest.mark.parametrize("lon", [CENTRES % 360.0, np.roll(CENTRES % 360.0, 7)])
def test_longitudes_may_jump(lon):
    order = np.argsort(((lon + 180.0) % 360.0) - 180.0)
    speed = 5.0 + np.empty(20)
    speed[order] = 5.0 + 0.1 * np.arange(20)
    jumping = xr.Dataset({"eastward_wind": ("lon", speed), "northward_wind": ("lon", 0.0 * speed)}, coords={"lon": lon})
    plain = xr.Dataset(
        {"eastward_wind": ("lon", 5.0 + 0.1 * np.arange(20)), "northward_wind": ("lon", np.zeros(20))},
        coords={"lon": CENTRES},
    )
    fields = [ended(make(time={"length": "1 h"}), air, puff())["TRACER"] for air in (jumping, plain)]
    np.testing.assert_allclose(*fields, rtol=1e-9, atol=1e-24)


def test_an_initial_state_may_count_longitudes_otherwise_and_carry_units():
    grid = {"area": {"lon": [175, 185], "lat": [-5, 5]}}
    state = puff().assign_coords(lon=(CENTRES + 180.0 + 180.0) % 360.0 - 180.0)
    state["TRACER"] = (state["TRACER"] * 1e9).assign_attrs(units="ppb")
    simulation = airshed.Simulation(make(grid=grid), STEADY, state)
    np.testing.assert_allclose(simulation["TRACER"][0], puff()["TRACER"], rtol=1e-12)
    again = airshed.Simulation(make(grid=grid), STEADY, simulation["TRACER"].to_dataset())
    np.testing.assert_array_equal(again["TRACER"], simulation["TRACER"])


def face_winds(psi, **coords):
    east = -np.diff(psi, axis=0) / 55597.5
    north = np.diff(psi, axis=1) / (55597.5 * np.cos(np.radians(FACES))[:, None])
    data = {"eastward_wind": (("lat", "lon_face"), east), "northward_wind": (("lat_face", "lon"), north)}
    return xr.Dataset(data, coords=coords)


def test_face_winds_of_a_stream_function_move_no_air_up_or_down():
    x, y = np.meshgrid(FACES, FACES)
    air = face_winds(3e5 * np.cos(np.pi * x / 10.0) * np.cos(np.pi * y / 10.0))
    simulation = ended(make(), air, xr.Dataset({"TRACER": ("level", [1e-9, 0.0])}))
    np.testing.assert_allclose(simulation["TRACER"][0], 1e-9, rtol=1e-9)
    assert float(simulation["TRACER"][1].max()) < 1e-20
    assert float(simulation.budget()["outflow"].sel(species="TRACER")) < 1e-6


def test_faces_may_run_either_way_but_not_lie_elsewhere():
    x, y = np.meshgrid(FACES, FACES)
    psi = 3e5 * np.cos(np.pi * x / 10.0) * np.sin(np.pi * y / 10.0)
    air = face_winds(psi, lon_face=FACES, lat_face=FACES, lon=CENTRES, lat=CENTRES)
    turned = air.isel(lat=slice(None, None, -1), lat_face=slice(None, None, -1))
    fields = [ended(make(), each, puff())["TRACER"] for each in (air, turned)]
    np.testing.assert_array_equal(*fields)
    with pytest.raises(AirshedError, match="lon_face -4 to 6, the grid's faces at -5 to 5"):
        airshed.Simulation(make(), air.assign_coords(lon_face=FACES + 1.0))


def test_winds_with_time_in_any_notation_give_the_same():
    hours = np.arange(7)
    times = [
        np.datetime64("2022-01-01T00", "s") + hours * np.timedelta64(3600, "s"),
        hours * np.timedelta64(3600, "s"),
        hours * 3600.0,
    ]
    fields = []
    for time in times:
        air = STEADY.assign(eastward_wind=("time", 5.0 * np.cos(hours))).assign_coords(time=time)
        fields.append(ended(make(), air, puff())["TRACER"])
    np.testing.assert_array_equal(fields[0], fields[1])
    np.testing.assert_array_equal(fields[0], fields[2])


def test_a_function_is_called_as_often_as_the_case_says():
    calls: list[float] = []

    def air(seconds):
        calls.append(seconds)
        return STEADY

    ended(make(), air)
    assert sorted(set(calls)) == [900.0 * n for n in range(25)]
    calls.clear()
    ended(make(meteorology={"every": "4 h"}), air)
    assert sorted(set(calls)) == [0.0, 14400.0, 21600.0]


def test_a_turning_wind_brings_everything_back_after_its_period_at_any_latitude():
    for south in (-5.0, 45.0, -65.0):
        area = {"lon": [0, 10], "lat": [south, south + 10.0]}
        grid = {"area": area, "spacing": "0.25 deg", "layers": ["500 m", "1000 m"]}
        case = make(grid=grid, time={"length": "24 h"}, meteorology={"kind": "uniform", "rotation": "24 h"})
        each = case.make_grid()
        state = puff(each.x, each.y, at=(6.5, south + 5.0), width=0.8)
        end = ended(case, None, state)["TRACER"][0]
        assert float(np.abs(end - state["TRACER"]).sum() / state["TRACER"].sum()) < 0.2


@pytest.mark.thorough
@pytest.mark.compiles
def test_tracers_of_a_file_without_reactions(tmp_path):
    (tmp_path / "smoke.spc").write_text("#DEFVAR\nSMOKE = IGNORE;\nDUST = IGNORE;\nASH = IGNORE;\n")
    chosen = settings(
        chemistry={"mechanism": "smoke.spc"},
        initial={"values": {"ASH": "2 ppb"}},
        boundary={"values": {"DUST": "3 ppb"}},
        emissions={"point": [{"species": "SMOKE", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
    )
    simulation = ended(airshed.Case.from_dict(chosen, base=tmp_path), STEADY)
    budget = simulation.budget()
    assert budget["species"].values.tolist()[:3] == ["SMOKE", "DUST", "ASH"]
    assert float(budget["emitted"].sel(species="SMOKE")) == pytest.approx(21600.0, rel=1e-12)
    np.testing.assert_allclose(simulation["DUST"], 3e-9, rtol=1e-12)
    assert 0.0 < float(simulation["ASH"].mean()) < 2e-9
    assert float(abs(budget["residual"] / budget["throughput"]).max()) < 1e-12


def test_the_end_of_a_simulation_is_told():
    with airshed.Simulation(make(), STEADY) as simulation:
        simulation.step()
    with pytest.raises(AirshedError, match="was closed"):
        simulation.step()


def test_a_step_that_was_interrupted_is_the_last_one(monkeypatch):
    simulation = airshed.Simulation(make(), STEADY)
    simulation.step()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation.model.stepper._work, "work", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulation.step()
    monkeypatch.undo()
    with pytest.raises(AirshedError, match="was closed, or ended by an error"):
        simulation.step()


def late(seconds):
    return winds(east=np.nan if seconds > 7000.0 else 1.0)


MISTAKES = {
    "no meteorology": (lambda: airshed.Simulation(make()), "this case has no meteorology"),
    "a dictionary as meteorology": (lambda: airshed.Simulation(make(), {"u": 1}), "is a dict; give an xarray.Dataset"),
    "an array as meteorology": (lambda: airshed.Simulation(make(), STEADY.eastward_wind), "is a DataArray"),
    "a function of nothing": (lambda: airshed.Simulation(make(), lambda seconds: 3), "returned int"),
    "a missing wind": (lambda: airshed.Simulation(make(), STEADY[["eastward_wind"]]), "has no northward_wind"),
    "other names": (lambda: airshed.Simulation(make(), STEADY.rename(eastward_wind="u")), "has no eastward_wind"),
    "NaN": (lambda: airshed.Simulation(make(), winds(east=np.nan)), "NaN"),
    "NaN in an hour": (lambda: ended(make(), late), "NaN"),
    "text for numbers": (lambda: airshed.Simulation(make(), STEADY.assign(eastward_wind="five")), "no numbers"),
    "another unit": (
        lambda: airshed.Simulation(make(), STEADY.assign(eastward_wind=xr.DataArray(5.0, attrs={"units": "km"}))),
        "give it in m s-1",
    ),
    "other dimensions": (lambda: airshed.Simulation(make(), winds().rename(lat="y")), "dimension 'y'"),
    "another size": (lambda: airshed.Simulation(make(), winds().isel(lat=slice(9)).drop_vars("lat")), "9 values"),
    "another place": (lambda: airshed.Simulation(make(), winds(lon=CENTRES + 5.0)), "covers lon 0.25 to 9.75"),
    "swapped faces": (
        lambda: airshed.Simulation(make(), STEADY.assign(eastward_wind=(("lat_face", "lon"), np.ones((21, 20))))),
        "cannot be on lat_face",
    ),
    "hours for seconds": (
        lambda: airshed.Simulation(make(), STEADY.assign(eastward_wind=("time", [5.0, 6.0]), time=[0, 6])),
        "ends 6 s after the start",
    ),
    "no such species": (lambda: airshed.Simulation(make(), STEADY, puff().rename(TRACER="TRACR")), "mean TRACER"),
    "a negative start": (lambda: airshed.Simulation(make(), STEADY, puff() - 1.0), "negative or not finite"),
    "a dictionary as start": (lambda: airshed.Simulation(make(), STEADY, {"TRACER": 1.0}), "is a dict"),
    "start with time": (lambda: airshed.Simulation(make(), STEADY, puff().expand_dims("time")), "dimension 'time'"),
    "no such field": (lambda: airshed.Simulation(make(), STEADY)["TRACR"], "did you mean TRACER"),
    "a number as case": (lambda: airshed.Simulation(3), "the case is a int"),
    "a dictionary as case": (lambda: airshed.Simulation(settings()), "Case.from_dict"),
    "a path to nowhere": (lambda: airshed.Simulation("nowhere"), "there is no case"),
    "until without unit": (lambda: airshed.Simulation(make(), STEADY).run(until="2"), "unit"),
    "until in metres": (lambda: airshed.Simulation(make(), STEADY).run(until="2 m"), "not a length"),
    "until the end of time": (lambda: airshed.Simulation(make(), STEADY).run(until=np.inf), "is not a time"),
    "until after the end": (lambda: airshed.Simulation(make(), STEADY).run(until="1 day"), "after the end"),
    "a step too long": (lambda: ended(make(time={"step": "6 h"}), winds(east=50.0)), "too long for the wind"),
    "no such mechanism": (lambda: airshed.Simulation(make(chemistry={"mechanism": "tracr"}), STEADY), "mean 'tracer'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_told_in_a_line_or_two(mistake):
    doing, words = MISTAKES[mistake]
    with pytest.raises(AirshedError, match=re.escape(words)) as caught:
        doing()
    assert str(caught.value).count("\n") < 2
    assert len(str(caught.value)) < 240


def test_a_simulation_is_closed_once_however_often_it_is_asked_to(monkeypatch):
    """Closing ends the other group of ranks; a second message would end the next simulation at its start."""
    closed = []
    with airshed.Simulation(make(), STEADY) as sim:
        monkeypatch.setattr(sim.model, "close", lambda close=sim.model.close: (closed.append(1), close()))
        sim.close()
    assert closed == [1]


def test_a_library_that_is_missing_is_told_before_earlier_results_are_set_aside(tmp_path, monkeypatch):
    with airshed.Simulation(make(), output=tmp_path / "run", meteorology=winds()) as simulation:
        simulation.run()
    earlier = {path.name for path in (tmp_path / "run").iterdir()}
    lacks = lambda name: "install it" if name == "pnetcdf" else None  # noqa: E731
    monkeypatch.setattr("airshed.io.strategies.choice.missing", lacks)
    for section in ({"output": [{"strategy": "pnetcdf"}]}, {"restart": {"strategy": "pnetcdf:async"}}):
        case = airshed.Case.from_dict(settings() | section)
        with pytest.raises(OutputError, match="install it"):
            airshed.Simulation(case, output=tmp_path / "run", meteorology=winds())
        assert {path.name for path in (tmp_path / "run").iterdir()} == earlier


def test_a_run_that_is_stopped_goes_on_with_the_very_next_step(tmp_path):
    """Between two due times, where the steps that were to come depend on where the planned steps began."""
    case = make(time={**settings()["time"], "step": "350 s"}, restart={"every": "3 h"})

    def steps(folder, *, stop_after=10**9, resume=False):
        with airshed.Simulation(case, STEADY, output=folder, resume=resume) as simulation:
            ends = []

            def observe(info):
                ends.append(info.time)
                if len(ends) == stop_after:
                    simulation.request_stop()

            simulation.run(observer=observe)
            return ends, simulation["TRACER"].values

    ends, final = steps(tmp_path / "whole")
    first, _ = steps(tmp_path / "run", stop_after=5)
    rest, resumed = steps(tmp_path / "run", resume=True)
    assert first == ends[:5]
    assert rest == ends[5:]
    assert resumed.tobytes() == final.tobytes()
    assert ends[4] % 3600.0 != 0.0


def test_a_run_may_write_the_weather_alone(tmp_path):
    """Its summary has then no species to show, and the budgets of all close."""
    case = writing({"fields": ["cloud_cover"]})
    with airshed.Simulation(case, STEADY, output=tmp_path / "run") as simulation:
        simulation.run()
        assert str(simulation.summary(brief=True).facts["budgets"]).startswith("closed: largest relative error")


def test_a_wind_faster_than_any_is_refused():
    with pytest.raises(CaseError, match=r"meteorology\.eastward, northward and rotation give a wind of .* m/s"):
        airshed.Simulation(make(meteorology={"kind": "uniform", "rotation": "1 min"}))


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_more_than_all_air_ends_the_run_with_its_source(integrator, monkeypatch):
    """The message has species, cell, time and source; ordinary emission costs a look an hour."""
    rate = {"species": "TRACER", "lon": 0.0, "lat": 0.0, "rate": "1e10 mol/s"}
    chosen = {"chemistry": {"mechanism": "tracer", "integrator": integrator}}
    with airshed.Simulation(make(emissions={"point": [rate] * 50}, **chosen), STEADY) as simulation:
        message = r"TRACER is \S+ mol/mol, more than all air, in the cell .*, level 0 .* at \S+ \w+; point sources"
        with pytest.raises(NumericalError, match=message):
            simulation.run(until="1 h")
    looks = []
    monkeypatch.setattr(air_check.AirCheck, "_refuse", lambda check, seconds: looks.append(seconds))
    monkeypatch.setattr(air_check, "MOST", -1.0)  # each look would refuse
    ordinary = make(emissions={"point": [rate | {"rate": "1 mol/s"}]}, **chosen)
    with airshed.Simulation(ordinary, STEADY) as run:
        for number in range(60):
            run.model._check.after(60.0 * number, 60.0 * (number + 1))
        assert len(looks) == 1


def test_air_that_is_painted_is_looked_at_after_the_next_step():
    with airshed.Simulation(make(), STEADY) as simulation:
        simulation.step()
        simulation.model.stepper.state.q[...] = 2.0
        simulation.model._check.forget()
        with pytest.raises(NumericalError, match=r"more than all air.*nothing is emitted there"):
            simulation.step()

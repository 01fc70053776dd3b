"""Without wind nothing but chemistry and deposition limit a step: they must do so by themselves."""

import pytest
from tests.models.air.test_strang import open_rates

import airshed

TIME = {"start": "2022-06-01T00:00:00Z", "length": "2 h", "step": "auto"}


def longest(case):
    lengths = []
    with airshed.Simulation(case) as simulation:
        simulation.run(observer=lambda info: lengths.append(info.dt))
    return max(lengths)


def tracers(layers, deposition):
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 2], "lat": [50, 51]}, "spacing": "1 deg", "layers": layers},
        "time": TIME, "chemistry": {"mechanism": "tracer"}, "meteorology": {"kind": "uniform"},
        "transport": {"diffusion": deposition["scheme"] != "none"}, "deposition": deposition, "run": {"threads": 1},
    })  # fmt: skip


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("time", "expected"), [({}, 300.0), ({"maximum_step": "200 s"}, 200.0), ({"step": "10 min"}, 600.0)]
)
def test_chemistry_limits_the_step_in_still_air(tmp_path, time, expected):
    case = open_rates(tmp_path, pair="1e-14", integrator="imex", time={**TIME, **time})
    assert longest(case.allowing_code()) == pytest.approx(expected)


def test_nothing_limits_the_step_of_what_is_passive():
    assert longest(tracers(["1000 m"], {"scheme": "none"})) == pytest.approx(3600.0)


@pytest.mark.compiles
def test_deposition_limits_it_too():
    deposition = {"scheme": "constant", "velocities": {"TRACER": "1 cm/s"}}
    assert longest(tracers(["300 m", "600 m", "1000 m"], deposition)) == pytest.approx(300.0)

"""Without wind nothing but chemistry and deposition limit a step: they must do so by themselves."""

import pytest

import airshed

REACTIONS = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<1> A + B = 2 B : 1e-14;\n"

LAYERS = {"none": ["1000 m"], "constant": ["300 m", "600 m", "1000 m"]}
"""By the scheme of deposition, as libraries of other tests have them."""


def steps(folder, mechanism="small.eqn", *, deposition="none", **time):
    (folder / "small.eqn").write_text(REACTIONS)
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 2], "lat": [50, 51]}, "spacing": "1 deg", "layers": LAYERS[deposition]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "2 h", **time},
        "chemistry": {"mechanism": mechanism}, "meteorology": {"kind": "uniform"},
        "transport": {"diffusion": deposition != "none"},
        "deposition": {"scheme": deposition, "velocities": {"TRACER": "1 cm/s"} if deposition != "none" else {}},
        "run": {"threads": 1},
    }, base=folder)  # fmt: skip
    lengths = []
    with airshed.Simulation(case) as simulation:
        simulation.run(observer=lambda info: lengths.append(info.dt))
    return lengths


@pytest.mark.compiles
@pytest.mark.parametrize(("time", "longest"), [({}, 300.0), ({"longest": "200 s"}, 200.0), ({"step": "10 min"}, 600.0)])
def test_chemistry_limits_the_step_in_still_air(tmp_path, time, longest):
    assert max(steps(tmp_path, **time)) == pytest.approx(longest)


def test_nothing_limits_the_step_of_what_is_passive(tmp_path):
    assert max(steps(tmp_path, "tracer")) == pytest.approx(3600.0)


@pytest.mark.compiles
def test_deposition_limits_it_too(tmp_path):
    assert max(steps(tmp_path, "tracer", deposition="constant")) == pytest.approx(300.0)

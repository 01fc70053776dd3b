"""Without wind nothing but chemistry and deposition limit a step: they must do so by themselves."""

import pytest

import airshed

REACTIONS = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<1> A + B = 2 B : 1e-14;\n"
PASSIVE = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n"

VELOCITIES = {"A": "1 cm/s", "B": "0 cm/s"}


def steps(folder, text, *, deposition="none", **time):
    (folder / "small.eqn").write_text(text)
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 2], "lat": [50, 51]}, "spacing": "1 deg", "layers": ["1000 m"]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "2 h", **time},
        "chemistry": {"mechanism": "small.eqn"}, "meteorology": {"kind": "uniform"},
        "deposition": {"scheme": deposition, "velocities": VELOCITIES if deposition != "none" else {}},
        "run": {"threads": 1},
    }, base=folder)  # fmt: skip
    lengths = []
    with airshed.Simulation(case) as simulation:
        simulation.run(observer=lambda info: lengths.append(info.dt))
    return lengths


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("text", "time", "longest"),
    [(REACTIONS, {}, 300.0), (REACTIONS, {"longest": "200 s"}, 200.0), (REACTIONS, {"step": "10 min"}, 600.0),
     (PASSIVE, {}, 3600.0)],
)  # fmt: skip
def test_chemistry_limits_the_step_in_still_air(tmp_path, text, time, longest):
    assert max(steps(tmp_path, text, **time)) == pytest.approx(longest)


@pytest.mark.compiles
def test_deposition_limits_it_too(tmp_path):
    assert max(steps(tmp_path, PASSIVE, deposition="constant")) == pytest.approx(300.0)

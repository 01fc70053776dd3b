"""Open parameters of a mechanism: rates, fixed species, Python functions; given, overridden, and missing."""

from pathlib import Path

import numpy as np
import pytest
from tests.models.box.toy import CLOSED, write_toy

from airshed.core.errors import CaseError
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box import BoxConditions
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.run import BoxRun, box

TEXT = """
#DEFVAR
A = IGNORE;
B = IGNORE;
#DEFFIX
X = IGNORE;
#EQUATIONS
<1> A = B : j_A;
<2> A + X = B : k_AX;
"""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> ReactionNetwork:
    path = tmp_path_factory.mktemp("open") / "two.def"
    path.write_text(TEXT, encoding="utf-8")
    return load_mechanism(path)


def conditions(**sections: dict) -> BoxConditions:
    data = {
        "time": {"length": "1 h"},
        "initial": {"A": "1e9 molecules/cm3"},
        "fixed": {"X": "1e5 molecules/cm3"},
        "rates": {"j_A": "1e-4 1/s", "K_AX": "2e-9 cm3/s"},
    }
    return BoxConditions.from_dict(data | sections)


def toy_conditions(**sections: dict) -> BoxConditions:
    """Return the same for the mechanism of the shared libraries, whose third rate is also open."""
    rates = {"j_A": "1e-4 1/s", "k_AX": "2e-9 cm3/s"}
    given = {"rates": rates, **sections}
    return conditions(**{**given, "rates": {**CLOSED, **given["rates"]}})


@pytest.mark.parametrize("method", ["rodas4", "gauss-seidel"])
def test_rates_and_fixed_species_are_given(toy: ReactionNetwork, method: str) -> None:
    """Return a result without air if no value depends on it."""
    solver = {"method": method, "step": "5 s", "relative_tolerance": 1e-8}
    series = box(toy, toy_conditions(solver=solver, deposition={"TRACER": "0 1/s"}))
    exact = 1e9 * np.exp(-(1e-4 + 2e-4) * 3600.0)
    assert float(series["A"][-1]) == pytest.approx(exact, rel=1e-7 if method == "rodas4" else 1e-3)
    assert set(series.data_vars) == set(toy.names)


def test_formulas_name_other_rates_and_the_air(toy: ReactionNetwork) -> None:
    rates = {"j_A": "1e-4*SUN", "k_AX": "2e-5*j_A*T/298", "SUN": 1.0}
    series = box(toy, toy_conditions(rates=rates, environment={"temperature": "298 K"}))
    assert float(series["A"][-1]) == pytest.approx(1e9 * np.exp(-(1e-4 + 2e-9 * 1e5) * 3600.0), rel=1e-5)


def test_a_fixed_species_as_a_part_of_air(toy: ReactionNetwork) -> None:
    given = toy_conditions(fixed={"X": "4e-15 mol/mol", "M": "2.5e19 molecules/cm3"})
    assert BoxRun(toy, given).model.forcing.at([0.0])["X"].item() == pytest.approx(1e5)


def test_oxygen_is_a_constant_part_of_air_and_steps_are_not_endless_by_gauss_seidel(toy: ReactionNetwork) -> None:
    fixed = {"M": "2.5e19 molecules/cm3", "O2": "5e18*(1 + t/1e6)", "X": "0 molecules/cm3"}
    given = {"fixed": fixed, "deposition": {"TRACER": "0 1/s"}, "solver": {"method": "gauss-seidel"}}
    with pytest.raises(CaseError, match=r"fixed\.O2 must be a constant fraction of M with gauss-seidel"):
        box(toy, toy_conditions(**given))
    with pytest.raises(CaseError, match="has more than 20000000 steps"):
        box(toy, toy_conditions(**{**given, "solver": {"method": "gauss-seidel", "step": "1 us"}}))
    fixed["O2"] = "0.2*M"
    box(toy, toy_conditions(**given))


FAULTS = {
    "rate": ({"rates": {"j_B": "1e-4 1/s"}}, "rates.j_B: two has no open parameter with this name; did you mean j_A?"),
    "unit of a fixed species": ({"fixed": {"X": "1 1/s"}}, "fixed.X = '1 1/s' has the wrong kind of unit"),
    "no fixed species": ({"fixed": {"Y": "1 ppb"}}, "fixed.Y: not a fixed species of two; known are H2O, M, N2, O2, X"),
    "missing": (
        {"fixed": {}, "rates": {}, "deposition": {"B": "1e-5*T"}},
        "not give:\n  environment.temperature\n  fixed in molecules cm-3: X\n  rates in 1/s: j_A\n"
        "  rates in cm3/s: k_AX",
    ),
    "missing density": ({"initial": {"A": "1 ppb"}}, "do not give: environment.pressure or fixed.M"),
    "no name": ({"deposition": {"B": "1e-5*TT"}}, "deposition.B = '1e-5*TT', at character 6 ('TT'): 'TT' is not known"),
    "length for a rate": (
        {"rates": {"j_A": "8e-3 m"}},
        "rates.j_A = '8e-3 m' has the wrong kind of unit: expected a rate",
    ),
    "per cent for a rate": ({"rates": {"j_A": "8 %"}}, "rates.j_A = '8 %' has the wrong kind of unit: expected a rate"),
    "rate of another order": ({"rates": {"k_AX": "1e-3 1/s"}}, "rates.k_AX = '1e-3 1/s' has the wrong kind of unit"),
    "formula in another unit": (
        {"rates": {"j_A": "2*t K"}},
        "rates.j_A = '2*t K': its unit = '1 K' has the wrong kind",
    ),
    "sun with a unit": ({"rates": {"SUN": "1 1/s"}}, "rates.SUN = '1 1/s' has the wrong kind of unit"),
}


@pytest.mark.parametrize(("sections", "message"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_or_missing(network: ReactionNetwork, sections: dict, message: str) -> None:
    with pytest.raises(CaseError) as caught:
        BoxRun(network, conditions(**sections))
    assert message in str(caught.value)


ZERO = "#DEFVAR\nA = IGNORE; B = IGNORE;\n#DEFFIX\nM = IGNORE; H2O = 2H + O;\n#EQUATIONS\nA + M = B : 1e-25;\n"


@pytest.mark.parametrize("values", ["ALL_SPEC = 0;", "M = 0;", "ALL_SPEC = 0; A = 1e9;"])
def test_an_initial_value_of_no_air_counts_as_none(tmp_path: Path, values: str) -> None:
    """Many files have M = 0, which the programs of KPP overwrite; here it would cause a division by zero."""
    (tmp_path / "zero.eqn").write_text(f"{ZERO}#INITVALUES {values}\n", encoding="utf-8")
    network = load_mechanism(tmp_path / "zero.eqn")
    given = {"time": {"length": "1 h"}, "initial": {"A": "1e9 molecules/cm3"}}
    with pytest.raises(CaseError) as caught:
        BoxRun(network, BoxConditions.from_dict(given))
    assert "do not give: environment.pressure or fixed.M\n(the initial value 0 of M" in str(caught.value)
    given["environment"] = {"temperature": "250 K", "pressure": "10 hPa"}
    assert BoxForcing(BoxConditions.from_dict(given), network).at([0.0])["M"].item() > 1e17


def test_conditions_go_before_the_formulas_of_a_side_file() -> None:
    chapman = load_mechanism("chapman")
    data = {
        "time": {"length": "1 h"},
        "environment": {"temperature": "250 K", "pressure": "3 hPa"},
        "initial": {"O3": "8 ppm"},
    }
    own = BoxForcing(BoxConditions.from_dict(data), chapman)
    assert not own.network.parameters
    given = BoxForcing(BoxConditions.from_dict(data | {"rates": {"j_o3": "1e-3 1/s"}}), chapman)
    assert [each.name for each in given.network.parameters] == ["j_O3"]


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_light_of_a_place_is_followed_through_dusk_and_dawn(tmp_path: Path) -> None:
    """Photolysis from secant and daylight over a day with changing air: dA/dt = -a exp(-b sec z) A."""
    (tmp_path / "light.def").write_text(
        "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<1> A + hv = B : PHOTO(1e-4, 0.3);\n", encoding="utf-8"
    )
    network = load_mechanism(tmp_path / "light.def")
    for date in ("2022-03-01", "2022-08-31", "2023-12-21"):
        location = {"lat": 50, "lon": 14, "date": date}
        given = {
            "time": {"length": "24 h", "output_every": "15 min"},
            "environment": {"temperature": "290 + 5*sin(t/8000)", "pressure": "1000 hPa", "location": location},
            "initial": {"A": "1 ppb"},
            "solver": {"relative_tolerance": 1e-8},
        }
        run = BoxRun(network, BoxConditions.from_dict(given))
        series = run.run()
        assert run.model.notes == []
        times = np.linspace(0.0, 86400.0, 200_001)
        light = run.model.forcing.at(times)
        rate = 1e-4 * light["daylight"][0] * np.exp(-0.3 * light["sec_zenith"][0])
        integral = float(np.sum(0.5 * (rate[1:] + rate[:-1])) * 86400.0 / 200_000)
        assert float(series["A"][-1] / series["M"][-1]) == pytest.approx(1e-9 * np.exp(-integral), rel=1e-7)


def test_names_with_dots_need_no_quotes(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[time]\nlength = "1 h"\n[rates]\nPHOTO.jNO2 = "8e-3 1/s"\n"USER.k" = "1"\n', encoding="utf-8")
    assert list(BoxConditions.load(path).rates) == ["PHOTO.jNO2", "USER.k"]


def test_functions_in_python(tmp_path: Path) -> None:
    """They are computed from the air of the box at every time; conditions take precedence."""
    path = write_toy(tmp_path)
    (tmp_path / "light.py").write_text("def j(TEMP):\n    return 1e-6*(TEMP - 200)\n", encoding="utf-8")
    (tmp_path / "boxes.rates.toml").write_text('j_A = { python = "light.py:j" }\n', encoding="utf-8")
    network = load_mechanism(path, allow_code=True)
    given = {"rates": {"k_AX": "0 cm3/s", "k_grow": "0 cm3/s"}, "environment": {"temperature": "300 + t/60"}}
    series = box(network, conditions(**given, solver={"relative_tolerance": 1e-8}))
    integral = 1e-6 * (100.0 * 3600.0 + 3600.0**2 / 120.0)
    assert float(series["A"][-1]) == pytest.approx(1e9 * np.exp(-integral), rel=1e-7)
    given["rates"]["j_A"] = "0 1/s"
    assert float(box(network, conditions(**given))["A"][-1]) == 1e9

"""Air with constant values in a mechanism file, and species with the names of air."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.constants import BOLTZMANN
from airshed.core.errors import CaseError, MechanismError
from airshed.mechanism import ReactionNetwork, load_mechanism, rates
from airshed.mechanism.file_air import notes_of_air, own_density
from airshed.mechanism.structure import findings
from airshed.models.air.species_map.fit import air_notes, bind_rates
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.forcing import BoxForcing

SEA_LEVEL = 2.4476e19
ALOFT = 3e4 * 1e-6 / (BOLTZMANN * 250.0)
"""Air at 300 hPa and 250 K [molecules cm-3]."""

SAPRC = """
#DEFVAR
O3P = O; O3 = 3O; NO3 = N + 3O; NO2 = N + 2O;
#DEFFIX
AIR = IGNORE; O2 = 2O; CH4 = C + 4H;
#EQUATIONS
<1> O3P + O2 + AIR = O3 : ARR_ac(5.68e-34, -2.80);
<2> O3 + hv = O3P : 4e-4;
<3> O3P + NO2 = NO3 : FALL(9e-32, 0, -2, 2.2e-11, 0, 0, 0.8);
<4> O3P + CH4 = PROD : 1e-14;
#INITVALUES
CFACTOR = 2.4476e13;
O3 = 0.04; O2 = 2.09e5; AIR = 1e6; CH4 = 1.0;
"""
"""Small mechanism with the names and units of SAPRC-99 in KPP."""


def network_of(text: str, folder: Path) -> ReactionNetwork:
    (folder / "m.def").write_text(text)
    return load_mechanism(folder / "m.def")


def box(network: ReactionNetwork, **environment: str) -> BoxForcing:
    data: dict[str, Any] = {"time": {"length": "1 h", "output_every": "1 h"}, "environment": environment}
    return BoxForcing(BoxConditions.from_dict(data), network)


def constants(forcing: BoxForcing) -> list[float]:
    values = forcing.at([0.0])
    known = {"TEMP": values["T"], **values} | {each.name: values[each.name] for each in forcing.network.parameters}
    return [float(value) for value in rates(forcing.network, known)[:, 0, 0]]


def troe(density: float, temperature: float) -> float:
    low, high = 9e-32 * (temperature / 300.0) ** -2.0 * density, 2.2e-11
    return float(low / (1.0 + low / high) * 0.8 ** (1.0 / (1.0 + np.log10(low / high) ** 2)))


def test_rates_take_the_air_of_the_run(tmp_path: Path) -> None:
    forcing = box(network_of(SAPRC, tmp_path), temperature="250 K", pressure="300 hPa")
    k = constants(forcing)
    third = 5.68e-34 * (250.0 / 300.0) ** -2.8
    assert k[0] == pytest.approx(third * ALOFT * 0.2095 * ALOFT, rel=1e-3)
    assert k[2] == pytest.approx(troe(ALOFT, 250.0), rel=1e-10)
    assert k[2] != pytest.approx(troe(SEA_LEVEL, 250.0), rel=0.1), "the check distinguishes both values of air"
    told = " ".join(notes_of_air(forcing.network, forcing.at([0.0])))
    assert "AIR of the mechanism's file, 2.4476e+19 molecules/cm3, is not the air of this run" in told
    assert "rates take M, 8.69" in told
    assert "CFACTOR of the mechanism's file, 2.4476e+19" in told


def test_a_box_without_pressure_has_the_air_of_the_file(tmp_path: Path) -> None:
    forcing = box(network_of(SAPRC, tmp_path), temperature="300 K")
    k = constants(forcing)
    assert k[0] == pytest.approx(5.68e-34 * SEA_LEVEL * 2.09e5 * 2.4476e13)
    assert k[2] == pytest.approx(troe(SEA_LEVEL, 300.0), rel=1e-10)
    assert notes_of_air(forcing.network, forcing.at([0.0])) == []
    factor_alone = SAPRC.replace(" + AIR", "").replace("AIR = IGNORE; ", "").replace(" AIR = 1e6;", "")
    k = constants(box(network_of(factor_alone, tmp_path), temperature="300 K"))
    assert k[2] == pytest.approx(troe(SEA_LEVEL, 300.0), rel=1e-10)


def test_conditions_may_call_the_air_as_the_file_does(tmp_path: Path) -> None:
    network = network_of(SAPRC, tmp_path)
    data = {"time": {"length": "1 h", "output_every": "1 h"}, "environment": {"temperature": "250 K"}}
    forcing = BoxForcing(BoxConditions.from_dict({**data, "fixed": {"AIR": f"{ALOFT!r} molecules/cm3"}}), network)
    assert constants(forcing)[2] == pytest.approx(troe(ALOFT, 250.0), rel=1e-10)


def test_water_of_the_file_in_other_air_is_told(tmp_path: Path) -> None:
    text = SAPRC.replace("AIR = IGNORE;", "AIR = IGNORE; H2O = 2H + O;").replace("AIR = 1e6;", "AIR = 1e6; H2O = 2e4;")
    network = network_of(text.replace("<4>", "<5> O3 + H2O = PROD : 1e-20;\n<4>"), tmp_path)
    forcing = box(network, temperature="250 K", pressure="300 hPa")
    told = " ".join(notes_of_air(network, forcing.at([0.0])))
    assert "H2O is 4.8952e+17 molecules/cm3, as in the mechanism's file, whose air is 2.4476e+19" in told
    humid = box(network, temperature="250 K", pressure="300 hPa", humidity="50 %")
    assert "H2O is " not in " ".join(notes_of_air(network, humid.at([0.0])))


def test_an_m_of_all_species_is_no_air_where_the_factor_is_that_of_air(tmp_path: Path) -> None:
    """In CBM-IV of KPP, CFACTOR is the molecules of a ppb, and M has the value of all species."""
    text = """#DEFVAR O3P = O; NO2 = N + 2O; NO3 = N + 3O;
#DEFFIX M = IGNORE;
#EQUATIONS
<1> O3P + NO2 = NO3 : FALL(9e-32, 0, -2, 2.2e-11, 0, 0, 0.8);
#INITVALUES CFACTOR = 2.55e10; ALL_SPEC = 1e-8;
"""
    network = network_of(text, tmp_path)
    assert network.initial["M"] == 255.0
    assert constants(box(network, temperature="300 K"))[0] == pytest.approx(troe(2.55e19, 300.0), rel=1e-10)
    assert constants(box(network, temperature="250 K", pressure="300 hPa"))[0] == pytest.approx(troe(ALOFT, 250.0))


def test_a_side_file_comes_first(tmp_path: Path) -> None:
    (tmp_path / "m.rates.toml").write_text('AIR = "0.5*M"\n')
    k = constants(box(network_of(SAPRC, tmp_path), temperature="250 K", pressure="300 hPa"))
    third = 5.68e-34 * (250.0 / 300.0) ** -2.8
    assert k[0] == pytest.approx(0.5 * third * ALOFT * 0.2095 * ALOFT, rel=1e-3)


def test_check_and_the_summary_say_so(tmp_path: Path) -> None:
    network = network_of(SAPRC, tmp_path)
    told = {each.subject: each.text for each in findings(network) if each.kind == "air"}
    assert set(told) == {"AIR", "O2", "CFACTOR"}
    assert told["AIR"] == "is 2.448e+19 molecules/cm3 in the file; rates take M of the air of the run"
    notes = air_notes(network)
    assert "AIR (2.448e+19 molecules/cm3)" in notes[0]
    assert "CFACTOR" in notes[0]
    assert "fixed species CH4: the file's concentration is a mixing ratio" in notes[1]
    assert air_notes(load_mechanism("emep")) == []


def test_in_3d_a_fixed_species_keeps_its_mixing_ratio(tmp_path: Path) -> None:
    bound = bind_rates(network_of(SAPRC, tmp_path), {}, "x.toml")
    assert bound.parameters == ()
    air = {"TEMP": 250.0, "M": ALOFT, "O2": 0.2095 * ALOFT}
    assert float(rates(bound, air)[3]) == pytest.approx(1e-14 * 1e-6 * ALOFT)


@pytest.mark.parametrize("factor", [1e6, 1e16])
def test_a_factor_of_no_air_in_a_rate_is_refused(factor: float, tmp_path: Path) -> None:
    text = f"#DEFVAR A = IGNORE;\n#EQUATIONS\nA = PROD : 1e-10*CFACTOR;\n#INITVALUES CFACTOR = {factor!r};"
    with pytest.raises(MechanismError, match=r":3:1[0-9]?: CFACTOR = 1e\+\d\d is not the molecules cm-3 of 1 ppb"):
        network_of(text, tmp_path)


@pytest.mark.parametrize(("factor", "part"), [(2.5e19, 1.0), (2.5e13, 1e-6), (2.5e10, 1e-9)])
def test_a_factor_in_a_rate_follows_the_air(factor: float, part: float, tmp_path: Path) -> None:
    text = f"#DEFVAR A = IGNORE;\n#EQUATIONS\nA = PROD : 3*CFACTOR;\n#INITVALUES CFACTOR = {factor!r};"
    network = network_of(text, tmp_path)
    assert float(rates(network, {"M": ALOFT})[0]) == pytest.approx(3.0 * part * ALOFT)
    assert own_density(network) == pytest.approx(2.5e19)


def test_an_air_that_is_none_stays_and_is_refused_in_3d(tmp_path: Path) -> None:
    network = network_of(SAPRC.replace("CFACTOR = 2.4476e13;", ""), tmp_path)
    forcing = box(network, temperature="250 K", pressure="300 hPa")
    assert "AIR of the mechanism's file, 1e+06, is not a density of air; it is used unchanged" in notes_of_air(
        forcing.network, forcing.at([0.0])
    )
    assert ("AIR", "is 1e+06, which is no density of air: it stays so in all air") in [
        (each.subject, each.text) for each in findings(network) if each.kind == "air"
    ]
    with pytest.raises(CaseError, match=r'AIR = 1e\+06 of mechanism m is not a density .* AIR = "M" under \[rates\]'):
        bind_rates(network, {}, "x.toml")
    assert bind_rates(network, {"AIR": "M"}, "x.toml").parameters != network.parameters


@pytest.mark.parametrize("name", ["H2O", "O2", "N2", "M", "T", "TEMP", "PRESS", "SUN", "CAIR"])
@pytest.mark.parametrize(
    "form", ["1e-22*C(ind_{})", "1e-22*{}", "exp(-{}/1e30)", "k_3rd(300, {}, 1e-30, 0, 1e-11, 0, 0.6)"]
)
def test_a_variable_species_called_as_the_air_is_refused_in_a_rate(name: str, form: str, tmp_path: Path) -> None:
    text = f"#DEFVAR A = IGNORE; {name} = IGNORE;\n#EQUATIONS\nA = PROD : {form.format(name)};\n"
    with pytest.raises(
        MechanismError, match=f":3:\\d+: a rate cannot depend on {name}, a variable species.*; if .* is meant"
    ):
        network_of(text, tmp_path)
    fixed = text.replace(f" {name} = IGNORE;\n", f"\n#DEFFIX {name} = IGNORE;\n")
    if name not in ("T", "TEMP", "PRESS", "SUN"):
        assert network_of(fixed, tmp_path).names == ("A",)


def test_a_variable_species_called_as_the_air_may_react(tmp_path: Path) -> None:
    network = network_of("#DEFVAR A = IGNORE; H2O = 2H + O;\n#EQUATIONS\nA + H2O = PROD : 1e-22*TEMP;\n", tmp_path)
    assert network.reactant_indices == ((0, 1),)


@pytest.mark.parametrize("value", [255.0, 1.0])
def test_an_air_that_no_rate_uses_is_not_looked_at(value: float, tmp_path: Path) -> None:
    """CBM-IV of KPP declares M with the value of ALL_SPEC, but no rate uses it."""
    head = f"#DEFVAR A = IGNORE;\n#DEFFIX M = IGNORE; H2O = IGNORE;\n#INITVALUES ALL_SPEC = {value!r};\n#EQUATIONS\n"
    forcing = box(network_of(f"{head}A = PROD : 1e-4;\n", tmp_path), temperature="298 K")
    assert "M" not in forcing.at([0.0])
    used = box(network_of(f"{head}A + M = PROD : 1e-22;\n", tmp_path), temperature="298 K")
    with pytest.raises(CaseError, match=rf"M = '{value!r}' is {value:g} at t = 0 s; it must be 1e\+09 to 1e\+22"):
        used.at([0.0])


IN_CODE = """#DEFVAR A = IGNORE; B = IGNORE;
#DEFFIX CH4 = IGNORE;
#EQUATIONS
<1> A = B : 1e-21*M;
<2> A + CH4 = B : 1e-15*EXP(-100/TEMP);
#INITVALUES CH4 = 4e13;
#INLINE F90_{}
{}
#ENDINLINE
"""
"""Air that inlined code of the file sets; the drivers of KPP run this code, Airshed does not."""


@pytest.mark.parametrize(
    ("code", "air", "species"),
    [
        (" M = 1.0e18\n TEMP = 200", ["TEMP", "M"], []),
        (" SUN = 0.5; O2 = 0.2*M; TEMP = 200 ! M = 3", ["TEMP"], []),
        ("  double CAIR = 2e19;\n  T = 288.; // M = 1;", ["T", "CAIR"], []),
        (" REAL(dp), PARAMETER :: TEMP = 298.15_dp", ["TEMP"], []),
        (" C(ind_CH4) = 1.8e-6*CAIR0\n C(indf_M) = 2e19\n VAR(ind_A) = 1e9", ["M"], ["A", "CH4"]),
        (" REAL(dp) :: M, TEMP\n IF (TEMP == 3) K = 1", [], []),
    ],
)
def test_air_that_inlined_code_sets_is_told(code: str, air: list[str], species: list[str], tmp_path: Path) -> None:
    network = network_of(IN_CODE.format("INIT", code), tmp_path)
    forcing = box(network, temperature="250 K", pressure="300 hPa")
    assert constants(forcing)[0] == pytest.approx(1e-21 * ALOFT, rel=1e-10), "it is that of the run"
    expected = [f"{', '.join(air)} of inlined code of the mechanism's file: not used, rates take the air of the run"]
    other = [f"concentrations of {', '.join(species)} of inlined code of the mechanism's file: not used"]
    told = expected * bool(air) + other * bool(species)
    assert [note for note in notes_of_air(network, forcing.at([0.0])) if "inlined" in note] == told
    assert [note for note in air_notes(network) if "inlined" in note] == told
    found = [(each.kind, each.subject) for each in findings(network) if "inlined" in each.text]
    assert found == [("air", name) for name in air] + [("code", name) for name in species]


def test_a_name_within_a_function_is_not_the_air(tmp_path: Path) -> None:
    """CRI of WRF-Chem has m = 0.3, an exponent, in a separate function."""
    code = " REAL FUNCTION k_x(temp, cair)\n  m = 0.3_dp\n  TEMP = 3\n END FUNCTION"
    assert network_of(IN_CODE.format("RATES", code), tmp_path).in_code == ()
    assert network_of(IN_CODE.format("INIT", code), tmp_path).in_code == ("TEMP", "M"), "the check detects it"

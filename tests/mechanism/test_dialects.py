"""Mechanisms in practice: functions of other models, small faults of syntax, other languages."""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from airshed.cli.program import app
from airshed.core.errors import MechanismError
from airshed.mechanism import load_mechanism, rates, tendency
from airshed.mechanism.describe import convert, write_rates
from airshed.mechanism.kpp.rate_functions import GEOS_CHEM, WRF_CHEM, MissingFormulasError
from airshed.mechanism.structure import differences

AIR = {"TEMP": 280.0, "M": 2e19, "O2": 4e18, "N2": 1.6e19, "H2O": 1e17, "PRESS": 8e4, "SUN": 0.5}
HEAD = "#DEFVAR\nO3 = 3O; NO = N + O; NO2 = N + 2O;\n#EQUATIONS\n"


def written(folder: Path, text: str, name: str = "m.def") -> Path:
    path = folder / name
    path.write_text(text)
    return path


WRF = HEAD + "".join(
    [
        "NO + O3 = NO2 : ARR2(1.8D-12, 1370.0_dp, TEMP);\n" * 30,
        "O3 + NO2 = NO : TROE(9e-32, 1.5, 3e-11, 0.0, TEMP, C_M);\n",
        "NO2 = NO + O3 : j(Pj_no2);\nNO = NO2 : k46(TEMP, C_M);\n",
    ]
)


def test_functions_of_wrf_chem_are_one_message(tmp_path: Path) -> None:
    path = written(tmp_path, WRF)
    with pytest.raises(MissingFormulasError) as caught:
        load_mechanism(path)
    text = str(caught.value)
    assert text.count("ARR2(1.8e-12") == 1
    assert "'ARR2(1.8e-12, 1370.0, TEMP)' in <R1> at 4:17 and 29 more" in text
    assert "ARR2(a, b, t) is a*exp(-b/t) there; KPP's ARR2(a, b), a*exp(+b/TEMP), is another" in text
    assert f"`airshed mechanism check {path} --write-rates`" in text
    assert len(text) < 1200, "a message that is longer is cut"


def test_the_side_file_that_is_offered_is_all_it_takes(tmp_path: Path) -> None:
    path = written(tmp_path, WRF.replace("NO = NO2 : k46(TEMP, C_M);\n", ""))
    report = write_rates(str(path))
    assert not report.ok
    side = tmp_path / "m.rates.toml"
    assert tomllib.loads(side.read_text())["ARR2(a, b, t)"] == "a*exp(-b/t)"
    assert tomllib.loads(side.read_text())["C_M"] == "M"
    network = load_mechanism(path)
    assert [each.name for each in network.open_parameters] == ["j(Pj_no2)"]
    k = rates(network.bind({"j(Pj_no2)": 1.0}), AIR)
    assert float(k[0]) == pytest.approx(1.8e-12 * 2.718281828459045 ** (-1370.0 / 280.0)), "the sign of WRF-Chem"
    low, high = 9e-32 * (300 / 280) ** 1.5 * 2e19, 3e-11
    from math import log10

    assert float(k[30]) == pytest.approx(low / (1 + low / high) * 0.6 ** (1 / (1 + log10(low / high) ** 2)))
    assert write_rates(str(path)).ok


def test_unknown_functions_are_questions_of_the_side_file(tmp_path: Path) -> None:
    path = written(tmp_path, WRF)
    (tmp_path / "m.rates.toml").write_text('"ARR2(a, b, t)" = "a*exp(-b/t)"\n')
    result = CliRunner().invoke(app, ["mechanism", "check", str(path), "--write-rates"])
    assert result.exit_code == 1
    text = (tmp_path / "m.rates.toml").read_text()
    assert text.startswith('"ARR2(a, b, t)" = '), "existing text is unchanged"
    assert text.count('"ARR2(') == 1
    assert '#? "k46(a1, a2)" =   # 1 reaction, first <R33>: k46(TEMP, C_M)' in text
    assert '#? "j(Pj_no2)" =' in text


@pytest.mark.parametrize("dialect", [WRF_CHEM, GEOS_CHEM], ids=["WRF-Chem", "GEOS-Chem"])
def test_each_known_function_can_be_read(dialect, tmp_path: Path) -> None:
    calls = [
        signature.partition("(")[0] + "(" + ", ".join(
            "TEMP" if name.strip(") ") == "t" else "M" if name.strip(") ") == "air" else "0.5"
            for name in signature.partition("(")[2].split(",")
        ) + ")"
        for signature in dialect.functions
    ]  # fmt: skip
    path = written(tmp_path, HEAD + "".join(f"NO + O3 = NO2 : {call};\n" for call in calls))
    write_rates(str(path))
    assert (rates(load_mechanism(path), AIR) > 0.0).all()


def test_kpps_own_functions_with_a_wrong_number_of_arguments_are_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + "NO + O3 = NO2 : ARR(1, 2);\n" * 40 + "NO = NO2 : XX3;\nNO = XX : 1;\n" * 2)
    with pytest.raises(MechanismError) as caught:
        load_mechanism(path)
    first, second = str(caught.value).splitlines()
    assert first.endswith(":4:17: ARR takes 3 arguments, (a, b, c), not 2 (40 places, this is the first)")
    assert "species 'XX' is not declared" in second
    assert second.endswith("(2 places, this is the first)")


def test_variable_species_in_rates_are_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + "NO = NO2 : 1e-10*C(ind_O3);\nNO2 = NO : O3*NO;\nO3 = NO : C(ind_NO2);\n")
    with pytest.raises(MechanismError, match=r"cannot depend on O3, .*\(3 places of NO2 too, this is the first\)$"):
        load_mechanism(path)


GEOS = """#DEFVAR
A = IGNORE; B = IGNORE; C = IGNORE;
#EQUATIONS
A = B : 1e-4; {2020; first source},{2021; second source}
B = C : UP(1.0, .FALSE.);
C = A : UP(2.0, .true.); {2020},{2021}
A + B = : 3e-10;
A + C = B + -0.11 A - - 0.5 C : 1e-12;
"""


def test_syntax_that_kpp_passes_over(tmp_path: Path) -> None:
    (tmp_path / "m.rates.toml").write_text('"UP(a, b)" = "a*(1 + b)"\n')
    network = load_mechanism(written(tmp_path, GEOS))
    assert rates(network, AIR).tolist() == [1e-4, 1.0, 4.0, 3e-10, 1e-12]
    assert network.reactions[3].products == ()
    assert network.net_stoichiometry[3] == ((0, -1.0), (1, -1.0))
    assert network.reactions[4].products == (("B", 1.0), ("A", -0.11), ("C", 0.5))


def test_a_comma_within_an_equation_stays_a_fault(tmp_path: Path) -> None:
    with pytest.raises(MechanismError, match=r":4:3: expected '\+', '-' or '=', but ',' follows|:4:3: expected"):
        load_mechanism(written(tmp_path, HEAD + "NO, O3 = NO2 : 1;"))


@pytest.mark.parametrize("form", ["C(ind_X)", "VAR(ind_X)", "FIX(indf_X)", "conc(IND_X)"])
def test_a_concentration_is_that_of_a_declared_species(form: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"#DEFVAR A = IGNORE;\n#DEFFIX CH4 = IGNORE;\n#EQUATIONS\nA = PROD : 2*{form};\n")
    with pytest.raises(MechanismError, match=r":4:14: species 'X' of C\(ind_X\) is not declared"):
        load_mechanism(path)
    path.write_text(path.read_text().replace("_X", "_CH4"))
    assert [each.name for each in load_mechanism(path).parameters] == ["CH4"]


LOST = """#INLINE F90_GLOBAL
 REAL(dp) :: M
{end}
#DEFVAR
A = IGNORE; B = IGNORE;
#EQUATIONS
<1> A = B : 1e-4;
#INLINE F90_RCONST
 X = 1
#ENDINLINE
"""


@pytest.mark.parametrize("slip", ["#ENDLINE", "#END", "# EndInlin", "#ENDINLINES"])
def test_a_misspelt_end_of_inlined_code(slip: str, tmp_path: Path) -> None:
    with pytest.raises(MechanismError) as caught:
        load_mechanism(written(tmp_path, LOST.format(end=slip)))
    assert ":1:1: the #INLINE of line 1 has no #ENDINLINE before the #DEFVAR of line 4" in str(caught.value)
    assert f"; is {slip} in line 3 meant so?" in str(caught.value)
    assert load_mechanism(written(tmp_path, LOST.format(end="#ENDINLINE"))).names == ("A", "B")


def test_inlined_code_without_any_end(tmp_path: Path) -> None:
    text = "#DEFVAR A = IGNORE;\n#INLINE C_INIT\n#include <math.h>\n#ifdef X\n"
    with pytest.raises(MechanismError, match=r":2:1: the #INLINE of line 2 has no #ENDINLINE$"):
        load_mechanism(written(tmp_path, text))
    assert load_mechanism(written(tmp_path, text + "#endif\n#ENDINLINE\n")).names == ("A",)


OTHERS = {
    "m.eqn": ("KRO2NO = 2.7D-12*EXP(360/TEMP) ;\n% KRO2NO : CH3O2 + NO = HCHO + NO2 ;\n", "FACSIMILE"),
    "m.def": ("tiny\nREACTIONS[CM] =\n<R1> NO2 = NO + O3P # 1.0/<NO2_IUPAC10>;\nEND MECH\n", "CMAQ's mech.def"),
    "m.in": ("SPECIES\n Solution\n  O3, NO\n End Solution\nEnd SPECIES\n", "MOZART's and CAM's .in"),
    "m.m": ("SpeciesToAdd = {'O3';'NO'}; AddSpecies\ni=i+1; Rnames{i} = 'NO + O3 = NO2';\n", "F0AM's .m"),
    "m.yaml": ("phases:\n- {name: gas, thermo: ideal-gas}\nreactions:\n- equation: NO + O3 => NO2\n", "Cantera's YAML"),
    "m.inp": ("ELEMENTS\nN O\nEND\nSPECIES\nNO O3\nEND\nREACTIONS\nNO+O3=NO2 1 0 0\nEND\n", "CHEMKIN"),
    "m.eqn.txt": ("{1} NO + O3 = NO2 : 1.8D-12*EXP(-1370/TEMP) ;\n{2} NO2 = NO : 1 ;\n", "PyBox"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_languages_are_named_in_one_line(name: str, tmp_path: Path) -> None:
    text, language = OTHERS[name]
    with pytest.raises(MechanismError) as caught:
        load_mechanism(written(tmp_path, text, name))
    assert str(caught.value).startswith(f"{tmp_path / name}: this appears to be ")
    assert language in str(caught.value)
    assert "which is not supported; " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_our_own_languages_are_not_taken_for_others(tmp_path: Path) -> None:
    kpp = "// % k : A + B = C ;\n{REACTIONS[CM] =\nSPECIES\nSolution}\n" + HEAD + "<1> NO + O3 = NO2 : 1e-14;\n"
    assert len(load_mechanism(written(tmp_path, kpp)).reactions) == 1
    yaml = (
        "version: 1.0.0\nname: t\nspecies:\n- name: A\nphases:\n- name: gas\n  species:\n  - name: A\nreactions: []\n"
    )
    assert load_mechanism(written(tmp_path, yaml, "t.yaml")).names == ("A",)


MECHANISM = {
    "version": "1.0.0", "name": "tiny", "species": [{"name": "A"}, {"name": "B"}],
    "phases": [{"name": "gas", "species": [{"name": "A"}, {"name": "B"}]}],
    "reactions": [{"type": "ARRHENIUS", "A": 1e-4, "gas phase": "gas", "reactants": [{"species name": "A"}],
                   "products": [{"species name": "B"}]}],
}  # fmt: skip


def test_the_mechanism_of_a_musicbox_file_is_read(tmp_path: Path) -> None:
    box = {"box model options": {"grid": "box"}, "conditions": {"filepaths": ["init.csv"]}, "mechanism": MECHANISM}
    network = load_mechanism(written(tmp_path, json.dumps(box), "box.json"))
    assert network.names == ("A", "B")
    assert float(rates(network, AIR)[0]) == 1e-4
    written(tmp_path, json.dumps(MECHANISM), "inner.json")
    other = load_mechanism(written(tmp_path, json.dumps({**box, "mechanism": "inner.json"}), "other.json"))
    assert other.names == ("A", "B")
    with pytest.raises(MechanismError, match=r"there is no file 'innr\.json' next to third\.json; did you mean"):
        load_mechanism(written(tmp_path, json.dumps({**box, "mechanism": "innr.json"}), "third.json"))
    with pytest.raises(MechanismError, match=r"/mechanism: expected a mechanism: an object"):
        load_mechanism(written(tmp_path, json.dumps({**box, "mechanism": 3}), "fourth.json"))


@pytest.mark.parametrize("output", ["o.json", "o.yaml", "o.eqn"])
@pytest.mark.parametrize("value", ['"M"', '"0.5*M"', "3e19", '"1e18*TEMP/300"'])
def test_values_of_a_side_file_are_converted(output: str, value: str, tmp_path: Path) -> None:
    text = (
        "#DEFVAR O3P = O; O3 = 3O;\n#DEFFIX M = IGNORE;\n#EQUATIONS\n<1> O3P + M = O3 : C_M*6e-34*(TEMP/300)**(-2.3);\n"
    )
    path = written(tmp_path, text)
    (tmp_path / "m.rates.toml").write_text(f"C_M = {value}\n")
    report = convert(str(path), tmp_path / output)
    assert report.ok, report.facts
    one, other = load_mechanism(path), load_mechanism(tmp_path / output)
    assert other.open_parameters == ()
    assert float(rates(other, AIR)[0]) == pytest.approx(float(rates(one, AIR)[0]), rel=1e-14)


CONCENTRATIONS = """#DEFVAR
A = IGNORE; B = IGNORE; X = IGNORE; Y = IGNORE;
#EQUATIONS
<1> A = B : peroxy(1, X, C(ind_Y), TEMP);
<2> X = B : peroxy(2, X, C(ind_Y), TEMP);
<3> A = B : uptake(C(ind_X), 2.0);
"""
"""A rate function of CBM-Z in WRF-Chem takes concentrations, and so does one of GEOS-Chem for iodine."""


def test_a_function_of_concentrations_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, CONCENTRATIONS)
    with pytest.raises(MissingFormulasError) as caught:
        load_mechanism(path)
    text = str(caught.value)
    assert "'peroxy(1.0, X, Y, TEMP)' in <1> at 4:13 and 1 more" in text
    assert "peroxy, uptake: takes concentrations of species, which its formula may have as factors only" in text
    write_rates(str(path))
    assert "concentrations may occur in it as factors only" in (tmp_path / "m.rates.toml").read_text()


def test_concentrations_as_factors_become_reactants(tmp_path: Path) -> None:
    (tmp_path / "m.rates.toml").write_text(
        '"peroxy(n, x, y, t)" = "max(0, 2 - n)*(1e-13*x + 2e-13*exp(-t/100)*y + 1e-3) + max(0, n - 1)*3e-13*x*y"\n'
        '"uptake(c, gamma)" = "1e-3*gamma"\n'
    )
    network = load_mechanism(written(tmp_path, CONCENTRATIONS))
    k = [float(each) for each in rates(network, AIR)]
    found = {
        reaction.label: reactants
        for reaction, reactants in zip(network.reactions, network.reactant_indices, strict=True)
    }
    assert found == {"1": (0, 2), "1_2": (0, 3), "1_3": (0,), "2": (2, 2, 3), "3": (0,)}
    assert k == pytest.approx([1e-13, 2e-13 * math.exp(-2.8), 1e-3, 3e-13, 2e-3])
    y = np.array([3e9, 0.0, 5e8, 7e8])
    first = (1e-13 * y[2] + k[1] * y[3] + 1e-3 + 2e-3) * y[0]
    second = 3e-13 * y[2] * y[3] * y[2]
    assert tendency(network, rates(network, AIR), y) == pytest.approx([-first, first + second, -second, 0.0])


def test_concentrations_elsewhere_in_a_formula_are_refused_once(tmp_path: Path) -> None:
    (tmp_path / "m.rates.toml").write_text('"peroxy(n, x, y, t)" = "n*exp(-x)/t"\n"uptake(c, gamma)" = "gamma"\n')
    with pytest.raises(MechanismError) as caught:
        load_mechanism(written(tmp_path, CONCENTRATIONS))
    assert str(caught.value).endswith(
        "m.def:4:1: a rate cannot depend on X, a variable species, in another way than by a factor; write the function "
        "that takes it so, or without it (2 places, this is the first)"
    )


def test_a_musicbox_file_of_the_older_form_names_its_mechanism(tmp_path: Path) -> None:
    content = {"conditions": {}, "model components": [{"type": "CAMP", "configuration file": "camp_data/config.json"}]}
    with pytest.raises(MechanismError, match=r"older form: give the mechanism that it names, 'camp_data/config\.json'"):
        load_mechanism(written(tmp_path, json.dumps(content), "my_config.json"))


def test_a_long_list_of_faults_ends_with_whole_lines(tmp_path: Path) -> None:
    text = HEAD + "".join(f"<{n}> NO = {name} : 1;\n" for n, name in enumerate("ABCDEFGHIJKLMNOP"))
    with pytest.raises(MechanismError) as caught:
        load_mechanism(written(tmp_path, text))
    lines = str(caught.value).splitlines()
    assert all(line.endswith("is not declared") or "did you mean" in line for line in lines[:-1])
    assert lines[-1] == f"and {16 - len(lines) + 1} more"
    assert len(str(caught.value)) < 1200, "longer texts are shortened"


def test_a_text_among_arguments_is_part_of_the_name(tmp_path: Path) -> None:
    """As GC_RO2NO('B', ...) of GEOS-Chem v11, whose text chooses the branch."""
    path = written(
        tmp_path, HEAD + "NO + O3 = NO2 : GC_RO2NO('B', 2.7E-12, 350.0);\nNO = NO2 : GC_RO2NO('A', 2.7E-12, 350.0);\n"
    )
    with pytest.raises(MissingFormulasError, match=r"'GC_RO2NO_B\(2\.7e-12, 350\.0\)' in <R1>.*'GC_RO2NO_A\("):
        load_mechanism(path)
    (tmp_path / "m.rates.toml").write_text('"GC_RO2NO_B(a, c)" = "a*exp(c/TEMP)*0.9"\n"GC_RO2NO_A(a, c)" = "a"\n')
    assert rates(load_mechanism(path), AIR) == pytest.approx([2.7e-12 * math.exp(350 / 280) * 0.9, 2.7e-12])


def test_charges_of_ions_are_atoms_without_a_weight(tmp_path: Path) -> None:
    network = load_mechanism(written(tmp_path, "#DEFVAR\nO2p = 2O + Pls; em = Min; Rn = Rn;\n"))
    assert dict(network.species[0].atoms) == {"O": 2, "Pls": 1}
    assert network.species[0].molar_mass is None


def test_values_of_code_that_is_not_read_are_asked_once(tmp_path: Path) -> None:
    code = "#INLINE F90_RCONST\n k_x = g(3)\n IF (a > b) k_x = 1\n k_x = 2\n#ENDINLINE\n"
    text = f"{HEAD}NO + O3 = NO2 : k_x*f(1., 2.);\nNO2 = NO : k_x + J_NO2;\n{code}"
    write_rates(str(written(tmp_path, text)))
    keys = [line.split("=")[0].strip("#? ") for line in (tmp_path / "m.rates.toml").read_text().splitlines()[1:]]
    assert sorted(keys) == ['"J_NO2"', '"f(a1, a2)"', '"k_x"']


def test_a_rate_that_is_written_otherwise_is_the_same(tmp_path: Path) -> None:
    """k_3rd of KPP has (300/T)^n, TROE of OpenAtmos (T/300)^-n."""
    rate = "k_3rd(TEMP, CAIR, 4.4e-32, 1.3, 4.7e-11, 0.2, 0.6)"
    path = written(tmp_path, HEAD + f"NO + O3 = NO2 : {rate};\n")
    assert convert(str(path), tmp_path / "out.json").ok
    one, other = (
        load_mechanism(path),
        load_mechanism(written(tmp_path, path.read_text().replace("1.3", "1.3001"), "n.def")),
    )
    assert differences(one, other) == ("reaction <R1>: rate",)

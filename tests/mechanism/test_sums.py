"""RO2 of the Master Chemical Mechanism: a sum of variable species in inlined code, represented as a species."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import airshed
from airshed.core.errors import CaseError, MechanismError
from airshed.inverse import box_sensitivity
from airshed.mechanism import ReactionNetwork, load_mechanism, rates, tendency
from airshed.mechanism.describe import convert
from airshed.mechanism.kpp.sums import sums_of
from airshed.mechanism.structure import findings
from airshed.models.air.assembly import assemble
from airshed.models.air.case import Case
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.forcing import BoxForcing

AIR = {"TEMP": 290.0, "PRESS": 1e5, "M": 2.4e19, "O2": 5e18, "N2": 1.9e19, "H2O": 1e17, "SUN": 0.5}
MEMBERS = ("CH3O2", "C2H5O2")
MCM = """
#DEFVAR
CH3O2 = IGNORE; C2H5O2 = IGNORE; HCHO = IGNORE; CH3CHO = IGNORE; NO = IGNORE; NO2 = IGNORE; OH = IGNORE;
#INLINE F90_RCONST
  ! Peroxy radicals
  RO2 = C(ind_CH3O2) + &
    C(ind_C2H5O2)
#ENDINLINE
#EQUATIONS
<1> OH = CH3O2 : 3e-3;
<2> OH = 0.7 C2H5O2 : 2e-3*exp(-10/TEMP);
<3> CH3O2 = HCHO : 2*1.03D-13*exp(365/TEMP)*0.4*RO2;
<4> C2H5O2 = CH3CHO + 0.2 CH3O2 : RO2*3.1e-13*(1 + 0.2);
<5> CH3O2 + NO = HCHO + NO2 : 7.7e-12;
<6> C2H5O2 + NO = NO2 + CH3CHO : 8.5e-12;
<7> HCHO = PROD : 1e-5 + 2e-16*RO2;
<8> C2H5O2 + C2H5O2 = CH3CHO : 1e-13;
#INITVALUES
CFACTOR = 1e8; CH3O2 = 2; C2H5O2 = 3; OH = 1000; NO = 100;
"""


def network_of(folder: Path, text: str = MCM) -> ReactionNetwork:
    (folder / "mcm.def").write_text(text)
    return load_mechanism(folder / "mcm.def")


def reference(names: tuple[str, ...], y: np.ndarray) -> np.ndarray:
    """Return the tendencies of the equations as written, with the sum itself."""
    c = dict(zip(names, y, strict=True))
    t, total = 290.0, c["CH3O2"] + c["C2H5O2"]
    v = [
        3e-3 * c["OH"],
        2e-3 * np.exp(-10 / t) * c["OH"],
        2 * 1.03e-13 * np.exp(365 / t) * 0.4 * total * c["CH3O2"],
        total * 3.1e-13 * 1.2 * c["C2H5O2"],
        7.7e-12 * c["CH3O2"] * c["NO"],
        8.5e-12 * c["C2H5O2"] * c["NO"],
        (1e-5 + 2e-16 * total) * c["HCHO"],
        1e-13 * c["C2H5O2"] ** 2,
    ]
    change = {
        "OH": -v[0] - v[1],
        "CH3O2": v[0] - v[2] + 0.2 * v[3] - v[4],
        "C2H5O2": 0.7 * v[1] - v[3] - v[5] - 2 * v[7],
        "HCHO": v[2] + v[4] - v[6],
        "CH3CHO": v[3] + v[5] + v[7],
        "NO": -v[4] - v[5],
        "NO2": v[4] + v[5],
    }
    return np.array([change[name] for name in names])


def test_the_equations_are_those_with_the_sum(tmp_path: Path) -> None:
    network = network_of(tmp_path)
    assert network.names[-1] == "RO2"
    assert dict(network.sums) == {"RO2": {"CH3O2": 1.0, "C2H5O2": 1.0}}
    k = rates(network, AIR)
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = 10 ** rng.uniform(6, 12, len(network.names))
        y[-1] = sum(y[network.index(name)] for name in MEMBERS)
        found = tendency(network, k, y)
        right = reference(network.names[:-1], y[:-1])
        np.testing.assert_allclose(found[:-1], right, rtol=1e-12, atol=1e-9 * np.abs(right).max())
        changes = sum(right[network.index(name)] for name in MEMBERS)
        assert found[-1] == pytest.approx(changes, rel=1e-9, abs=1e-9 * np.abs(right).max()), "RO2 follows its species"


@pytest.mark.standard
def test_an_hour_is_the_same_as_with_the_sum(tmp_path: Path) -> None:
    network = network_of(tmp_path)
    start = np.array([network.initial.get(name, 0.0) for name in network.names])
    assert start[-1] == 5e8, "its initial value is the sum of those of its species"
    k = rates(network, AIR)
    options = {"method": "Radau", "rtol": 1e-10, "atol": 1e-3}
    carried = solve_ivp(lambda t, y: tendency(network, k, y), (0, 3600), start, **options).y[:, -1]
    with_sum = solve_ivp(lambda t, y: reference(network.names[:-1], y), (0, 3600), start[:-1], **options).y[:, -1]
    np.testing.assert_allclose(carried[:-1], with_sum, rtol=5e-8, atol=1e-2)
    assert carried[-1] == pytest.approx(sum(carried[network.index(name)] for name in MEMBERS), rel=1e-8)


def test_a_box_begins_with_the_sum_of_what_its_conditions_give(tmp_path: Path) -> None:
    data = {
        "time": {"length": "1 h", "output_every": "1 h"},
        "environment": {"temperature": "290 K", "pressure": "1000 hPa"},
        "initial": {"CH3O2": "7e8 molecules/cm3"},
    }
    network = network_of(tmp_path)
    forcing = BoxForcing(BoxConditions.from_dict(data), network)
    assert forcing.start(0.0, forcing.at([0.0]))[network.index("RO2"), 0] == 7e8 + 3e8
    for section, name in (("emission", "C2H5O2"), ("deposition", "RO2")):
        unit = "molecules/cm3/s" if section == "emission" else "1/s"
        with pytest.raises(
            CaseError, match=f"emission or loss of {name}: only reactions can change RO2 of mcm, a sum of species"
        ):
            BoxForcing(BoxConditions.from_dict({**data, section: {name: f"1 {unit}"}}), network)


def test_a_case_in_three_dimensions_refuses_it(tmp_path: Path) -> None:
    network_of(tmp_path)
    case = Case.load("west-europe", [f"chemistry.mechanism={tmp_path / 'mcm.def'}", "grid.spacing=5 deg"])
    with pytest.raises(CaseError, match=r"depend on RO2, the sum of 2 species, which only boxes support"):
        assemble(case)


def test_check_says_so_and_converts(tmp_path: Path) -> None:
    network = network_of(tmp_path)
    told = [each for each in findings(network) if each.kind == "sum"]
    assert [(each.subject, "the sum of 2" in each.text) for each in told] == [("RO2", True)]
    assert not [each for each in findings(network) if each.kind == "loss"]
    for name in ("out.eqn", "out.json", "out.yaml"):
        report = convert(str(tmp_path / "mcm.def"), tmp_path / name)
        assert report.ok, report.facts
        again = load_mechanism(tmp_path / name)
        assert again.sums == network.sums, "a run treats a converted sum alike"
        assert again.initial == network.initial
        assert rates(again, AIR) == pytest.approx(rates(network, AIR), rel=1e-14)
        assert ("note" in report.facts) == (name != "out.eqn")
    text = (tmp_path / "out.eqn").read_text()
    assert "RO2 = C(ind_CH3O2) + &\n    C(ind_C2H5O2)\n" in text
    assert "<3> CH3O2 = HCHO" in text, "KPP reads the reactions with the sum in their rates"


@pytest.mark.parametrize(
    ("code", "weights"),
    [
        ("RO2 = C(ind_A) + C(ind_B)", {"a": 1.0, "b": 1.0}),
        ("RO2 = &\n  C(ind_A) + & ! remark\n  ! another one\n  & c( IND_B )", {"a": 1.0, "b": 1.0}),
        ("RO2 = 0.0\n RO2 = RO2 + C(ind_A)\n RO2 = RO2 + C(ind_B)", {"a": 1.0, "b": 1.0}),
        ("RO2=0.0_dp; RO2 = C(ind_A) + RO2", {"a": 1.0}),
        ("double RO2;\n RO2 = C(ind_A) + 2*C(ind_A);", {"a": 3.0}),
        ("RO2 = C(ind_A)\n RO2 = C(ind_B)", {"b": 1.0}),
        ("RO2 = 0.5D0*VAR(ind_A)", {"a": 0.5}),
        ("RO2 = C(ind_A)*C(ind_B)", None),
        ("RO2 = exp(C(ind_A))", None),
        ("RO2 = C(ind_A) - C(ind_B)", None),
        ("RO2 = RO2 + C(ind_A)", None),
        ("RO2 = C(ind_A) + K", None),
        ("RO2 = C(ind_A)\n RO2 = RO2*0.5", None),
        ("RO2 = C(ind_A)\n RO2 = 1e8", None),
        ("RO2 = C(ind_A)\n RO2 = MAX(RO2, 1e9)", None),
        ("RO2 = C(ind_A)\n IF (TEMP > 200) RO2 = RO2 + C(ind_B)", None),
        ("IF (TEMP > 200) THEN\n RO2 = C(ind_A)\n ELSE\n RO2 = C(ind_B)\n END IF", None),
        ("RO2 = C(ind_A); RO2 += C(ind_B);", None),
    ],
)
def test_sums_in_code(code: str, weights: dict[str, float] | None) -> None:
    assert sums_of(code)["ro2"].weights == weights


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("RO2*RO2*1e-20", [((0, 7, 7), 1e-20)]),
        ("3e-13*(RO2 + 2*RO2)", [((0, 7), 9e-13)]),
        ("RO2*M/2e19", [((0, 7), 1.2)]),
        ("-(-RO2)*2", [((0, 7), 2.0)]),
        ("(1e-5 + RO2)^2", [((0,), 1e-10), ((0, 7), 2e-5), ((0, 7, 7), 1.0)]),
    ],
)
def test_powers_of_a_sum_become_reactants(
    rate: str, expected: list[tuple[tuple[int, ...], float]], tmp_path: Path
) -> None:
    head = MCM[: MCM.index("<1>")]
    network = network_of(tmp_path, f"{head}<1> CH3O2 = HCHO : {rate};\n")
    found = [
        (tuple(sorted(reactants)), pytest.approx(float(k)))
        for reactants, k in zip(network.reactant_indices, rates(network, AIR), strict=True)
    ]
    assert found == expected


def test_terms_of_a_rate_take_no_label_of_the_file(tmp_path: Path) -> None:
    head = MCM[: MCM.index("<1>")]
    text = f"{head}<7_2> OH = HCHO : 1e-3;\n<7> CH3O2 = HCHO : 1e-5 + 2e-16*RO2;\n"
    network = network_of(tmp_path, text)
    assert [reaction.label for reaction in network.reactions] == ["7_2", "7", "7_2_"]
    assert rates(network, AIR) == pytest.approx([1e-3, 1e-5, 2e-16])


@pytest.mark.parametrize("rate", ["exp(RO2)", "1/RO2", "RO2^0.5", "sqrt(1 + RO2)", "max(RO2, 1)"])
def test_other_uses_of_a_sum_are_refused(rate: str, tmp_path: Path) -> None:
    head = MCM[: MCM.index("<1>")]
    with pytest.raises(
        MechanismError, match=r":10:1: the rate of <1> depends on RO2, a sum .* another way than by a factor"
    ):
        network_of(tmp_path, f"{head}<1> CH3O2 = HCHO : {rate};\n")


def test_a_side_file_may_name_the_sum(tmp_path: Path) -> None:
    (tmp_path / "mcm.rates.toml").write_text('K_SELF = "2e-13*RO2"\n"K_X(a)" = "a*RO2"\n')
    head = MCM[: MCM.index("<1>")]
    network = network_of(tmp_path, f"{head}<1> CH3O2 = HCHO : K_SELF;\n<2> C2H5O2 = HCHO : 3*K_X(2.0);\n")
    assert rates(network, AIR).tolist() == pytest.approx([2e-13, 6.0])
    assert network.reactant_indices == ((0, 7), (1, 7))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "RO2 = C(ind_CH3O2)*2 - 1",
            "which inlined code computes from variable species, and not as their plain sum",
        ),
        ("RO2 = C(ind_CH3O2)*C(ind_C2H5O2)", "which inlined code computes from variable species"),
        ("RO2 = C(ind_XX)", "a sum with XX, which is not declared$"),
        ("RO2 = C(ind_CH3O) + C(ind_OH)", r"a sum with CH3O, which is not declared; did you mean 'CH3O2'\?"),
        ("RO2 = C(ind_X1) + C(ind_X2) + C(ind_X3)", "a sum with X1, which is not declared, nor are 2 others of it"),
        ("RO2 = C(ind_CH3O2) + C(ind_BG)", "a sum with BG, a fixed species: take it out of the sum"),
    ],
)
def test_what_is_no_sum_of_species_is_refused(code: str, message: str, tmp_path: Path) -> None:
    text = MCM.replace("RO2 = C(ind_CH3O2) + &\n    C(ind_C2H5O2)", code) + "#DEFFIX\nBG = IGNORE;\n"
    with pytest.raises(MechanismError, match=rf"<3> depends on RO2, {message}"):
        network_of(tmp_path, text)


@pytest.mark.parametrize("command", ["DEFFIX", "DEFVAR"])
@pytest.mark.parametrize("code", ["RO2 = C(ind_CH3O2) + C(ind_C2H5O2)", "RO2 = 1e8"])
def test_a_species_called_as_a_value_of_the_code_is_refused_in_a_rate(code: str, command: str, tmp_path: Path) -> None:
    text = MCM.replace("RO2 = C(ind_CH3O2) + &\n    C(ind_C2H5O2)", code) + f"#{command}\nRO2 = IGNORE;\n"
    with pytest.raises(
        MechanismError, match="RO2 is a species and a value that inlined code sets, and a rate names it"
    ):
        network_of(tmp_path, text)
    if command == "DEFFIX":
        network = network_of(tmp_path, text.replace("*RO2", "*C(ind_RO2)").replace("RO2*", "FIX(indf_RO2)*"))
        assert [each.name for each in network.parameters] == ["RO2"]


def test_an_air_of_the_files_own_code_is_no_species(tmp_path: Path) -> None:
    """The MCM's KPP files have a species H2O, and rates with the H2O of one of their modules."""
    text = MCM.replace("OH = IGNORE;\n", "OH = IGNORE; H2O = IGNORE;\n") + "#EQUATIONS\n<9> OH = HCHO : 2e-10*H2O;\n"
    with pytest.raises(MechanismError, match="a rate cannot depend on H2O"):
        network_of(tmp_path, text)
    for code in (
        "#INLINE F90_RCONST_USE\n USE constants_mcm\n#ENDINLINE",
        "#INLINE F90_GLOBAL\n REAL(dp) :: M, H2O\n#ENDINLINE",
    ):
        network = network_of(tmp_path, f"{code}\n{text}")
        assert float(rates(network, AIR)[-1]) == pytest.approx(2e-10 * 1e17)
        assert convert(str(tmp_path / "mcm.def"), tmp_path / "out.eqn").ok, "it stays that of the air"
        assert ("H2O", "in the rates is that of the air, not the species H2O") in [
            (each.subject, each.text) for each in findings(network)
        ]
        with pytest.raises(MechanismError, match="a rate cannot depend on H2O"):
            network_of(tmp_path, f"{code}\n{text.replace('*H2O', '*C(ind_H2O)')}")


def test_a_solver_that_does_not_keep_sums_is_refused(tmp_path: Path) -> None:
    network = network_of(tmp_path)
    with pytest.raises(CaseError, match="lets RO2 and the species of that sum diverge; use ros2"):
        airshed.box(network, box_of("gauss-seidel"))


def test_a_start_value_of_a_sum_is_refused(tmp_path: Path) -> None:
    conditions = box_of("rodas3") | {"initial": {"RO2": "1 ppb"}}
    forcing = BoxForcing(BoxConditions.from_dict(conditions), network_of(tmp_path))
    with pytest.raises(CaseError, match=r"initial\.RO2 is the sum of its species at the start"):
        forcing.start(0.0, {"M": np.array([2.4e19])})


def test_gradients_of_sums_are_refused(tmp_path: Path) -> None:
    network = network_of(tmp_path)
    with pytest.raises(CaseError, match="gradient of NO: RO2 of mcm is a sum of species"):
        box_sensitivity(network, box_of("rodas3"), "NO")


def box_of(method: str) -> dict[str, object]:
    air = {"temperature": "290 K", "pressure": "1000 hPa", "humidity": "50 %"}
    time = {"start": "0 s", "length": "60 s", "output_every": "60 s"}
    return {"time": time, "environment": air, "solver": {"method": method}}


def test_a_species_that_code_computes_is_no_part_of_the_air(tmp_path: Path) -> None:
    text = "#INLINE F90_RCONST\n H2O = C(ind_H2O)\n#ENDINLINE\n#DEFVAR\nA = IGNORE; H2O = IGNORE;\n"
    with pytest.raises(MechanismError, match="cannot depend on H2O, a variable species"):
        network_of(tmp_path, f"{text}#EQUATIONS\nA = PROD : 1e-19*H2O;\n")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("#DEFVAR\nA = IGNORE; CFACTOR = IGNORE;\n", "cannot depend on CFACTOR, a variable species"),
        ("#INLINE F90_INIT\n CFACTOR = 2.46D13\n#ENDINLINE\n#DEFVAR\nA = IGNORE;\n", "inlined code gives CFACTOR"),
    ],
)
def test_a_factor_that_is_not_that_of_the_file_is_refused(tmp_path: Path, head: str, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        network_of(tmp_path, f"{head}#EQUATIONS\nA = PROD : 1e-16*CFACTOR;\n")

"""Values that inlined code computes, as in files of the Master Chemical Mechanism."""

from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork, load_mechanism, rates
from airshed.mechanism.describe import convert

AIR = {"TEMP": np.array([250.0, 300.0]), "M": np.array([1e19, 2e19]), "O2": np.array([2e18, 4e18])}
MCM = """#INLINE F90_GLOBAL
 REAL(dp)::M, N2, O2, RO2, H2O
 #ENDINLINE
#DEFVAR
 = IGNORE ;
CH3O2 = IGNORE ; NO = IGNORE ; PAN = IGNORE ;
#{block}
 USE constants
 !end of USE statements
 RO2 = &
 C(ind_CH3O2)
{code}
 CALL mcm_constants(time, temp, M, N2, O2, RO2, H2O)
 #ENDINLINE
#EQUATIONS
{{1.}} CH3O2 + NO = PAN : KRO2NO ;
{{2.}} PAN = : 2*KFPAN ;
"""
CODE = """ KRO2NO = 2.7D-12*EXP(360/TEMP)
KC0 = 2.7D-28*M*(TEMP/300)**-7.1 ! remark
KCI = 1.2D-11*(TEMP/300)**-0.9; FCC = 0.30_dp
NC = 0.75-1.27*(LOG10(FCC))
FC = 10**(LOG10(FCC)/(1+(LOG10(KC0/KCI)/NC)**2))
KFPAN = (KC0*KCI)*FC/ &
  (KC0+KCI)"""
"""With the expected values below, computed independently in NumPy."""


def network_of(folder: Path, code: str = CODE, block: str = "INLINE F90_RCONST") -> ReactionNetwork:
    (folder / "mcm.kpp").write_text(MCM.format(code=code, block=block))
    return load_mechanism(folder / "mcm.kpp")


def test_plain_formulas_are_followed(tmp_path: Path) -> None:
    t, m = AIR["TEMP"], AIR["M"]
    low, high = 2.7e-28 * m * (t / 300) ** -7.1, 1.2e-11 * (t / 300) ** -0.9
    width = 0.75 - 1.27 * np.log10(0.3)
    fpan = low * high / (low + high) * 10 ** (np.log10(0.3) / (1 + (np.log10(low / high) / width) ** 2))
    network = network_of(tmp_path)
    assert network.names == ("CH3O2", "NO", "PAN"), "the empty name of the export is no species"
    np.testing.assert_allclose(rates(network, AIR), [2.7e-12 * np.exp(360 / t), 2 * fpan], rtol=1e-12)


def test_a_side_file_comes_first(tmp_path: Path) -> None:
    (tmp_path / "mcm.rates.toml").write_text("KRO2NO = 1e-12\n")
    assert rates(network_of(tmp_path), AIR)[0].tolist() == [1e-12, 1e-12]


@pytest.mark.parametrize(
    ("code", "block"),
    [
        (f"{CODE}\n IF (TEMP > 280) KRO2NO = 0", "INLINE F90_RCONST"),
        (f"{CODE}\n IF (TEMP > 280) THEN\n KC0 = 0\n END IF", "INLINE F90_RCONST"),
        (f"{CODE}\n KRO2NO = 2*KRO2NO", "INLINE F90_RCONST"),
        (f"{CODE}\n KRO2NO = 1e-12", "INLINE F90_RCONST"),
        (f"{CODE}\n CALL change(KRO2NO)", "INLINE F90_RCONST"),
        (f"{CODE}\n READ (5, *) KRO2NO", "INLINE F90_RCONST"),
        (CODE.replace("360/TEMP", "360/C(ind_NO)"), "INLINE F90_RCONST"),
        (CODE.replace("360", "LATER") + "\n LATER = 360", "INLINE F90_RCONST"),
        (CODE, "INLINE F90_RATES"),
        (CODE, "INLINE F90_INIT"),
    ],
)
def test_other_code_is_not(code: str, block: str, tmp_path: Path) -> None:
    with pytest.raises(MechanismError, match=r"there is no formula for .*KRO2NO|depends on KRO2NO, which inlined code"):
        network_of(tmp_path, code, block)


def test_what_a_formula_names_in_vain_is_told(tmp_path: Path) -> None:
    with pytest.raises(MechanismError, match=r"there is no formula for 'TROE\(1\.0, 2\.0\)' in <R1>"):
        network_of(tmp_path, CODE.replace("2.7D-12", "TROE(1., 2.)"))


def test_a_species_without_a_name_may_be_nothing_alone(tmp_path: Path) -> None:
    (tmp_path / "m.def").write_text("#DEFVAR\nA = IGNORE;\n = O + 2H;\n")
    with pytest.raises(MechanismError, match=":3:2: expected a name of a species before this '='"):
        load_mechanism(tmp_path / "m.def")


def test_small_signs_that_kpp_passes_over(tmp_path: Path) -> None:
    """A factor with a star as in WRF-Chem's MOZART, and a lone # as in DSMACC."""
    (tmp_path / "m.def").write_text(
        "#\n#DEFVAR\nA = IGNORE; B = IGNORE;\n # \n#EQUATIONS\nA + A = 0.67 * B + 2*A : 1;\n"
    )
    network = load_mechanism(tmp_path / "m.def")
    assert network.reactions[0].products == (("B", 0.67), ("A", 2.0))


MECCA = """#DEFVAR
CH3O2 = C + 3H + 2O; HO2 = H + 2O; H2O2 = 2H + 2O; O2 = 2O; H2O = 2H + O;
#SETFIX O2; H2O;
#INLINE F90_RCONST
  k_HO2_HO2 = (3.0E-13*EXP(460./temp)+2.1E-33*EXP(920./temp)*cair)* &
              (1.+1.4E-21*EXP(2200./temp)*C(ind_H2O)){§1.1} ! remark
  RO2 = 0.
  IF (ind_CH3O2>0)  RO2 = RO2 + C(ind_CH3O2)
  IF (ind_C2H5O2>0) RO2 = RO2 + C(ind_C2H5O2)
#ENDINLINE
#EQUATIONS
<G2110> HO2 + HO2 = H2O2 + O2 : k_HO2_HO2;
<G4100> CH3O2 = HO2 : 1e-13*RO2;
"""
"""As CAABA/MECCA writes it: fixed air gases, and a sum of the species in the chosen mechanism."""


def test_code_of_mecca(tmp_path: Path) -> None:
    (tmp_path / "mecca.eqn").write_text(MECCA)
    network = load_mechanism(tmp_path / "mecca.eqn")
    assert dict(network.sums) == {"RO2": {"CH3O2": 1.0}}, "C2H5O2 is not in this mechanism"
    air = {"TEMP": 290.0, "M": 2e19, "H2O": 3e17, "O2": 4e18}
    right = (3e-13 * np.exp(460 / 290) + 2.1e-33 * np.exp(920 / 290) * 2e19) * (1 + 1.4e-21 * np.exp(2200 / 290) * 3e17)
    assert rates(network, air) == pytest.approx([right, 1e-13])
    (tmp_path / "mecca.eqn").write_text(MECCA.replace("#SETFIX O2; H2O;", ""))
    with pytest.raises(MechanismError, match="depends on k_HO2_HO2, which inlined code computes from variable species"):
        load_mechanism(tmp_path / "mecca.eqn")


@pytest.mark.parametrize(
    "guarded",
    ["IF (ind_CH3O2>0) RO2 = RO2 + C(ind_HO2)", "IF (ind_CH3O2>0) RO2 = 0.5*RO2", "IF (ind_CH3O2>1) RO2 = 0."],
)
def test_other_guarded_statements_make_no_sum(guarded: str, tmp_path: Path) -> None:
    (tmp_path / "mecca.eqn").write_text(MECCA.replace("#ENDINLINE", f"  {guarded}\n#ENDINLINE"))
    with pytest.raises(MechanismError, match="depends on RO2, which inlined code computes from variable species"):
        load_mechanism(tmp_path / "mecca.eqn")


def test_a_side_file_of_a_converted_mechanism_does_for_both_formats(tmp_path: Path) -> None:
    """The bindings of the OpenAtmos file are those of the side file of the reaction file."""
    network_of(tmp_path)
    for name in ("out.eqn", "out.json"):
        report = convert(str(tmp_path / "mcm.kpp"), tmp_path / name)
        assert report.ok, report.facts
    assert (tmp_path / "out.rates.toml").is_file()

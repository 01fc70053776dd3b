"""Mechanisms in FACSIMILE's language equal those in KPP's; faults are reported at their location."""

from pathlib import Path

import numpy as np
import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork, load_mechanism, rates
from airshed.mechanism.describe import environment_of

TEXT = """\
* A comment; it ends with its line * ;
* without a semicolon on its line
* likewise ;;
VARIABLE
 HCHO CH3O2 NO NO2 O3
 O CH3O HO2 ;
KRO2NO = 2.7D-12*EXP(360/TEMP) ;
NOT_USED = 3.0 ;
K20 = 1.3D-31*M*(TEMP/300)@-1.5 ;
K2I = 2.3D-11*(TEMP/300)@0.24 ;
KR2 = K20/K2I ;
FC2 = 0.6 ;
NC2 = 0.75-1.27*(LOG10(FC2)) ;
F2 = 10@(LOG10(FC2)/(1+(LOG10(KR2)/NC2)**2)) ;
KMT02 = (K20*K2I)*F2/(K20+K2I) ;
% KRO2NO : CH3O2 + NO = CH3O + NO2 ;
% KMT02 : O + NO2 = NO ;
% J<4>*0.5 : NO2 = NO + O ;
% 8.0D-12*
  EXP(-2060/TEMP) : O + O3 = ;
% J<41>+J<15> : HCHO = HO2 + HO2 ;
"""

KPP = """\
#DEFVAR
HCHO = IGNORE; CH3O2 = IGNORE; NO = IGNORE; NO2 = IGNORE; O3 = IGNORE; O = IGNORE; CH3O = IGNORE; HO2 = IGNORE;
#EQUATIONS
CH3O2 + NO = CH3O + NO2 : 2.7e-12*exp(360/TEMP);
O + NO2 = NO : k_3rd_iupac(TEMP, M, 1.3e-31, 1.5, 2.3e-11, -0.24, 0.6);
NO2 = NO + O : 0.5*PHOTO(1.165e-2, 0.267)*SUN^0.244;
O + O3 = PROD : 8e-12*exp(-2060/TEMP);
HCHO = HO2 + HO2 : PHOTO(7.649e-6, 0.279)*SUN^0.682 + PHOTO(2.792e-5, 0.338)*SUN^0.805;
"""

AIR = [environment_of("298 K", "1013 hPa", "50 %", 0.7), environment_of("250 K", "300 hPa", "20 %", 0.0)]


def read(folder: Path, text: str, name: str = "a.fac", side: str = "") -> ReactionNetwork:
    path = folder / name
    path.write_text(text)
    if side:
        path.with_suffix(".rates.toml").write_text(side)
    return load_mechanism(path)


def test_it_is_the_mechanism_in_kpp_syntax(tmp_path: Path) -> None:
    one, other = read(tmp_path, TEXT), read(tmp_path, KPP, "b.def")
    assert one.name == "a"
    assert one.names == other.names
    assert [each.reactants for each in one.reactions] == [each.reactants for each in other.reactions]
    assert [each.products for each in one.reactions] == [each.products for each in other.reactions]
    for environment in AIR:
        np.testing.assert_allclose(rates(one, environment), rates(other, environment), rtol=1e-14)


def test_without_a_list_the_reactions_give_the_species(tmp_path: Path) -> None:
    start = TEXT.index("VARIABLE")
    network = read(tmp_path, TEXT[:start] + TEXT[TEXT.index("KRO2NO") :])
    assert network.names == ("CH3O2", "NO", "CH3O", "NO2", "O", "O3", "HCHO", "HO2")


def test_the_side_file_goes_before_the_values_of_the_file_and_of_the_mcm(tmp_path: Path) -> None:
    network = read(tmp_path, TEXT, side='KRO2NO = 1e-11\n"J(4)" = 2e-3\n')
    found = rates(network, AIR[0])
    assert (found[0], found[2]) == (1e-11, 1e-3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("% KRO2NO CH3O2 + NO = CH3O ;", "22:3: expected % rate : A \\+ B = C"),
        ("% 1.0 : CH3O2 + NOO = CH3O ;", "22:19: species 'NOO' is not declared"),
        ("% 1.0*(3 : NO = NO2 ;", "22:12: expected '\\)' or '\\+'"),
        ("K1 = 2.0*(3 ;", "22:14: K1: expected"),
        ("% foo(2, 3) : NO = NO2 ;", "22:5: there is no formula for 'foo"),
        ("M = 2.5D19 ;", "22:6: M is given by the air of the run"),
        ("COMPILE INITIAL ;", "22:3: expected a reaction .* not 'COMPILE INITIAL'"),
        ("RO2 = 0.5*CH3O2 + CH3O ;", "22:3: RO2 is read as a sum of species, .* without '0.5\\*CH3O2'"),
        ("RO2 = CH3O2 - CH3O ;", "22:3: RO2 is read as a sum"),
        ("RO2 = CH3O2 ; RO2 = CH3O ;", "22:17: RO2 occurs twice"),
        ("% 1.0 : NO = NO2", "22:3: this statement has no ';'"),
    ],
)
def test_faults_are_told_at_their_place(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MechanismError, match=f"a\\.fac:{message}"):
        read(tmp_path, f"{TEXT}  {line}")


def test_the_sum_of_the_radicals_is_carried_as_a_species(tmp_path: Path) -> None:
    text = TEXT.replace("% KMT02", "RO2 = CH3O2 + CH3O ;\n% 2*1D-13*RO2*(1-0.4) : CH3O2 = CH3O ;\n% KMT02")
    network = read(tmp_path, text)
    assert {name: dict(weights) for name, weights in network.sums.items()} == {"RO2": {"CH3O2": 1.0, "CH3O": 1.0}}
    assert rates(network, AIR[0])[1] == pytest.approx(1.2e-13)
    assert dict(network.reactions[1].reactants) == {"CH3O2": 1, "RO2": 1}
    assert read(tmp_path, text.replace("RO2 = CH3O2 + CH3O", "RO2 = "), "b.fac").sums == {}


def test_a_comment_without_a_semicolon_takes_no_reaction_with_it(tmp_path: Path) -> None:
    assert len(read(tmp_path, TEXT.replace("% KMT02", "* a remark\n% KMT02")).reactions) == 5

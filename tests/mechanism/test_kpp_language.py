"""KPP's own features: lists, inlined code, literals, sums of products, open parameters and refusals."""

import pytest

from airshed.core.errors import MechanismError
from airshed.mechanism import load_mechanism, rates
from airshed.mechanism.expressions import Parameter

HEAD = "#DEFVAR\nNO = IGNORE; NO2 = IGNORE; O3 = IGNORE;\n#EQUATIONS\n"
AIR = {"TEMP": 290.0, "PRESS": 9.5e4, "M": 2.4e19, "O2": 5e18, "N2": 1.9e19, "H2O": 3e17, "SUN": 0.5}

WHOLE = """#MINVERSION 3.0.0
#LANGUAGE   Fortran90
#INTEGRATOR ./int/rosenbrock
#DRIVER     general
#DOUBLE ON
#JACOBIAN SPARSE_LU_ROW
#HESSIAN off
#STOCHASTIC OFF
#FUNCTION AGGREGATE
#MODEL elsewhere
#DECLARE SYMBOL
#atoms N; O; C; H;
{ #INLINE in a comment is none }
#DefVar NO = N + O; NO2 = N + 2O; O3 = 3O; X = C + IGNORE;
#DEFRAD OH = O + H;
#DEFFIX H2 = 2H; CH4 = C + 4H; M = IGNORE;
#SETVAR H2;
#SETFIX X;
#CHECK N;
#LOOKAT NO; NO2; N;
#LOOKATALL
#MONITOR O3; O;
#TRANSPORT NO2; O3;
#TRANSPORTALL
#LUMP NO2 + NO : NO2;
#FAMILIES
POx : O3 + NO2 + 2 NO;
#INLINE F90_INIT
  TSTART = (12*3600)   { not a comment here
  print *, "a" // "b"; #include "commonIncludeVars.f90"
  TEMP = 270
#ENDINLINE
#EQUATIONS
<R1> NO + O3 = NO2 :
   1.0D-12  &
   & *EXP(-1400._dp/TEMP);   // continued
{2} NO2 + hv = NO + .75 O3 - 0.5 X + 1/4 OH : 2.6e-54*SUN;
<R3> OH + H2 = PROD : CFACTOR*1E-30_dp;
#INLINE C_RATES
double k(double x) { if (x > 0) { return x; } }
#ENDINLINE
#INITVALUES
CFACTOR = 2.5e19;
NO = 1.4E-9; O3 = 2*(1.e-8 + 1e-8); CH4 = 1.8D-6;
ALL_SPEC = 1e-12; { for those without a value, wherever it is written }
VAR_SPEC = 0;
"""


def rate(text: str, write, air=AIR, head: str = HEAD) -> float:
    """Return the value of a rate in a separate file."""
    return float(rates(load_mechanism(write(f"{head}NO = NO2 : {text};")), air)[0])


def test_every_section_and_command(write) -> None:
    net = load_mechanism(write(WHOLE))
    assert net.names == ("NO", "NO2", "O3", "OH", "H2")
    assert [species.name for species in net.fixed] == ["X", "CH4", "M"]
    assert net.checked == ("N",)
    assert dict(net.fixed[0].atoms) == {}
    first, second, third = net.reactions
    assert second.products == (("NO", 1.0), ("O3", 0.75), ("X", -0.5), ("OH", 0.25))
    values = rates(net, AIR)
    assert values[0] == pytest.approx(1e-12 * 2.718281828459045 ** (-1400.0 / 290.0), rel=1e-14)
    assert values[1] == 2.6e-54 * 0.5  # nothing of it is lost, as it would be in single precision
    assert values[2] == AIR["M"] * 1e-30
    assert first.text.startswith("<R1> NO + O3 = NO2 : 1.0D-12 & & *EXP")
    assert third.products == ()
    factor = 2.5e19
    assert net.initial == pytest.approx(
        {"NO": 1.4e-9 * factor, "NO2": 0.0, "O3": 4e-8 * factor, "OH": 0.0, "H2": 0.0, "CH4": 1.8e-6 * factor}
        | {"X": 1e-12 * factor, "M": 1e-12 * factor}
    )


def test_case_of_letters_does_not_count(write) -> None:
    plain = load_mechanism(write(WHOLE))
    other = load_mechanism(write(WHOLE.lower()))
    assert [name.upper() for name in other.names] == list(plain.names)
    assert list(rates(other, AIR)) == list(rates(plain, AIR))
    assert list(other.initial.values()) == list(plain.initial.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0_dp", 1.0),
        ("1._dp + .5_DP + 3_dp", 4.5),
        ("1.5D2 - 1d-1", 149.9),
        ("2.6e-54", 2.6e-54),
        ("-2**2 + 7", 3.0),
        ("DEXP(0) + dble(2) + REAL(3., dp)", 6.0),
        ("amax1(1., 2.) * alog10(100.)", 4.0),
        ("temp + T + CAIR*0 + PRESS/1e4", 589.5),
        ("cfactor", 1.0),
        ("C(ind_O2)*1e-18 + c(IND_m)/2.4e19", 6.0),
    ],
)
def test_literals_and_fortran(text: str, value: float, write) -> None:
    assert rate(text, write) == pytest.approx(value, rel=1e-14)


def test_names_stay_open(write) -> None:
    net = load_mechanism(
        write(HEAD + "NO2 = NO : j_NO2;\nO3 = NO : J(1) + J( 1 )*j(ip_NO2);\nNO = O3 : 2*J_no2 + PHOTO.x;")
    )
    assert [each.name for each in net.open_parameters] == ["j_NO2", "J(1)", "j(ip_NO2)", "PHOTO.x"]
    assert net.rate_constants[0] == Parameter("j_NO2")
    assert float(rates(net.bind({"J_NO2": 1.0, "J(1)": 2.0, "j(ip_no2)": 3.0, "photo.x": 4.0}), AIR)[1]) == 8.0


def test_a_fixed_species_may_stand_in_a_rate(write) -> None:
    text = "#DEFVAR\nA = IGNORE;\n#DEFFIX\nCH4 = IGNORE;\n#EQUATIONS\nA = PROD : 2*ch4;\n#INITVALUES\nCH4 = 3;"
    net = load_mechanism(write(text))
    assert [(each.name, each.default) for each in net.parameters] == [("CH4", 3.0)]
    assert rates(net.with_defaults(), {}) == 6.0


def test_all_unknown_functions_are_named_at_once(write) -> None:
    text = """#INLINE F90_RATES
  REAL FUNCTION k_SIV(a)
    k_SIV = a
#ENDINLINE
#INLINE F90_RCONST
  k_DMS = 1.E-9*EXP(5820./temp); IF (temp > 300.) k_DMS = 0
#ENDINLINE
"""
    head = text + HEAD
    equations = (
        "<A> NO = NO2 : GCARR_ac(1e-12, 300.0d0);\n<B> NO2 = O3 : k_SIV(3) + k_DMS;\n<C> O3 = NO : gcarr_AC(2., 1.);"
    )
    with pytest.raises(MechanismError) as error:
        load_mechanism(write(head + equations))
    message = str(error.value)
    for part in (
        ":11:16: ",
        "'GCARR_ac(1e-12, 300.0)' in <A> at 11:16", "'k_SIV(3.0)' in <B> at 12:16", "'k_DMS' in <B> at 12:27",
        "test.rates.toml",
    ):  # fmt: skip
        assert part in message, message
    assert message.count("'GCARR") == 1
    assert "gcarr" not in message


def test_the_faults_of_all_reactions_are_told_at_once(write) -> None:
    equations = "NO = NO3 : 1;\nNO = NO2 : -1;\nNO = O4 : foo(1., 2.);\n<R1> NO = O3 : 1;\n"
    with pytest.raises(MechanismError) as error:
        load_mechanism(write(HEAD + equations))
    lines = str(error.value).splitlines()
    assert [line.split(":")[1] for line in lines] == ["4", "5", "6"]
    many = HEAD + "".join(f"NO = NO3{number} : 1;\n" for number in range(30))
    with pytest.raises(MechanismError, match=r"and more$"):
        load_mechanism(write(many))


BAD = {
    "circle": ("#DEFVAR\nA = IGNORE;\n#INCLUDE b.eqn", [":1:9:", "circle", "test.def -> b.eqn -> test.def"]),
    "itself": ("#INCLUDE test.def\n", [":1:9:", "circle: test.def -> test.def"]),
    "model of nothing": ("#MODEL saprc99\n", ["no species", "saprc99.def of #MODEL is not in the same folder"]),
    "text after a command": ("#LOOKATALL\nNO = IGNORE;", [":2:1:", "after the line of #LOOKATALL"]),
    "check of nothing": ("#ATOMS N;\n#DEFVAR\nA = N;\n#CHECK O;", [":4:8:", "atom 'O' is not declared"]),
    "list of nothing": ("#DEFVAR\nA = IGNORE;\n#MONITOR A; Ab;", [":3:13:", "species 'Ab'", "did you mean 'A'"]),
    "fix nothing": ("#DEFVAR\nA = IGNORE;\n#SETFIX B;", [":3:9:", "species 'B' is not declared"]),
    "group as species": ("#DEFVAR\nALL_SPEC = IGNORE;", [":2:1:", "group of species"]),
    "division by zero": (HEAD + "NO = 1/0 O3 : 1;", [":4:6:", "divides by zero"]),
    "no initial number": ("#DEFVAR\nA = IGNORE;\n#INITVALUES\nA = MyFunc();", [":4:1:", "not a number >= 0"]),
    "open initial": ("#DEFVAR\nA = IGNORE;\n#INITVALUES\nA = x0;", [":4:1:", "not a number >= 0"]),
}


@pytest.mark.parametrize("case", BAD)
def test_message(case: str, write) -> None:
    write("#INCLUDE test.def\n", "b.eqn")
    text, parts = BAD[case]
    with pytest.raises(MechanismError) as error:
        load_mechanism(write(text))
    for part in parts:
        assert part in str(error.value), str(error.value)


def test_files_include_each_other_to_a_depth(write) -> None:
    for number in range(40):
        write(f"#INCLUDE f{number + 1}.spc\n", f"f{number}.spc")
    write("#DEFVAR\nA = IGNORE;", "f40.spc")
    assert load_mechanism(write("#INCLUDE f25.spc\n")).names == ("A",)
    with pytest.raises(MechanismError, match=r"f19\.spc:1:9: .* 20 levels deep"):
        load_mechanism(write("#INCLUDE f0.spc\n"))


def test_a_model_is_read_where_it_is(write) -> None:
    write("#DEFVAR\nA = IGNORE;", "mine.def")
    assert load_mechanism(write("#MODEL mine\n#EQUATIONS\nA = PROD : 1;", "top.kpp")).names == ("A",)


def test_names_in_quotes_hold_what_would_be_something_else(write) -> None:
    net = load_mechanism(write(HEAD + 'NO = NO2 : 2*"SURF.x [# m-3] // {"; // "a remark\nNO2 = NO : 1;'))
    assert [each.name for each in net.open_parameters] == ["SURF.x [# m-3] // {"]
    assert len(net.reactions) == 2

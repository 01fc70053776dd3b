"""The KPP language in all its notations."""

import re
from pathlib import Path

import pytest

from airshed.formula.tree import Number, Symbol
from airshed.mechanism import load_mechanism, shipped_mechanisms
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.location import Location

WHOLE = """// a comment to the end of the line
#ATOMS N; O; {oxygen} C;
#DEFVAR
NO  = N + O;  {nitric oxide}
NO2 = N + 2O; // nitrogen dioxide
O3  = 3O; { ozone,
            in two lines }
X = IGNORE;
#DEFFIX
O2 = 2O; M = ignore; CH4 = C;
#EQUATIONS { reactions }
<R1> NO + O3 = NO2 + O2 : 1.8e-12*EXP(-1370./TEMP);
{2} NO2 + hv
    = NO + 0.5 X
    + .5X - 0 O3 : PHOTO(1e-2, 0.4) ;
<no fix> O3 + 2 M + CH4 = PROD : 2;
#INITVALUES
CFACTOR = 2.0; ALL_SPEC = 1e-3; CH4 = 10; NO = 2*3;
"""


def test_a_whole_file(write) -> None:
    net = load_mechanism(write(WHOLE, "whole.eqn"))
    assert net.name == "whole"
    assert net.names == ("NO", "NO2", "O3", "X")
    assert [species.name for species in net.fixed] == ["O2", "M", "CH4"]
    assert [species.text for species in net.species] == ["nitric oxide", "nitrogen dioxide", "ozone, in two lines", ""]
    assert [dict(species.atoms) for species in net.species] == [{"N": 1, "O": 1}, {"N": 1, "O": 2}, {"O": 3}, {}]
    assert net.atoms == ("N", "O", "C")
    first, second, third = net.reactions
    assert (first.label, second.label, third.label) == ("R1", "R2", "no fix")
    assert first.reactants == (("NO", 1.0), ("O3", 1.0))
    assert second.products == (("NO", 1.0), ("X", 0.5), ("X", 0.5), ("O3", 0.0))
    assert second.text == "NO2 + hv = NO + 0.5 X + .5X - 0 O3 : PHOTO(1e-2, 0.4) ;"
    assert (second.location.line, second.location.column) == (13, 5)
    assert third.products == ()
    assert net.rate_constants[2].left.right == Symbol("M")
    assert net.rate_constants[2].right == Parameter("CH4")
    assert net.with_defaults().rate_constants[2].right == Number(20.0)
    assert net.net_stoichiometry == (((0, -1.0), (1, 1.0), (2, -1.0)), ((0, 1.0), (1, -1.0), (3, 1.0)), ((2, -1.0),))
    assert net.initial == {"NO": 12.0, "NO2": 2e-3, "O3": 2e-3, "X": 2e-3, "O2": 2e-3, "M": 2e-3, "CH4": 20.0}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.lower(),
        lambda text: text.upper(),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("ozone", "Ozon f\u00fcr alle"),
        lambda text: text.replace("#DEFVAR", "#LANGUAGE Fortran90\n#INTEGRATOR rosenbrock\n#LOOKATALL\n# defvar"),
        lambda text: text.replace(" = ", "=").replace(" + ", "+").replace(" : ", ":"),
    ],
)
def test_harmless_forms_read_the_same(write, change) -> None:
    plain = load_mechanism(write(WHOLE))
    other = load_mechanism(write(change(WHOLE)))
    assert other.names == tuple(change(name).lstrip("\ufeff") for name in plain.names)
    assert other.net_stoichiometry == plain.net_stoichiometry
    # The name of a parameter is spelled as declared.
    assert str(other.rate_constants).casefold() == str(plain.rate_constants).casefold()
    assert list(other.initial.values()) == list(plain.initial.values())
    assert [tuple(species.atoms.values()) for species in other.species] == [
        tuple(species.atoms.values()) for species in plain.species
    ]


def test_latin_1_comments(write) -> None:
    assert load_mechanism(write("#DEFVAR\nA = IGNORE; {f\u00fcr}".encode("latin-1"))).species[0].text == "f\u00fcr"


def test_names_of_any_case_in_one_file(write) -> None:
    net = load_mechanism(write("#defvar\nNo2 = ignore; Hcho = IGNORE;\n#Equations\n<a> NO2 = hcHO : exp(temp);"))
    assert net.reactions[0].reactants == (("No2", 1.0),)
    assert net.reactions[0].products == (("Hcho", 1.0),)
    assert net.index("NO2") == net.index("no2") == 0


def test_includes_are_found_and_read_once(write) -> None:
    write("#INCLUDE atoms\n#DEFVAR\nA = Na + Cl;", "own.spc")
    write("#INCLUDE own.spc\n#EQUATIONS\n\nA = PROD : 1;", "own.eqn")
    path = write("#INCLUDE own.spc\n#INCLUDE 'own.eqn'\n", "own.def")
    net = load_mechanism(path)
    assert [source.rsplit("/")[-1] for source in net.sources] == ["own.def", "own.spc", "atoms.kpp", "own.eqn"]
    assert dict(net.species[0].atoms) == {"Na": 1, "Cl": 1}
    assert net.reactions[0].location == Location(str(path.with_name("own.eqn")), 4, 1)
    assert load_mechanism(path.with_name("own.eqn")).names == ("A",)


def test_elements_need_no_declaration_where_none_is_given(write) -> None:
    net = load_mechanism(write("#DEFVAR\nSO2 = s + 2o;"))
    assert dict(net.species[0].atoms) == {"S": 1, "O": 2}
    assert net.atoms == ("S", "O")


def test_prod_on_the_left_is_a_source(write) -> None:
    net = load_mechanism(write("#DEFVAR\nA = IGNORE;\n#EQUATIONS\nPROD = A : 0.02;\nA = PROD : 0.05;"))
    assert [dict(each.reactants) for each in net.reactions] == [{}, {"A": 1}]


def test_prod_may_be_a_species(write) -> None:
    net = load_mechanism(write("#DEFVAR\nA = IGNORE; PROD = IGNORE;\n#EQUATIONS\nA = PROD : 1;"))
    assert net.net_stoichiometry == (((0, -1.0), (1, 1.0)),)


def test_passive_tracers_need_no_reactions(write) -> None:
    tracer = load_mechanism("tracer")
    assert tracer.names == ("TRACER", "TRACER2")
    assert tracer.reactions == ()
    assert tracer.production_terms == tracer.loss_terms == ((), ())
    assert load_mechanism(write("#DEFVAR\nA = IGNORE;", "a.spc")).names == ("A",)


def test_every_shipped_mechanism_loads() -> None:
    assert set(shipped_mechanisms()) >= {"emep", "tracer"}
    for name in shipped_mechanisms():
        assert load_mechanism(name.upper()).name == name


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "mechanisms.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.splitlines()[1:] == ["R162 -0.1", "R164 -0.05"]

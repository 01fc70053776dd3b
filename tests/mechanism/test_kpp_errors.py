"""Invalid reaction files: message and location; no input crashes or hangs the reader."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork, load_mechanism, rates, tendency

MECHANISMS = Path(__file__).parents[2] / "mechanisms"
HEAD = "#DEFVAR\nNO = IGNORE; NO2 = IGNORE; O3 = IGNORE;\n#EQUATIONS\n"

BAD = {
    "empty": ("", ["test.def", "no species", "#DEFVAR"]),
    "comments only": ("// nothing\n{ at all }", ["no species"]),
    "no section": ("NO = N;", [":1:1:", "expected a command such as #DEFVAR"]),
    "unknown command": ("#DEFVARS\nNO = IGNORE;", [":1:1:", "#DEFVARS", "did you mean 'DEFVAR'"]),
    "open inline code": ("#DEFVAR\nA = IGNORE;\n#INLINE F90_INIT\n x", [":3:1:", "of line 3 has no #ENDINLINE"]),
    "end of inline code": ("#DEFVAR\nA = IGNORE;\n#ENDINLINE\n x", [":3:1:", "#ENDINLINE has no #INLINE"]),
    "open comment": ("#DEFVAR\nNO = IGNORE; {nitric oxide\nNO2 = IGNORE;", [":2:14:", "no closing '}'"]),
    "closing brace": ("#DEFVAR\nNO = IGNORE; }\n", [":2:14:", "'}'", "a name"]),
    "species without ;": ("#DEFVAR\nNO = IGNORE\nNO2 = IGNORE;", [":2:12:", "expected ';'", "'NO2' follows after it"]),
    "species without ; 2": ("#DEFVAR\nNO = N + O\nNO2 = N;", [":2:11:", "expected ';' or '+'"]),
    "species without =": ("#DEFVAR\nNO N;", [":2:4:", "expected '='", "'N' follows"]),
    "last without ;": ("#DEFVAR\nNO = IGNORE\n\n", [":2:12:", "expected ';'", "the section ends"]),
    "number as name": ("#DEFVAR\n2NO = N;", [":2:1:", "expected a name"]),
    "fraction of atom": ("#DEFVAR\nNO = 1.5N;", [":2:6:", "1.5"]),
    "unknown atom": ("#ATOMS N; O;\n#DEFVAR\nNO = N + Ox;", [":3:10:", "atom 'Ox'", "did you mean 'O'"]),
    "unknown element": ("#DEFVAR\nNO = N + Oxy;", [":2:10:", "atom 'Oxy'"]),
    "species twice": ("#DEFVAR\nNO = N; O3 = O;\nno = N;", [":3:1:", "'no'", "second time", ":2:1"]),
    "variable and fixed": ("#DEFVAR\nNO = N;\n#DEFFIX\nNO = N;", [":4:1:", "second time"]),
    "light as species": ("#DEFVAR\nhv = IGNORE;", [":2:1:", "light"]),
    "undeclared": (HEAD + "NO + O4 = NO2 : 1;", [":4:6:", "species 'O4' is not declared", "did you mean 'O3'"]),
    "undeclared product": (HEAD + "NO = NO3 : 1;", [":4:6:", "species 'NO3' is not declared"]),
    "undeclared dummy": (HEAD + "NO = DUMMY : 1;", [":4:6:", "'DUMMY'"]),
    "label twice": (HEAD + "<R1> NO = NO2 : 1;\n<r1> NO2 = NO : 1;", [":5:1:", "<r1>", "occurs twice", ":4:1"]),
    "empty label": (HEAD + "< > NO = NO2 : 1;", [":4:1:", "label <> is empty"]),
    "open label": (HEAD + "<R1 NO = NO2 : 1;", [":4:1:", "'<' follows"]),
    "no =": (HEAD + "NO + O3 : 1;", [":4:9:", "expected '='", "':' follows"]),
    "no rate": (HEAD + "NO = NO2;", [":4:9:", "expected ':' or '+'", "';' follows"]),
    "empty rate": (HEAD + "NO = NO2 : ;", [":4:12:", "expected a name, a number", "';' follows"]),
    "no reactant": (HEAD + "= NO2 : 1;", [":4:1:", "expected", "a name"]),
    "half a product": (HEAD + "NO = NO2 + : 1;", [":4:12:", "a name"]),
    "no ;": (HEAD + "NO = NO2 : 1e-3\nNO2 = NO : 1;", [":4:16:", "expected ';' or an operator", "'NO2' follows after"]),
    "open bracket": (HEAD + "NO = NO2 : 2*(1 + TEMP;", [":4:23:", "expected ')'"]),
    "species in a rate": (HEAD + "NO = NO2 : 2*o3;", [":4:14:", "o3, a variable species", "reactant"]),
    "species in a rate 2": (HEAD + "NO = NO2 : 2*C(ind_O3);", [":4:14:", "O3, a variable species"]),
    "unknown function": (HEAD + "NO = NO2 : 2*sqr(TEMP);", [":4:14:", "'sqr(TEMP)' in <R1>", "did you mean 'SQRT'"]),
    "rate function": (HEAD + "NO = NO2 : 2*ARR2(1);", [":4:14:", "ARR2 takes 2 arguments, (a, b), not 1"]),
    "arguments": (HEAD + "NO = NO2 : PHOTO(1);", [":4:12:", "PHOTO takes 2 arguments, not 1"]),
    "variable photolysis": (HEAD + "NO = NO2 : PHOTO(TEMP, 1);", [":4:12:", "two constants"]),
    "infinite rate": (HEAD + "NO = NO2 : 1/0;", [":4:1:", "not a finite number"]),
    "negative rate": (HEAD + "NO = NO2 : 1 - 3;", [":4:1:", "-2.0 is negative"]),
    "infinite part": (HEAD + "NO = NO2 : TEMP*log(0);", [":4:1:", "log(0.0) is not a finite number"]),
    "infinite photolysis": (HEAD + "NO = NO2 : PHOTO(1/0, 1);", [":4:1:", "not a finite number"]),
    "large number": (HEAD + "NO = NO2 : 1e999;", [":4:12:", "too large"]),
    "deep rate": (HEAD + "NO = NO2 : " + "-" * 5000 + "1;", [":4:1:", "levels"]),
    "strange sign": (HEAD + "NO = NO2 : 1 & 2;", [":4:14:", "'&' follows"]),
    "half a reactant": (HEAD + "0.5 NO = NO2 : 1;", [":4:1:", "is whole, not 0.5"]),
    "many reactants": (HEAD + "1000000000 NO = NO2 : 1;", [":4:1:", "has 1e+09 reactants, and may have 12"]),
    "initial of unknown": ("#DEFVAR\nA = IGNORE;\n#INITVALUES\nB = 1;", [":4:1:", "species 'B'"]),
    "negative initial": ("#DEFVAR\nA = IGNORE;\n#INITVALUES\nA = -1;", [":4:1:", ">= 0"]),
    "initial no number": ("#DEFVAR\nA = IGNORE;\n#INITVALUES\nA = TEMP;", [":4:1:", ">= 0"]),
    "include nothing": ("#INCLUDE\n#DEFVAR\nA = IGNORE;", [":1:9:", "the name of the file"]),
    "include missing": ("#INCLUDE tset.def\n", [":1:9:", "'tset.def'", "did you mean 'test.def'"]),
    "include absolute": ("#INCLUDE /etc/passwd\n", [":1:9:", "'/etc/passwd'", "is named from the root"]),
    "include home": ("#INCLUDE ~/atoms\n", [":1:9:", "'~/atoms'", "is named from the root"]),
    "include and text": ("#INCLUDE atoms\nA = IGNORE;", [":2:1:", "expected a command"]),
    "binary": (b"\x7fELF\x02\x01\x00\x00", ["test.def", "not a text file"]),
    "utf-16": ("#DEFVAR\nA = IGNORE;".encode("utf-16"), ["not a text file"]),
}


@pytest.mark.parametrize("case", BAD)
def test_message(case: str, write) -> None:
    text, parts = BAD[case]
    with pytest.raises(MechanismError) as error:
        load_mechanism(write(text))
    message = str(error.value)
    for part in parts:
        assert part in message, message
    assert len(message) < 400
    for terminal in ("SEMICOLON", "COEFFICIENT", "Token", "LABEL", "$"):
        assert terminal not in message


def test_fault_in_an_included_file_names_that_file(write) -> None:
    write("#EQUATIONS\n\n  NO = NO2 ; ", "own.eqn")
    with pytest.raises(MechanismError, match=r"own\.eqn:3:12: expected ':'"):
        load_mechanism(write("#DEFVAR\nNO = IGNORE;\n#INCLUDE own.eqn"))


def test_unknown_mechanism() -> None:
    with pytest.raises(MechanismError, match=r"no mechanism 'emap' .*emep.*tracer.*did you mean 'emep'"):
        load_mechanism("emap")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(MechanismError, match="no such file"):
        load_mechanism(tmp_path / "none.def")
    (tmp_path / "folder.def").mkdir()
    with pytest.raises(MechanismError, match="is not a file"):
        load_mechanism(tmp_path / "folder.def")
    with pytest.raises(MechanismError):
        load_mechanism("x" * 5000 + ".def")
    with pytest.raises(MechanismError):
        load_mechanism("a\0b.def")


def loads_or_says_why(path: Path) -> None:
    """Load a file; anything but a network or a MechanismError is a failure."""
    with suppress(MechanismError):
        network = load_mechanism(path)
        assert isinstance(network, ReactionNetwork)
        assert len(network.rate_constants) == len(network.reactions)


PIECES = [
    "{",
    "}",
    "//",
    "#",
    "#EQUATIONS\n",
    "#DEFVAR\n",
    "#INCLUDE emep.spc\n",
    "<R1>",
    ";",
    ":",
    "=",
    "+",
    "-",
    "(",
    ")",
]
PIECES += [
    "^",
    "**",
    "1e",
    "1e5000",
    "9" * 5000,
    "hv",
    "NO",
    "exp(",
    "\0",
    "\xff",
    "\n",
    "\r",
    " ",
    "é",
    "²",
    "∞",
    "IGNORE",
    "#INLINE F90_RATES\n",
    "\n#ENDINLINE\n",
    "#INCLUDE fuzz.def\n",
    "#MODEL emep\n",
    "#SETFIX ALL_SPEC;",
    "#CHECK N;",
    "&\n",
    '"j x"',
    "1.0_dp",
    "J(1)",
    "ARR2(1,",
    "FALL(1,2,3,4,5,6,7)",
    "C(ind_NO)",
    "1/3 ",
    "CFACTOR",
]


@pytest.fixture(scope="module")
def fuzz_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "fuzz.def"


SOURCES = {name: (MECHANISMS / name).read_text(encoding="utf-8") for name in ("emep.eqn", "emep.spc")}


@settings(max_examples=150)
@given(
    source=st.sampled_from(sorted(SOURCES)),
    window=st.tuples(st.integers(0, 10_000), st.integers(0, 1500)),
    edits=st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 40), st.sampled_from(PIECES)), max_size=4),
)
def test_mutated_files(
    source: str, window: tuple[int, int], edits: list[tuple[int, int, str]], fuzz_file: Path
) -> None:
    start, length = window
    text = "#INCLUDE emep.spc\n#EQUATIONS\n" * (source == "emep.eqn") + SOURCES[source][start : start + length]
    for place, removed, inserted in edits:
        text = text[:place] + inserted + text[place + removed :]
    fuzz_file.write_bytes(text.encode())
    loads_or_says_why(fuzz_file)


@settings(max_examples=150)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_random_pieces(pieces: list[str], fuzz_file: Path) -> None:
    fuzz_file.write_text("".join(pieces), encoding="utf-8")
    loads_or_says_why(fuzz_file)


@settings(max_examples=100)
@given(data=st.binary(max_size=200))
def test_random_bytes(data: bytes, fuzz_file: Path) -> None:
    fuzz_file.write_bytes(data)
    loads_or_says_why(fuzz_file)


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "-",
        "1+",
        "<a>",
        "{",
        "{}",
        "#ATOMS\n",
        "NO=",
        "2^",
        "A ",
        "exp(",
        "\n",
        "//",
        "#INLINE a\n",
        "#ENDINLINE\n",
        "&\n",
        '"',
        "J(1)*",
        "ARR_ab(1,",
        "A=B:1;\n",
        "#SETVAR NO;\n",
    ],
)
def test_long_repetitions_end(piece: str, fuzz_file: Path) -> None:
    fuzz_file.write_text(HEAD + "NO = NO2 : " + piece * 5000, encoding="utf-8")
    loads_or_says_why(fuzz_file)
    fuzz_file.write_text(piece * 2000, encoding="utf-8")
    loads_or_says_why(fuzz_file)


RO2 = """#DEFVAR
A = IGNORE; B = IGNORE; X = IGNORE; Y = IGNORE;
#INLINE F90_RCONST
  {code}
#ENDINLINE
#EQUATIONS
<P1> A = B : 2*1.2e-12*{name};
<P2> X = Y : {name}*1e-12;
"""
CODE = "RO2 = &\n    C(ind_X) * &\n    C(ind_Y)"


@pytest.mark.parametrize("code", [CODE, "RO2 = C(ind_X) - C(ind_Y)", "RO2=1.0\n RO2 = RO2 + c( IND_X )"])
def test_what_code_computes_from_species_is_named_with_the_remedy(tmp_path: Path, code: str) -> None:
    path = tmp_path / "mcm.eqn"
    path.write_text(RO2.format(code=code, name="RO2"), encoding="utf-8")
    with pytest.raises(MechanismError) as caught:
        load_mechanism(path)
    assert "<P1> depends on RO2, which inlined code computes from variable species" in str(caught.value)
    assert "A + X = B + X : k" in str(caught.value)
    assert str(caught.value).count("depends on") == 1
    path.write_text(RO2.format(code=f"{code}\n K2 = 3.0\n K2 = 4.0", name="K2"), encoding="utf-8")
    with pytest.raises(MechanismError, match="there is no formula for 'K2' in <P1>"):
        load_mechanism(path)


def test_the_remedy_gives_the_same_rate(tmp_path: Path) -> None:
    """A = B : k (X + Y) is A + X = B + X : k with A + Y = B + Y : k."""
    path = tmp_path / "mcm.eqn"
    path.write_text(
        "#DEFVAR A=IGNORE; B=IGNORE; X=IGNORE; Y=IGNORE;\n#EQUATIONS\nA + X = B + X : 2;\nA + Y = B + Y : 2;"
    )
    network = load_mechanism(path)
    change = tendency(network, rates(network, {}), np.array([3.0, 0.0, 5.0, 7.0]))
    assert change.tolist() == [-72.0, 72.0, 0.0, 0.0]


FUZZED = {
    "no variable": ("#DEFVAR A = IGNORE;\n#SETFIX ALL_SPEC;\n", "#SETFIX leaves no variable species"),
    "initial": ("#DEFVAR A = IGNORE;\n#INITVALUES CFACTOR = 1e200; A = 1e200;\n", ":1:9: the initial value of a times"),
}


@pytest.mark.parametrize(("text", "message"), FUZZED.values(), ids=FUZZED)
def test_what_fuzzing_found(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.eqn"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MechanismError) as caught:
        load_mechanism(path)
    assert message in str(caught.value)


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"version": "1.0.0",\n "name": "\\ud800"}', encoding="utf-8")
    with pytest.raises(MechanismError, match=r"m\.json:2:10: half of a surrogate pair"):
        load_mechanism(path)

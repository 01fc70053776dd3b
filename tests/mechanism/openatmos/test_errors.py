"""Invalid files: message and location; no input crashes or hangs the reader."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import MechanismError
from airshed.mechanism import ReactionNetwork
from airshed.mechanism.openatmos import read_openatmos

from .documents import camp, document, with_reaction

Save = Callable[..., Path]
GAS = {"gas phase": "gas"}
A = [{"name": "A"}]
SIDES: dict[str, Any] = {**GAS, "reactants": A, "products": A}


def arrhenius(**members: Any) -> dict[str, Any]:
    return with_reaction(type="ARRHENIUS", **{**SIDES, **members})


def species(*extra: Any) -> dict[str, Any]:
    return document(species=[*document()["species"], *extra])


TEXTS = {
    "empty": ("", [":1:1: ", "expected a value, not the end of the file"]),
    "no json": ("version: 1", [":1:1: this is not JSON: 'version: 1'"]),
    "comma": ('{"version": "1.0.0",}', [":1:21: expected a key in double quotes, not '}'"]),
    "no comma": ('{"version": "1.0.0"\n "name": 1}', [":2:2: expected ',' or '}', not '\"name\"'"]),
    "no colon": ('{"version" 1}', [":1:12: expected :"]),
    "open list": ('{"species": [1', [":1:15: expected ',' or ']', not the end of the file"]),
    "two values": ("{} {}", [":1:4: expected the end of the file"]),
    "nan": ('{"version": NaN}', [":1:13: this is not JSON: 'NaN}'"]),
    "half a number": ('{"version": 1.}', ["this is not JSON"]),
    "key twice": ('{"version": "1.0.0",\n "version": "1.0.0"}', [":2:2: ", "'version' occurs twice"]),
    "deep": ('{"a":' * 100 + "1" + "}" * 100, ["nested deeper than 60 levels"]),
    "deep list": ("[" * 100_000, ["nested deeper than 60 levels"]),
    "a list": ("[]", ["expected a mechanism", "a list"]),
    "a number": ("3", ["expected a mechanism"]),
    "another file": ('{"name": "x"}', ["'version' is missing", "camp-files"]),
    "a part": ('{"camp-data": []}', ["a part of a mechanism", "'camp-files'"]),
}

YAML = {
    "tab": ("version: 1.0.0\n\tname: x\n", ["test.yaml:2:1: this is not YAML"]),
    "alias": ("a: &x [1]\nb: *x\n", ["test.yaml:1:4: ", "anchors"]),
    "tag": ("a: !!python/object:os.system []\n", ["test.yaml:1:4: ", "tags"]),
    "two documents": ("version: 1.0.0\n---\nname: x\n", ["test.yaml:2:1: ", "second document"]),
    "key twice": ("version: 1.0.0\nversion: 1.0.0\n", ["test.yaml:2:1: ", "occurs twice"]),
    "key that is a list": ("? [a]\n: 1\n", ["test.yaml:1:3: ", "expected a text as key"]),
    "open list": ("a: [1, 2\n", ["test.yaml:2:1: this is not YAML"]),
    "empty": ("", ["expected a mechanism"]),
    "deep": ("a: " + "[" * 2000, ["levels"]),
}

DOCUMENTS: dict[str, tuple[Any, list[str]]] = {
    "version 2": (document(version="2.0.0"), ["/version: version '2.0.0' is not read"]),
    "version that is a list": (document(version=[]), ["/version: expected a number"]),
    "no species": (document(species=[], phases=[], reactions=[]), ["no species"]),
    "all fixed": (document(species=[{"name": "M", "is third body": True}], reactions=[],
        phases=[{"name": "gas", "species": ["M"]}]), ["no species of the gas phase that chemistry changes"]),
    "section is a text": (document(species="A"), ["/species: expected a list [...], not 'A'"]),
    "unknown key": (document(specie=[]), ["/specie: 'specie' is not known here; did you mean 'species'?"]),
    "species without a name": (species({"nam": "x"}), ["/species/9: 'name' is missing; did you mean 'nam'?"]),
    "species twice": (species({"name": "A"}), ["/species/9: species 'A' is declared a second time", "test.json:"]),
    "case of letters": (species({"name": "a"}), ["/species/9: ", "case of letters"]),
    "unknown species key": (species({"name": "x", "atoms": {}}), ["/species/9/atoms: 'atoms' is not known here"]),
    "mass": (species({"name": "x", "molecular weight [kg mol-1]": "heavy"}), ["expected a number, not 'heavy'"]),
    "negative mass": (species({"name": "x", "molecular weight [kg mol-1]": -1}), ["not negative"]),
    "two constants": (species({"name": "x", "constant concentration [mol m-3]": 1,
        "constant mixing ratio [mol mol-1]": 1}), ["/species/9: either", "not both"]),
    "no phase": (document(phases=[]), ["/reactions/0/gas phase: the phase 'gas' is not among the phases"]),
    "phase without species": (document(phases=[{"name": "gas"}]), ["/phases/0: 'species' is missing"]),
    "phase of unknown species": (document(phases=[{"name": "gas", "species": ["A", "Z"]}]),
        ["/phases/0/species/1: species 'Z' is not declared"]),
    "two phases": (document(reactions=[{"type": "ARRHENIUS", **SIDES},
        {"type": "ARRHENIUS", **SIDES, "gas phase": "other"}]), ["/reactions/1/gas phase", "one gas phase"]),
    "no type": (with_reaction(**SIDES), ["/reactions/0: 'type' is missing"]),
    "unknown type": (with_reaction(type="ARHENIUS", **SIDES), ["unknown type", "did you mean 'ARRHENIUS'?"]),
    "cloud": (with_reaction(type="SIMPOL_PHASE_TRANSFER"), ["only gas-phase chemistry", "SIMPOL_PHASE_TRANSFER (1)"]),
    "no reactants": (with_reaction(type="ARRHENIUS", products=A, **GAS), ["/reactions/0: 'reactants' is missing"]),
    "empty reactants": (arrhenius(reactants=[]), ["has reactants; without them it is an EMISSION"]),
    "no gas phase": (with_reaction(type="ARRHENIUS", reactants=A, products=A), ["'gas phase' is missing"]),
    "undeclared": (arrhenius(reactants=[{"name": "AA"}]), ["/reactions/0/reactants/0/name: species 'AA'", "'A'?"]),
    "not in the phase": (arrhenius(products=["aerosol only"]), ["'aerosol only' is not declared in the gas phase"]),
    "two names": (arrhenius(products=[{"name": "A", "species name": "A"}]), ["either 'name' or 'species name'"]),
    "half a reactant": (arrhenius(reactants=[{"name": "A", "coefficient": 0.5}]), ["1, 2, 3, ...", "not 0.5"]),
    "no reactant of it": (arrhenius(reactants=[{"name": "A", "coefficient": 0}]), ["not 0"]),
    "unknown coefficient": (arrhenius(products=[{"name": "A", "yield": 0.5}]), ["/products/0/yield: 'yield'"]),
    "a key of several lines": (document(**{"a\nb": []}), [r"/a\nb: 'a\nb' is not known here"]),
    "unknown parameter": (arrhenius(F=1), ["/reactions/0/F: 'F' is not known here"]),
    "A is a text": (arrhenius(A="much"), ["/reactions/0/A: expected a number, not 'much'"]),
    "A is infinite": (arrhenius(A="inf"), ["/reactions/0/A: the number is not finite"]),
    "A is too large": ('{"version": "1.0.0", "species": [{"name": "A", "molecular weight [kg mol-1]": 1e999}]}',
        ["'phases' is missing"]),
    "D is zero": (arrhenius(D=0), ["/reactions/0/D: D is above zero"]),
    "C and Ea": (arrhenius(C=1.0, Ea=1.0), ["either 'Ea' or 'C', not both"]),
    "Fc": (with_reaction(type="TROE", Fc=0, **SIDES), ["Fc is above zero"]),
    "no a0": (with_reaction(type="BRANCHED_NO_RO2", X=1, Y=1, n=2, reactants=A, **GAS,
        **{"alkoxy products": A, "nitrate products": A}), ["'a0' is missing"]),
    "a0 of zero": (with_reaction(type="BRANCHED_NO_RO2", X=1, Y=1, a0=0, n=2, reactants=A, **GAS,
        **{"alkoxy products": A, "nitrate products": A}), ["/a0: the nitrate's share"]),
    "n of a thousand": (with_reaction(type="BRANCHED_NO_RO2", X=1, Y=1, a0=0.1, n=1000, reactants=A, **GAS,
        **{"alkoxy products": A, "nitrate products": A}), ["/n: the number of heavy atoms"]),
    "long series": (with_reaction(type="TAYLOR_SERIES", **SIDES, **{"taylor coefficients": [1] * 17}), ["1 to 16"]),
    "two of light": (with_reaction(type="PHOTOLYSIS", name="j", **{**SIDES, "reactants": [*A, *A]}), ["one reactant"]),
    "surface without diffusion": (with_reaction(type="SURFACE", name="s", **GAS,
        **{"gas-phase species": "B", "gas-phase products": A}), ["needs 'diffusion coefficient [m2 s-1]' of 'B'"]),
    "probability": (with_reaction(type="SURFACE", name="s", **GAS, **{"gas-phase species": "A",
        "gas-phase products": [], "reaction probability": 2}), ["a probability is 0 to 1, not 2"]),
    "one name for two": (document(reactions=[
        {"type": "USER_DEFINED", "name": "k", **SIDES},
        {"type": "USER_DEFINED", "name": "k", **SIDES, "reactants": [*A, *A]}]), ["USER.k is in 1/s", "another name"]),
    "formula": (arrhenius(__rate="1 +"), ["/reactions/0/__rate: column 4"]),
    "function": (arrhenius(__rate="foo(1, 2)"), ["/reactions/0/__rate: column 1: there is no function"]),
    "missing file": (document(reactions={"files": ["none.json"]}), ["/files/0: there is no file 'none.json'"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, save: Save) -> None:
    text, parts = TEXTS[name]
    complains(save(text), parts)


@pytest.mark.parametrize("name", YAML)
def test_yaml(name: str, save: Save) -> None:
    text, parts = YAML[name]
    complains(save(text, "test.yaml"), parts)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(name: str, save: Save) -> None:
    content, parts = DOCUMENTS[name]
    complains(save(content), parts)


def complains(path: Path, parts: list[str]) -> None:
    with pytest.raises(MechanismError) as caught:
        read_openatmos(path)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert len(message) < 700
    assert path.name in message
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"config.json": {"camp-files": ["none.json"]}}, ["config.json:1:17: /camp-files/0: there is no file"]),
        ({"config.json": {"camp-files": ["species.json"], "x": 1}}, ["/x: 'x' is not known here"]),
        ({"species.json": {"camp-data": [{"type": "CHEM_SPEC"}]}}, ["species.json:1:16: /camp-data/0: 'name'"]),
        ({"species.json": {"camp-dat": []}}, ["species.json:1:1: 'camp-data' is missing", "'camp-dat'?"]),
        ({"reactions.json": {"camp-data": [{"type": "SIMPOL_PHASE_TRANSFER"}]}}, ["only gas-phase chemistry"]),
        ({"reactions.json": {"camp-data": [{"type": "ARRHENIUS", "reactants": {"A": {"qty": 0.5}}, "products": {}}]}},
         ["/camp-data/0/reactants/A: a reaction uses up 1, 2, 3, ... of A, not 0.5"]),
        ({"reactions.json": {"camp-data": [{"type": "ARRHENIUS", "reactants": {"A": {}}, "products": {},
          "time unit": "h"}]}}, ["a time unit is 's' or 'MIN'"]),
        ({"reactions.json": {"camp-data": [{"type": "ARRHENIUS", "reactants": {}, "products": {}}]}},
         ["has reactants"]),
    ],
)  # fmt: skip
def test_camp(changes: dict[str, Any], parts: list[str], save: Save) -> None:
    for name, content in camp(**changes).items():
        path = save(content, name)
    with pytest.raises(MechanismError) as caught:
        read_openatmos(path.with_name("config.json"))
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_bytes(b'{"version": "\xff"}')
    complains(tmp_path / "test.json", ["no text in UTF-8 (byte 13)"])
    complains(tmp_path / "none.json", ["cannot be read (No such file or directory)"])


anything = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


def attempt(text: str, suffix: str) -> None:
    """Read a text: a network, or an error with the file's name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"fuzz{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with suppress(MechanismError):
            assert isinstance(read_openatmos(path), ReactionNetwork)


@given(st.data())
def test_any_member_may_be_anything(data: st.DataObject) -> None:
    """A member of a valid file is replaced, removed or renamed."""
    content: Any = document()
    place, key = content, "reactions"
    for _ in range(data.draw(st.integers(1, 6))):
        inside = place[key]
        if not isinstance(inside, dict | list) or not inside:
            break
        place, key = (
            inside,
            data.draw(st.sampled_from(list(inside) if isinstance(inside, dict) else range(len(inside)))),
        )
    if data.draw(st.booleans()):
        key = data.draw(st.sampled_from(list(content))) if place is content else key
    if data.draw(st.integers(0, 3)):
        place[key] = data.draw(anything)
    else:
        del place[key]
    attempt(json.dumps(content), data.draw(st.sampled_from([".json", ".yaml"])))


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_text_may_be_damaged(data: st.DataObject) -> None:
    text = json.dumps(document(), indent=data.draw(st.sampled_from([None, 1])))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.text('{}[]",:01eE-+.&*!|>%@`#\\ntu \n\t', max_size=5)) + text[end:]
    attempt(text, data.draw(st.sampled_from([".json", ".yaml"])))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80) | anything.map(json.dumps), st.sampled_from([".json", ".yaml"]))
def test_any_text_at_all(text: str, suffix: str) -> None:
    attempt(text, suffix)


def test_mutated_files_of_the_package(package: dict[str, Path]) -> None:
    text = package["chapman"].read_text()
    for position in range(0, len(text), 97):
        attempt(text[:position], ".json")
        attempt(text[:position] + "}" + text[position + 1 :], ".json")


def test_a_name_of_what_is_open_that_is_too_long_has_its_place(save: Save) -> None:
    path = save(with_reaction(type="PHOTOLYSIS", name="a" * 300, **SIDES))
    with pytest.raises(
        MechanismError, match=r"^\S+:\d+:\d+: the open parameter 'PHOTO.aaa.*longer than 200 characters"
    ):
        read_openatmos(path)


def test_a_long_key_is_told_in_short(save: Save) -> None:
    with pytest.raises(MechanismError) as caught:
        read_openatmos(save(arrhenius(**{"k" * 100_000: 1})))
    assert len(str(caught.value)) < 600

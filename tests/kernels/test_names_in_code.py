"""Names from files appear in generated code only in comments, for any text in any format.

Each of the strange texts is put into each text field of each format. It is refused in one line, or the generated code
without comments equals that of the plain text. The test first repeats the first phases of a compiler: it replaces
trigraphs and joins lines that end in a backslash. Every character that ends a line in some compiler or terminal ends a
line.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import airshed.kernels.cells
import airshed.kernels.cells.emit
import airshed.kernels.step.emit
from airshed.core.errors import AirshedError, KernelError
from airshed.kernels import cpp as template
from airshed.kernels.backends.cuda.cells import CELLS
from airshed.kernels.cells.emit import ChemistryShape, emit_chemistry
from airshed.kernels.layout import MechanismShape
from airshed.kernels.schedule import schedule
from airshed.kernels.step.emit import emit
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.network import OpenParameter, Reaction, Species

ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
STRANGE = [
    *(f"x{chr(code)}int stolen;" for code in (*range(32), *range(127, 161))),
    *(f"x{end}int stolen;//" for end in ENDS),
    "x\\", "x\\ ", "x??/", "x????/", "X\\\nint stolen;", "x*/ int stolen; /*", "*/", "//", '"', 'x"; int stolen; "',
    "{{ 7 * 7 }}", "{% raw %}", "[red]x[/red]", "../../../etc/x", "x\u202ey", "α", "x" * 300, "#line 1", "%s{0}",
]  # fmt: skip
SOME = [text for number, text in enumerate(STRANGE) if number % 4 == 0 or number >= 65]
"""Of the control characters one in four, and all other texts."""
TRIGRAPHS = {"=": "#", "/": "\\", "'": "^", "(": "[", ")": "]", "!": "|", "<": "{", ">": "}", "-": "~"}


def bare(code: str) -> list[str]:
    """Return the lines of code without comments and blanks."""
    code = re.sub(r"\?\?([=/'()!<>-])", lambda match: TRIGRAPHS[match[1]], re.sub(f"[{ENDS}]", "\n", code))
    code = re.sub(r"\\[ \t]*\n", "", code)
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    return [" ".join(words) for line in code.split("\n") if (words := line.split())]


@pytest.fixture(autouse=True)
def without_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the headers out of the code, which are always the same."""
    for module in (airshed.kernels.step.emit, airshed.kernels.cells.emit):
        monkeypatch.setattr(module, "header", lambda *names: template.GeneratedText(""))


def generated(network: ReactionNetwork) -> list[list[str]]:
    """Return the generated code of a network: for columns, for cells, and for cells on a device."""
    columns = emit(network, schedule(network, 3), MechanismShape(8, "double", 4, network.atoms)).text
    cells = (
        emit_chemistry(network, ChemistryShape(8, "double")),
        emit_chemistry(network, ChemistryShape(32, "double"), CELLS),
    )
    return [bare(columns), *(bare(each.text) for each in cells)]


Fields = Collection[str]

# ---- files -----------------------------------------------------------------------------------------------------------

KPP = """#ATOMS N; O;
#DEFVAR
@name@ = N + O; {@remark@}
B = N + 2O; // @comment@
#DEFFIX
F = IGNORE;
#EQUATIONS
<@label@> @name@ + F = B : 1e-12*k_x*"@quoted@";
<2> B = @name@ : 1e-3 + @open@;
"""
RATES = '@key@ = "2*TEMP + @inside@"\n'
GAS = {"gas phase": "gas"}
FORTH: dict[str, Any] = {**GAS, "reactants": ["@name@"], "products": ["B"]}
BACK: dict[str, Any] = {**GAS, "reactants": ["B"], "products": ["@name@"]}
JSON: dict[str, Any] = {
    "version": "1.0.0", "name": "@title@", "__atoms": ["N", "@atom@"],
    "__parameters": [{"name": "USER.own", "unit": "@unit@", "text": "@text@"}, {"name": "@parameter@"}],
    "species": [{"name": "@name@", "__description": "@remark@", "__atoms": {"@element@": 1}}, {"name": "B"}],
    "phases": [{"name": "gas", "species": ["@name@", "B"]}],
    "reactions": [
        {"type": "ARRHENIUS", "name": "@label@", "A": 2.0, **FORTH},
        {"type": "PHOTOLYSIS", "name": "@light@", **BACK},
        {"type": "USER_DEFINED", "name": "own", "__label": "@own@", "__rate": '3*"@rate@"', **FORTH},
    ],
}  # fmt: skip
CAMP: list[dict[str, Any]] = [
    {"type": "CHEM_SPEC", "name": "@name@", "__long name": "@remark@"}, {"type": "CHEM_SPEC", "name": "B"},
    {"type": "PHOTOLYSIS", "MUSICA name": "@light@", "reactants": {"@name@": {}}, "products": {"B": {}}},
    {"type": "ARRHENIUS", "MUSICA name": "@label@", "A": 2.0, "reactants": {"B": {}}, "products": {"@name@": {}}},
]  # fmt: skip


def filled(value: Any, chosen: Fields, text: str) -> Any:
    """Return a document with a text in chosen fields, and letters in the others."""
    if isinstance(value, dict):
        return {filled(key, chosen, text): filled(each, chosen, text) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, chosen, text) for each in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"@(\w+)@", lambda match: text if match[1] in chosen else f"P{match[1]}", value)


def kpp(folder: Path, chosen: Fields, text: str) -> Path:
    path = folder / "m.def"
    path.write_bytes(filled(KPP, chosen, text).encode())
    path.with_name("m.rates.toml").unlink(missing_ok=True)
    return path


def side(folder: Path, chosen: Fields, text: str) -> Path:
    path = kpp(folder, (), "")
    text = json.dumps(text)[1:-1].replace("\x7f", "\\u007f")
    toml = filled(RATES, chosen, text)
    path.with_name("m.rates.toml").write_text(f"k_x = 2.0\n{toml}" if "key" in chosen else toml.replace("Pkey", "k_x"))
    return path


def openatmos(folder: Path, chosen: Fields, text: str) -> Path:
    path = folder / "m.json"
    path.write_text(json.dumps(filled(JSON, chosen, text)))
    return path


def in_yaml(folder: Path, chosen: Fields, text: str) -> Path:
    path = folder / "m.yaml"
    path.write_text(json.dumps(filled(JSON, chosen, text)))  # which is YAML, too
    return path


def camp(folder: Path, chosen: Fields, text: str) -> Path:
    (folder / "data.json").write_text(json.dumps({"camp-data": filled(CAMP, chosen, text)}))
    path = folder / "config.json"
    path.write_text(json.dumps({"camp-files": ["data.json"]}))
    return path


def named(folder: Path, chosen: Fields, text: str) -> Path:
    """The name of the file itself."""
    path = folder / f"{(text if chosen else 'm').replace('/', '_').replace(chr(0), '')[:200]}.def"
    path.write_text(filled(KPP, (), ""))
    return path


FORMATS: dict[str, tuple[Callable[..., Path], object]] = {
    "kpp": (kpp, KPP), "side file": (side, RATES), "openatmos": (openatmos, JSON), "yaml": (in_yaml, JSON),
    "camp": (camp, CAMP), "file name": (named, "@file@"),
}  # fmt: skip


def fields_of(form: object) -> list[str]:
    return sorted(set(re.findall(r"@(\w+)@", str(form))))


RATES_THEMSELVES = ("key", "inside", "open", "quoted", "comment")
"""Fields in which a text may say another rate, in the language."""


@pytest.mark.parametrize("name", FORMATS)
def test_no_text_of_a_file_becomes_code(name: str, tmp_path: Path) -> None:
    # YAML and Camp go through the reader of JSON: a part will do.
    compare_texts(name, SOME[::3] if name in ("yaml", "camp") else SOME, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_none_of_many_texts_of_a_file_becomes_code(name: str, tmp_path: Path) -> None:
    compare_texts(name, STRANGE, tmp_path)


def compare_texts(name: str, texts: list[str], tmp_path: Path) -> None:
    """Put each text into each field of a format, and compare the code with that of the plain file."""
    write, form = FORMATS[name]
    plain = generated(load_mechanism(write(tmp_path, (), "")))
    messages, compared = [], 0
    for text in texts:
        taken = []
        for field in fields_of(form):
            try:
                network = load_mechanism(write(tmp_path, (field,), text))
                taken.append(field)
            except AirshedError as error:
                messages.append(str(error))
                continue
            if field in RATES_THEMSELVES:
                assert "stolen" not in str(generated(network)), (field, text)
        words = [field for field in taken if field not in RATES_THEMSELVES]
        if words:
            assert generated(load_mechanism(write(tmp_path, words, text))) == plain, (words, text)
            compared += 1
    assert all(map(str.isprintable, messages))
    assert messages
    assert compared > 5 or name == "side file"  # it is not by refusing everything


# ---- networks that no reader has checked -----------------------------------------------------------------------------


def network() -> ReactionNetwork:
    reactions = (
        Reaction("one", (("A", 1.0),), (("B", 1.0),), read_rate("2e-3*k_x"), "A = B"),
        Reaction("two", (("B", 1.0),), (("A", 2.0),), read_rate("1e-3*SUN"), "B = 2 A"),
    )
    species = Species("A", {"N": 1}, "first"), Species("B", {"N": 1}, "second")
    return ReactionNetwork("plain", species, (), reactions, ("N",), declared=(OpenParameter("k_x", "1/s", "rate"),))


def poisoned(value: Any, poison: Callable[[str], str]) -> Any:
    """Return a tree of data classes with a poison after every text, bypassing their checks."""
    if isinstance(value, str):
        return poison(value)
    if isinstance(value, tuple):
        return tuple(poisoned(each, poison) for each in value)
    if isinstance(value, dict):
        return {poisoned(key, poison): poisoned(each, poison) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        new = object.__new__(type(value))
        for each in fields(value):
            own = getattr(value, each.name)
            spared = each.name == "operator" or type(value).__name__ in ("Symbol", "Call")
            object.__setattr__(new, each.name, own if spared and isinstance(own, str) else poisoned(own, poison))
        return new
    return value


def variants() -> Iterator[tuple[str, ReactionNetwork]]:
    for text in STRANGE:
        yield text, poisoned(network(), lambda name, text=text: name + text)


def test_no_text_of_a_network_becomes_code() -> None:
    plain = generated(network())
    for text, each in variants():
        assert generated(each) == plain, text


@pytest.mark.parametrize("raw", ["columns", "cells"])
def test_raw_comments_would_be_noticed(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An emitter that writes names as they are is caught: by the frame, and without its check by the comparison."""
    plain = generated(network())
    monkeypatch.setattr(template, "comment", str)
    for module in (airshed.kernels.step.emit, airshed.kernels.cells.emit):
        monkeypatch.setattr(module, "described", lambda reaction: f"<{reaction.label}> {reaction.text}")
    monkeypatch.setattr(airshed.kernels.cells.emit, "comment", str)
    template._frame.cache_clear()
    strange = poisoned(network(), lambda name: f"{name}\nint stolen;")
    number = ("columns", "cells").index(raw)
    make = (
        lambda: emit(strange, schedule(strange, 3), MechanismShape(8, "double", 4, strange.atoms)).text,
        lambda: emit_chemistry(strange, ChemistryShape(8, "double")).text,
    )[number]
    try:
        if raw == "cells":
            with pytest.raises(KernelError, match="cannot be a line of generated code"):
                make()
        monkeypatch.setattr(template, "_checked", lambda value: value)
        template._frame.cache_clear()
        assert bare(make()) != plain[number]
        assert "int stolen;" in "\n".join(bare(make()))
    finally:
        template._frame.cache_clear()


def test_python_networks_are_checked_too() -> None:
    for make in (
        lambda text: Species(text),
        lambda text: Species("A", {text: 1}),
        lambda text: Reaction(text, (), (), read_rate("1")),
        lambda text: OpenParameter(text),
        lambda text: replace(network(), name=text),
        lambda text: replace(network(), atoms=(text,)),
    ):
        with pytest.raises(AirshedError):
            make("x\nint stolen;")

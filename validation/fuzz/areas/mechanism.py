"""Mechanisms in all formats: KPP, OpenAtmos in JSON and YAML, Camp, and rate files."""

import json
import random
import re
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml
from validation.fuzz.inputs import MECHANISMS
from validation.fuzz.judge import MARK
from validation.fuzz.nasty import TEXTS, number, spoil_file, spoil_tree, text
from validation.fuzz.trial import Trial

_GAS: Final = {"gas phase": "gas"}
_FALLOFF: Final = {
    "k0_A": 30.0,
    "k0_B": -1.5,
    "k0_C": 20.0,
    "kinf_A": 4e6,
    "kinf_B": 0.3,
    "kinf_C": -100.0,
    "Fc": 0.45,
    "N": 1.2,
}
_TO_B: Final = {**_GAS, "reactants": [{"name": "A"}, {"name": "C"}], "products": [{"name": "B", "coefficient": 0.5}]}
DOCUMENT: Final[dict[str, Any]] = {
    "version": "1.0.0",
    "name": "small",
    "species": [
        {"name": "A", "molecular weight [kg mol-1]": 0.046, "__description": "the first"},
        {"name": "B", "__atoms": {"N": 1}},
        {"name": "C", "absolute tolerance": 1e-12}, {"name": "M", "is third body": True},
        {"name": "Q", "constant mixing ratio [mol mol-1]": 0.25},
    ],
    "phases": [{"name": "gas", "species": [{"name": name} for name in "ABCMQ"]}],
    "reactions": [
        {"type": "ARRHENIUS", "name": "one", "A": 2.1e3, "B": -1.3, "C": 250.0, "D": 280.0, "E": 1e-6, **_TO_B},
        {"type": "TROE", "name": "two", **_FALLOFF, **_TO_B},
        {"type": "TUNNELING", "A": 9e3, "B": 900.0, "C": 2.1e7, **_TO_B},
        {"type": "TERNARY_CHEMICAL_ACTIVATION", **_FALLOFF, **_TO_B},
        {"type": "TAYLOR_SERIES", "A": 3e3, "C": 80.0, "taylor coefficients": [1.1], **_TO_B},
        {"type": "PHOTOLYSIS", "name": "jB", "scaling factor": 1e-3, **_GAS, "reactants": [{"name": "B"}],
        "products": [{"name": "A"}]},
        {"type": "FIRST_ORDER_LOSS", "name": "lA", "scaling factor": 1.0, **_GAS, "reactants": [{"name": "A"}]},
        {"type": "EMISSION", "name": "eA", **_GAS, "products": [{"name": "A"}]},
        {"type": "USER_DEFINED", "name": "uA", **_TO_B},
    ],
}  # fmt: skip
CAMP: Final[dict[str, Any]] = {
    "camp-data": [
        {"type": "RELATIVE_TOLERANCE", "value": 1e-6},
        {"type": "CHEM_SPEC", "name": "A", "molecular weight [kg mol-1]": 0.046}, {"type": "CHEM_SPEC", "name": "B"},
        {"type": "CHEM_SPEC", "name": "M", "tracer type": "THIRD_BODY"},
        {"type": "MECHANISM", "name": "camp", "reactions": [
            {"type": "ARRHENIUS", "A": 2.1e-12, "C": 250.0, "reactants": {"A": {}, "B": {}},
            "products": {"B": {"yield": 0.5}}},
            {"type": "ARRHENIUS", "A": 6e-34, "B": -2.4, "reactants": {"A": {"qty": 2}, "M": {}},
            "products": {"B": {}}},
            {"type": "PHOTOLYSIS", "MUSICA name": "jA", "scaling factor": 0.7, "reactants": {"A": {}},
            "products": {"B": {}}},
        ]},
    ],
}  # fmt: skip
RATES: Final = 'j_O2 = "2.643e-10*SUN^3"\nj_O3 = "6.120e-4*SUN + 1.070e-3*SUN^2"\n'
_EXPRESSIONS: Final = (
    "1e-2*(TEMP-300)", "-1e-5", "1/0", "1/(TEMP-TEMP)", "log(-1)", "sqrt(-TEMP)", "exp(1e6)", "1e308*10",
    "TEMP^TEMP^TEMP", "0^(-1)", "nan", "inf", "j_O2", "j_O3", "(" * 3000 + "1" + ")" * 3000, "-" * 3000 + "1",
    "1" + "+1" * 5000, "__import__('os')", "os.system(1)", "TEMP.real", "lambda: 1", "exp()", "exp(1,2)", "exp",
    "unknown(1)", "x", "", " ", "1 2", "1e", "1e99999", "1e-5;", "1e-5 // x", "1e-5 /* x */", '"', MARK, "\x00",
    "1e-5\n1e-5", "9**9**9**9", "min()", "max(1)", "pow(2,1e9)", "PHOTO(1)", "PHOTO(TEMP,1)", "SUN/0", "FALL(1)",
    "1D-5", "1.0_dp", "C(ind_O3)", "O3",
)  # fmt: skip

_NEGATIVE: Final = tuple(f" {value}" for value in ("1e-2*(TEMP-300)", "-1e-5", "'1e-2*(TEMP-300)'", "'-1e-5'"))
"""Ends of mutations that make a rate negative in the box, whose air has 270 K."""


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of a sound mechanism."""
    return _kpp(place, (MECHANISMS / "small_strato.def").read_text(), "nothing", variant, ["mechanism", "check"])


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil a mechanism, and show, convert or integrate it."""
    chance = rng.random()
    command = rng.choices(
        (["mechanism", "check"], ["mechanism", "show"], ["mechanism", "show", "--json"], ["mechanism", "convert"],
        ["mechanism", "map"],
         ["kernel", "show"], ["box"]), weights=(4, 4, 2, 2, 1, 1, 1),
    )[0]  # fmt: skip
    if chance < 0.40:
        return _spoilt_kpp(rng, place, command)
    if chance < 0.60:
        return _spoilt_rates(rng, place, command)
    return _spoilt_document(rng, place, command)


def _trial(place: Path, file: Path, mutation: str, kind: str, command: list[str]) -> Trial:
    output = None
    line = [*command[:2], str(file), *command[2:]]
    if command[-1] == "convert":
        output = None
        line = ["mechanism", "convert", str(file), str(place / "converted.json")]
    elif command[-1] == "box":
        conditions = place / "conditions.toml"
        conditions.write_text(
            '[time]\nstart = "10 h"\nlength = "10 min"\noutput_every = "5 min"\n[environment]\ntemperature = "270 K"\n'
            'pressure = "300 Pa"\n[rates]\nSUN = 0.5\n[solver]\nmost_steps = 300\n'
        )
        output = place / "box.nc"
        line = ["box", str(file), "--conditions", str(conditions), "--output", str(output)]
    names = (file.name, "small", "chapman", "mechanism", "converted.json", "/etc/passwd")
    words = f"{' '.join(command)}: {mutation}"
    never = command[-1] == "box" and mutation.endswith(_NEGATIVE)
    return Trial(
        place,
        words,
        kind,
        line,
        output=output,
        names=names,
        never=never,
        absent=(place / "RAN", place / "code" / "RAN"),
    )


def _kpp(place: Path, content: str | bytes, words: str, kind: str, command: list[str]) -> Trial:
    file = place / "small.def"
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return _trial(place, file, words, kind, command)


def _spoilt_kpp(rng: random.Random, place: Path, command: list[str]) -> Trial:
    content = (MECHANISMS / "small_strato.def").read_text()
    chance = rng.random()
    if chance < 0.35:
        spoilt, words = spoil_file(rng, content.encode())
        return _kpp(place, spoilt, words, "KPP: text", command)
    if chance < 0.6:
        what, pattern = rng.choice([
            ("a species", r"\bO1D\b"), ("a label", r"(?<=<)R8(?=>)"), ("a description", r"(?<=\{)ozone(?=\})"),
            ("an atom", r"\bN\b"), ("an included file", r"#CHECK O; N;"), ("a comment", r"(?<=// )O and N"),
        ])  # fmt: skip
        new = rng.choice(TEXTS)
        filled = f"#INCLUDE {new}\n" if what == "an included file" else new
        spoilt = re.sub(pattern, lambda _: filled, content)
        return _kpp(place, spoilt, f"{what} is {new[:60]!r}", f"KPP: {what}", command)
    if chance < 0.85:
        new = rng.choice([*_EXPRESSIONS, number(rng)])
        rates = re.findall(r": ([^;]*);", content)
        spoilt = content.replace(f": {rng.choice(rates)};", f": {new};")
        return _kpp(place, spoilt, f"a rate is {new[:60]!r}", "KPP: a rate", command)
    new = rng.choice([
        "#INITVALUES O3 = 1e400;", "#INITVALUES O3 = -1;", "#INITVALUES O3 = nan;", "#EQUATIONS <R1> O = O : 1;",
        "#EQUATIONS O = = O3 : 1;", "#EQUATIONS 1e9 O = O3 : 1;", "#EQUATIONS O = 1e300 O3 : 1e-5;",
        "#EQUATIONS O = -5 O3 : 1e-5;", "#EQUATIONS 0 O = O3 : 1;", "#EQUATIONS " + "O + " * 400 + "O = O3 : 1;",
        "#INCLUDE small.def", "#INCLUDE /dev/zero", "#INCLUDE /etc/passwd", "#MODEL small", "#DEFVAR O3 = 5O;",
        "#DEFVAR X = " + "9" * 400 + "O;", "#SETFIX ALL_SPEC;", "#INLINE F90_RATES\nk = 1\n", "#CHECK ALL;",
        "#LOOKAT O9;", "#INITVALUES CFACTOR = 0;", "#INITVALUES CFACTOR = -1e300;", "#EQUATIONS PROD = O : 1e300;",
        "#EQUATIONS O = PROD : 0/0;", "#DEFVAR hv = O;", "#DEFVAR TEMP = O;", "#DEFVAR M = O;",
        "#DEFVAR\n" + "".join(f"A{n} = IGNORE;\n" for n in range(3000)),
        "#EQUATIONS\n" + "".join(f"O + O3 = NO : {n}e-20;\n" for n in range(2000)),
    ])  # fmt: skip
    return _kpp(place, f"{content}\n{new}\n", f"with {new[:60]!r}", "KPP: a statement", command)


def _spoilt_rates(rng: random.Random, place: Path, command: list[str]) -> Trial:
    (place / "chapman.def").write_text((MECHANISMS / "chapman.def").read_text())
    (place / "code.py").write_text("open('RAN', 'w').close()\ndef k(**_):\n    return 1e-5\n")
    chance = rng.random()
    if chance < 0.5:
        value = rng.choice(_EXPRESSIONS)
        content, words = RATES.replace('"2.643e-10*SUN^3"', json.dumps(value)), f"j_O2 = {value[:60]!r}"
    elif chance < 0.65:
        spoilt, words = spoil_file(rng, RATES.encode())
        content = spoilt.decode("utf-8", "replace")
    elif chance < 0.8:
        key, value = (
            rng.choice(
                [text(rng), f"f({text(rng)})", "j_O2(x)", "J(3)", "O3", "TEMP", "f(x, x)", "f(" + "x," * 500 + ")"]
            ),
            rng.choice(_EXPRESSIONS),
        )
        content, words = f"{RATES}{json.dumps(key)} = {json.dumps(value)}\n", f"{key[:60]!r} = {value[:60]!r}"
    else:
        source = rng.choice(
            [
                *["code.py:k"] * 6,
                "../x.py:k",
                "/etc/passwd:k",
                "code.py",
                "code.py:",
                "code.py:os.system",
                "none.py:k",
                ":",
                "code.py:k:k",
            ]
        )
        value = rng.choice(
            [
                *[f'{{ python = "{source}" }}'] * 8,
                "{ python = 5 }",
                "{}",
                "5",
                "true",
                "[1, 2]",
                f'{{ python = "{source}", x = 1 }}',
                "nan",
                "-1.0",
                "inf",
                "1e300",
            ]
        )
        content, words = RATES.replace('"2.643e-10*SUN^3"', value), f"j_O2 = {value}"
    (place / "chapman.rates.toml").write_text(content, encoding="utf-8", errors="surrogatepass")
    trial = _trial(place, place / "chapman.def", f"rates: {words}", "rates.toml", command)
    if rng.random() < 0.25:
        from validation.fuzz.inputs import tracer_case, write_case

        case = tracer_case()
        case["chemistry"] = {"mechanism": str(place / "chapman.def"), "species_map": "chapman"}
        case |= {"emissions": {}, "boundary": {"profiles": "clean-air"}, "initial": {}}
        write_case(case, place)
        trial.arguments = ["run", str(place / "case.toml"), "--output", str(place / "out")]
        trial.output = place / "out"
        trial.mutation = f"run: rates: {words}"
        trial.names += ("j_O2", "rates")
    return trial


def _spoilt_document(rng: random.Random, place: Path, command: list[str]) -> Trial:
    form = rng.choices(["json", "yaml", "camp"], weights=(5, 2, 2))[0]
    tree = deepcopy(CAMP if form == "camp" else DOCUMENT)
    chance = rng.random()
    if chance < 0.3:
        tree, words = _renamed(rng, tree, form)
        kind = "name"
    elif chance < 0.8:
        tree, words, where = spoil_tree(rng, tree)
        kind = where.split(".")[-1]
    else:
        kind, words = "text", ""
    written = _dumped(tree, form)
    if kind == "text":
        spoilt, words = spoil_file(rng, written.encode())
        if rng.random() < 0.2:
            depth = rng.choice([500, 100_000])
            spoilt, words = (
                written.encode().replace(b"ARRHENIUS", b"[" * depth + b"]" * depth, 1),
                f"{depth} lists in lists",
            )
        if form == "yaml" and rng.random() < 0.3:
            spoilt, words = rng.choice([
                (b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(b"b%d: &b%d [%s]\n" % (n, n,
                b", ".join([b"*b%d" % (n - 1) if n else b"*a"] * 9)) for n in range(9)), "a billion laughs"),
                (b"!!python/object/apply:os.system ['touch RAN']\n", "an object of Python"),
                (b"a: &a [*a]\n", "a list in itself"),
                (written.encode().replace(b"0.5", b"!!binary x", 1), "a binary"),
                (written.encode() + b"\n---\n" + written.encode(), "two documents"),
            ])  # fmt: skip
        (place / f"small.{'json' if form == 'camp' else form}").write_bytes(spoilt)
    else:
        (place / f"small.{'json' if form == 'camp' else form}").write_text(
            written, encoding="utf-8", errors="surrogatepass"
        )
    return _trial(
        place, place / f"small.{'json' if form == 'camp' else form}", f"{form}: {words}", f"{form}: {kind}", command
    )


def _dumped(tree: Any, form: str) -> str:
    try:
        return (
            yaml.safe_dump(tree, allow_unicode=True, sort_keys=False) if form == "yaml" else json.dumps(tree, indent=1)
        )
    except (yaml.YAMLError, RecursionError, ValueError):
        return "{}"


def _renamed(rng: random.Random, tree: Any, form: str) -> tuple[Any, str]:
    """Rename a species or a reaction everywhere."""
    old, new = rng.choice(["A", "B", "M", "one", "jB", "jA", "small", "gas"]), rng.choice([*TEXTS, "\ud800"])

    def renamed(node: Any) -> Any:
        if isinstance(node, dict):
            return {(new if form == "camp" and key == old else key): renamed(value) for key, value in node.items()}
        if isinstance(node, list):
            return [renamed(value) for value in node]
        return new if node == old else node

    return renamed(tree), f"{old} is called {new[:60]!r} everywhere"

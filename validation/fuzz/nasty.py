"""Unusual and ordinary values for mutations."""

import random
from typing import Any, Final

from validation.fuzz.judge import MARK

NUMBERS: Final = (
    "0", "-0.0", "-1", "1", "0.5", "1e300", "-1e300", "1e-300", "5e-324", "1e308", "1.8e308", "nan", "inf", "-inf",
    "1e18", "9223372036854775808", "-9223372036854775809", "1" + "0" * 400, "1e-9", "2.5", "1_000", "0x10", "１２",
    "1,5",
)  # fmt: skip
"""Numbers as texts; numbers in words are not accepted everywhere."""

TEXTS: Final = (
    "", " ", "\t", "\n", "\r", "a\nb", "a\rb", "\x00", "a\x00b", "\x1b[31mred\x1b[0m", "\x07", "\x7f", "\x85", "\u2028",
    "\u202eabc", "\ufeff", "é", "日本語", "🌍", "a" * 300, "a" * 100_000, MARK, "[/]", "[", "]", "{", "}", "{key}",
    "{0}", "%s", "%n", "*/ x /*", "//", "/*", "\\", "X\\", "X??/", '"', "'", "`", "$(touch RAN)", "; rm -rf x",
    "../../../etc/passwd", "/", "A/B", "..", ".", "~", "-", "--help", "#", "=", "<", ">", "&", "|", "*", "?", "None",
    "null", "true", "nan", "inf", "1", "1e5", "time", "lat", "lon", "level", "lat_bnds", "bnds", "air_pressure", "con",
    "__class__", "ﬀ", "İ", "ß", "a b", "a,b", "a;b", 'x";system("touch RAN");"',
    '\n__builtin_trap();\n',
)  # fmt: skip

"""Texts: empty, blank, with control characters, line ends, markup, comments, quotes, code; names with a meaning."""

UNITS: Final = (
    "s", "min", "h", "day", "m", "km", "hPa", "Pa", "K", "degC", "m/s", "km/h", "mol/s", "kg/s", "ppb", "ppm", "1", "%",
    "", "furlong", "m^99", "m/s/s", "m s", "s s", "ppm ppm", "1/0", "()", "m**", "**m", "m^1e9", "\x00", "é", "deg",
    "molecules/cm3",
)  # fmt: skip


def number(rng: random.Random) -> str:
    """Return a number as text."""
    return rng.choice(NUMBERS)


def text(rng: random.Random) -> str:
    """Return a text."""
    return rng.choice(TEXTS)


def quantity(rng: random.Random, unit: str) -> str:
    """Return a number with a unit, rarely a correct one with the correct unit."""
    own = [part for part in unit.split(" or ") if part] or ["1"]
    unit = rng.choice(own)
    return rng.choice([
        lambda: f"{number(rng)} {unit}", lambda: f"{number(rng)} {unit}", lambda: f"{number(rng)} {unit}",
        lambda: f"1.9 {rng.choice(UNITS)}", lambda: f"1.9 {unit} {unit}", lambda: f"1.9{unit}", lambda: f"1.9 {unit}^2",
        lambda: f"1.9 {unit} + 1 {unit}", lambda: unit, lambda: number(rng), lambda: text(rng), lambda: f"1.9  {unit} ",
    ])()  # fmt: skip


def anything(rng: random.Random) -> Any:
    """Return a value of any type of TOML and JSON."""
    return rng.choice([
        lambda: text(rng), lambda: text(rng), lambda: number(rng), lambda: True, lambda: -1, lambda: 0, lambda: 10**18,
        lambda: 2**63, lambda: 1e308, lambda: float("nan"), lambda: float("inf"), lambda: [], lambda: {}, lambda: [""],
        lambda: [[]], lambda: {"": ""}, lambda: [1, "a"], lambda: {text(rng): text(rng)}, lambda: deep(rng, []),
        lambda: deep(rng, {}), lambda: 10**400, lambda: ["x"] * 20_000,
    ])()  # fmt: skip


def deep(rng: random.Random, inner: Any) -> Any:
    """Return lists in lists, or tables in tables."""
    for _ in range(rng.choice([3, 50, 200])):
        inner = {"a": inner} if isinstance(inner, dict) else [inner]
    return inner


def spoil_text(rng: random.Random, content: str) -> tuple[str, str]:
    """Return a text with one fault, and the description of the fault."""
    lines = content.splitlines(keepends=True)
    at = rng.randrange(len(lines)) if lines else 0
    place = rng.randrange(len(content)) if content else 0
    added = rng.choice([text(rng), number(rng)])
    match rng.randrange(12):
        case 0:
            return "".join(lines[:at] + lines[at + 1 :]), f"line {at + 1} left out"
        case 1:
            return "".join(lines[: at + 1] + lines[at:]), f"line {at + 1} twice"
        case 2:
            return content[:place], f"cut at character {place}"
        case 3:
            return content[:place] + added + content[place:], f"{added[:40]!r} put in at character {place}"
        case 4:
            return content[:place] + content[place + 1 :], f"character {place} left out"
        case 5:
            return "".join([*lines[:at], added, *lines[at:]]), f"{added[:40]!r} put before line {at + 1}"
        case 6:
            end = min(len(content), place + rng.randrange(1, 30))
            return content[:place] + content[end:], f"characters {place} to {end} left out"
        case 7:
            other = rng.randrange(len(lines)) if lines else 0
            if lines:
                lines[at], lines[other] = lines[other], lines[at]
            return "".join(lines), f"lines {at + 1} and {other + 1} changed places"
        case 8:
            return content.replace("\n", "\r"), "line ends of old Macintoshes"
        case 9:
            return "\ufeff" + content, "a byte order mark before it"
        case 10:
            old, new = rng.choice(
                [("=", ":"), (";", ""), (",", ";"), ('"', ""), ("{", "("), ("}", ""), (":", "="), ("+", "-")]
            )
            return content.replace(old, new, 1), f"the first {old!r} is {new!r}"
        case _:
            return content * rng.choice([2, 30]), "all of it several times"


def spoil_bytes(rng: random.Random, content: bytes) -> tuple[bytes, str]:
    """Return bytes with a fault, and its description."""
    at = rng.randrange(len(content)) if content else 0
    match rng.randrange(8):
        case 0 | 1 | 2:
            spoilt, count = bytearray(content), rng.choice([1, 1, 4, 64])
            for _ in range(count):
                spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
            return bytes(spoilt), f"{count} bits turned"
        case 3:
            return content[:at], f"cut at byte {at}"
        case 4:
            length = rng.choice([1, 16, 512])
            return content[:at] + bytes(length) + content[at + length :], f"{length} zeros at byte {at}"
        case 5:
            return content[:at] + rng.randbytes(32) + content[at:], f"32 bytes put in at byte {at}"
        case 6:
            return content + rng.randbytes(200), "200 bytes behind it"
        case _:
            return b"", "empty"


def spoil_file(rng: random.Random, content: bytes) -> tuple[bytes, str]:
    """Return a text file with a fault, as text or as bytes."""
    if rng.random() < 0.25:
        return spoil_bytes(rng, content)
    if rng.random() < 0.1:
        return rng.choice([
            (content.decode().encode("utf-16"), "in UTF-16"), (b"\xff\xfe" + content, "a mark of UTF-16 before it"),
            (content + b"\xe9\n", "a letter of Latin-1 at the end"),
            (b"\x89HDF\r\n\x1a\n" + content, "the first bytes of HDF5"),
        ])  # fmt: skip
    spoilt, words = spoil_text(rng, content.decode())
    return spoilt.encode("utf-8", "surrogatepass"), words


def spoil_tree(rng: random.Random, tree: Any, values: Any = None) -> tuple[Any, str, str]:
    """Return a tree of lists and tables with one node changed, the description of the change, and its path."""
    paths = [path for path in _paths(tree) if path]
    path = rng.choice(paths)
    parent = tree
    for step in path[:-1]:
        parent = parent[step]
    key, where = path[-1], ".".join(map(str, path))
    kind = ".".join("N" if isinstance(step, int) else step for step in path)
    action = rng.randrange(6)
    if action == 0:
        del parent[key]
        return tree, f"{where} left out", kind
    if action == 1 and isinstance(parent, dict):
        new = text(rng)
        parent[new] = parent.pop(key)
        return tree, f"{where} is called {new[:60]!r}", kind
    if action == 1:
        parent.insert(key, parent[key])
        return tree, f"{where} twice", kind
    value = values(rng) if values else anything(rng)
    if action == 2 and isinstance(parent[key], list):
        parent[key] = [*parent[key], value]
        return tree, f"{where} has {str(value)[:60]!r} more", kind
    if action == 3 and isinstance(parent[key], dict):
        new = text(rng)
        parent[key] = {**parent[key], new: value}
        return tree, f"{where} has {new[:60]!r} more", kind
    if isinstance(parent[key], (int, float)) and rng.random() < 0.6:
        value = rng.choice([0, -1, 1e300, 1e-300, -1e300, float("nan"), float("inf"), 10**19, 0.5, 1e30, -0.5])
    parent[key] = value
    return tree, f"{where} = {str(value)[:80]!r}", kind


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(inner for key, value in items for inner in _paths(value, (*path, key)))]

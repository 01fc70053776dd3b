"""Untrusted TOML: input that takes excessive time or memory is refused before parsing, and only such input."""

import tomllib

import pytest

from airshed.core.toml_text import DEEPEST, parse_toml

LONG = {
    "a key": ".".join("a" * 40_000) + " = 1",
    "a table": f"[{'.'.join('a' * 40_000)}]",
    "an item": f"[[{'.'.join('a' * 40_000)}]]",
    "with blanks": " . ".join("a" * 1000) + " = 1",
    "quoted": ".".join(['"a"'] * 1000) + " = 1",
    "in single quotes": ".".join(["'a'"] * 1000) + " = 1",
    "in a table of a line": f"x = {{ {'.'.join('a' * 1000)} = 1 }}",
    "after a text": f"x = '''\n...\n'''\ny.{'.'.join('a' * 1000)} = 1",
    "after an escape": f'x = "\\""\n{".".join("a" * 1000)} = 1',
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_key_of_many_parts_is_refused(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=rf"{DEEPEST + 1} parts or more.*line \d+, column \d+"):
        parse_toml(text)


RIGHT = {
    "numbers": f"x = [{', '.join(['1.5'] * 1000)}]",
    "a text": f'x = "{"a." * 1000}"',
    "a text in single quotes": f"x = '{'a.' * 1000}'",
    "lines": f'x = """\n{"a." * 1000}\n"""',
    "lines in single quotes": f"x = '''\n{'a.' * 1000}\n'''",
    "a remark": f"x = 1 # {'a.' * 1000}",
    "many keys": "\n".join(f"a.b{number} = 1.5" for number in range(1000)),
    "as deep as may be": ".".join("a" * DEEPEST) + " = 1",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_other_texts_are_read(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


def test_the_place_is_that_of_the_key() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=r"line 3, column"):
        parse_toml('a = 1\n"b" = "\\"."\n' + ".".join("a" * 100) + " = 1")

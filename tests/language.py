"""Check the English of docstrings, comments, messages and pages: ``python -m tests.language [PATHS]``.

The rules are those of ``docs/glossary.md``: its table of words to avoid, the forms of a docstring, sentences of at most
``LONGEST_SENTENCE`` words, and nouns as names of classes. Code in backquotes and in blocks is exempt.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
GLOSSARY: Final = ROOT / "docs" / "glossary.md"
HEADING: Final = "## Words to avoid"
SUFFIXES: Final = (".py", ".md", ".ipynb", ".ts", ".tsx", ".css", ".cpp", ".hpp", ".h", ".jinja", ".toml", ".yml")
EXEMPT: Final = ("docs/history/", "docs/decisions/", "docs/glossary.md", "tests/language.py", "tests/test_language.py")
"""Files that are history or quote the words."""

LONGEST_SENTENCE: Final = 25
OPENING: Final = re.compile(
    r"\s*(by|does|for|from|go|how|if|let|look|no|nothing|of|one|say|see|something|tell|that|those|to|what|when|where|"
    r"whether|which|who|whose|with)\b",
    re.IGNORECASE,
)
"""Words at which no docstring of a class, function or module starts."""
NO_NOUN: Final = re.compile(
    r"(Above|Again|All|Alone|Anew|Any|Below|Between|Beyond|Both|Each|Every|Many|None|Of|Once|Open|Only|Other|Real|"
    r"Same|That|(?<!e)ed|"
    r"(?<!Find)(?<!Forc)(?<!Graz)(?<!Logg)(?<!Mapp)(?<!Mean)(?<!Mix)(?<!Scaveng)(?<!Settl)(?<!Sett)"
    r"(?<!Spac)(?<!Splitt)(?<!Tim)(?<!Weight)ing)$"
)
"""Endings of names that are no nouns, among them those of participles."""
_CODE: Final = (
    r"(?ms)^```.*?^```", r"``.*?``", r"`[^`\n]*`", r"\]\([^)]*\)", r"https?://\S+", r"[A-Z][^.:;|?]*\?",
)  # fmt: skip
"""Blocks and words of code, addresses, and questions."""


class Text(NamedTuple):
    """A text of a file that people read: a docstring, field, comment, message or page."""

    line: int
    kind: str
    text: str


class Fault(NamedTuple):
    """A violation of a rule of style."""

    path: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


class Word(NamedTuple):
    """A row of the table of words to avoid."""

    pattern: re.Pattern[str]
    replacement: str


def faults(path: str, source: str) -> Iterator[Fault]:
    """Yield the violations in the text of a file."""
    for text in texts(path, source):
        plain = _without_code(text.text)
        for word in words():
            for found in word.pattern.finditer(plain):
                line = text.line + plain.count("\n", 0, found.start())
                yield Fault(path, line, f"{found[0]!r} in a {text.kind}: write {word.replacement}")
        if text.kind == "docstring" and (opening := OPENING.match(text.text)):
            yield Fault(path, text.line, f"a docstring starts with {opening[1]!r}: start with a verb or with a noun")
        for sentence in _sentences(plain) if text.kind != "message" else ():
            count = sum(any(map(str.isalpha, each)) for each in sentence.split())
            if count > LONGEST_SENTENCE:
                line = text.line + plain.count("\n", 0, plain.find(sentence))
                yield Fault(path, line, f"a sentence of {count} words: {' '.join(sentence.split()[:4])} ...")
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and NO_NOUN.search(node.name):
                yield Fault(path, node.lineno, f"class {node.name} is not named by a noun")


@cache
def words() -> tuple[Word, ...]:
    """Return the words to avoid, from the table of the glossary: words, replacement, exceptions."""
    table = GLOSSARY.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    made = []
    for line in lines[2:]:
        avoided, replacement, exceptions = (cell.strip() for cell in line.strip("|").split("|"))
        allowed = "|".join(re.escape(each.strip()) for each in exceptions.split(",") if each.strip())
        start = rf"(?!{allowed})" if allowed else ""
        either = "|".join(re.escape(each.strip()).replace(r"\ ", r"\s+") for each in avoided.split(","))
        made.append(Word(re.compile(rf"\b{start}(?:{either})\b", re.IGNORECASE), replacement))
    return tuple(made)


def texts(path: str, source: str) -> Iterator[Text]:
    """Yield the texts of a file that people read, by its kind."""
    suffix = Path(path).suffix
    if suffix == ".py":
        yield from _of_python(source)
    elif suffix == ".md":
        yield Text(1, "page", source)
    elif suffix == ".ipynb":
        cells = json.loads(source)["cells"]
        yield from (Text(1, "page", "".join(cell["source"])) for cell in cells if cell["cell_type"] == "markdown")
    elif suffix in (".toml", ".yml"):
        for number, line in enumerate(source.splitlines(), start=1):
            if found := re.search(r"(?:^|\s)#\s(.*)", line):
                yield Text(number, "comment", found[1])
    else:
        pattern = r"//[^\n]*|/\*.*?\*/"
        if suffix in (".ts", ".tsx"):
            pattern += r"|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\\n]|\\.)*\"" + (
                r"|>[^<>{}()=;&|]+(?=[<{])" if suffix == ".tsx" else ""
            )
        for found in re.finditer(pattern, source, re.DOTALL):
            kind = "comment" if found[0].startswith("/") else "message"
            if kind == "comment" or " " in found[0]:
                yield Text(1 + source.count("\n", 0, found.start()), kind, found[0].replace("`", " "))


def _of_python(source: str) -> Iterator[Text]:
    """Yield docstrings, the strings below fields, messages, and comments."""
    tree, documented = ast.parse(source), set()
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for index, child in enumerate(body if isinstance(body, list) else ()):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                documented.add(id(child.value))
                kind = "docstring" if index == 0 else "field"
                yield Text(child.lineno, kind, str(child.value.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documented and " " in str(node.value):
            yield Text(node.lineno, "message", str(node.value))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], "comment", token.string)


def _without_code(text: str) -> str:
    """Return a text with blanks in place of code, addresses and questions, its lines where they were."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    for pattern in _CODE:
        text = re.sub(pattern, blank, text)
    return text


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of paragraphs, items and cells of tables."""
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*#]|\d+\.)\s|\||\n(?=[^\n]*\S {2,}\S)|^\s+", text):
        yield from re.split(r"(?<=[.;:!?])\s+", paragraph)


def tracked(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files of the tree, or of some paths, that hold texts."""
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in listed.splitlines():
        if path.endswith(SUFFIXES) and not path.startswith(EXEMPT) and (ROOT / path).is_file():
            yield path


def main(paths: list[str]) -> int:
    """Print the violations in the tree or in some paths, and return 1 where there are some."""
    found = [fault for path in tracked(paths) for fault in faults(path, (ROOT / path).read_text(encoding="utf-8"))]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

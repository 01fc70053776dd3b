"""README and documents: links have targets, Python blocks run, and the program accepts all command lines."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from airshed.cli.program import app

ROOT = Path(__file__).parents[1]
SKIPPED = {
    "node_modules", ".venv", ".venv-docs", ".venv-node", ".venv-lock", ".pytest_cache", ".hypothesis", "_build",
    "generated", "runs",
}  # fmt: skip
DOCUMENTS = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.md") if SKIPPED.isdisjoint(path.relative_to(ROOT).parts)
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = typer.main.get_command(app)

Command = list[str]


def text_of(document: Path) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


# ---- links -----------------------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a document."""
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(text: str, folder: Path) -> list[str]:
    """Return the relative links of a text without a target: no such file, or no such heading in it."""
    prose = re.sub(r"```.*?```|^ {4}[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = folder / name
        if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8") if name else text)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(text_of(document), (ROOT / document).parent) == []


def test_a_broken_link_is_found() -> None:
    code = "    f[s](t)\n```\ng[s](t)\n```\n"
    text = f"# One\n[a](README.md)\n{code}[b](no-such-file.txt) [c](#one) [d](#two) [e](https://kpp.readthedocs.io)\n"
    assert broken_links(text, ROOT) == ["no-such-file.txt", "#two"]


def missing_files(text: str) -> list[str]:
    """Return the files that a text names and that do not exist, except files that `make docs` builds."""
    named = re.findall(r"`((?:src|docs|cases|mechanisms|validation)/[\w./-]+|tests/[\w/-]+\.py)`", text)
    return [name for name in named if not (ROOT / name).exists() and "_build" not in name]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_files_that_are_named_are_there(document: Path) -> None:
    assert missing_files(text_of(document)) == []


def test_a_missing_file_is_found() -> None:
    assert missing_files("see `docs/explanation/equations.md` and `docs/no-such.md`") == ["docs/no-such.md"]


# ---- code ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_python_of_the_readme_runs(code: str) -> None:
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^[\d.e-]+ mol mol-1$", answer.stdout, re.MULTILINE)
    assert re.search(r"^residual +-?[\d.e+-]+$", answer.stdout, re.MULTILINE)


def command_lines(text: str) -> list[Command]:
    """Return the `airshed ...` lines of indented and shell blocks, without remarks and redirections."""
    text = text.replace(" \\\n", " ")  # join continued lines
    lines = re.findall(r"^(?: {4}|\$ )(?:\.venv/bin/)?airshed (.+)$", text, re.MULTILINE)
    return [shlex.split(re.sub(r" > \S+", "", line), comments=True) for line in lines]


def refusal(arguments: Command) -> str:
    """Return why the program would refuse a command line; empty if it would not."""
    command, context = PROGRAM, PROGRAM.make_context("airshed", [], resilient_parsing=True)
    while isinstance(command, TyperGroup):
        if not arguments or arguments[0] not in command.commands:
            return f"{command.name} has no command {arguments[:1]}"
        name, *arguments = arguments
        command = command.commands[name]
        if isinstance(command, TyperGroup):
            context = command.make_context(name, [], parent=context, resilient_parsing=True)
    try:
        command.make_context(name, list(arguments), parent=context)
    except typer.TyperException as error:
        return error.format_message()
    return ""


COMMANDS = [
    pytest.param(command, id=f"{document}: {' '.join(command)}")
    for document in DOCUMENTS
    for command in command_lines(text_of(document))
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_lines_are_ones_that_the_program_takes(command: Command) -> None:
    assert refusal(command) == ""


def test_there_are_command_lines_in_the_readme() -> None:
    assert {command[0] for command in command_lines(README)} >= {"run", "show", "plot", "box", "doctor"}


@pytest.mark.parametrize(
    "command",
    [["fly"], ["run"], ["run", "west-europe", "--colour", "red"], ["kernel", "draw"], ["plot", "a", "--colour", "b"]],
)
def test_a_wrong_command_line_is_found(command: Command) -> None:
    assert refusal(command)


def test_make_targets_of_the_readme_are_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b(?=[` ]*(?:#|`|leaves))", README + text_of(Path("CONTRIBUTING.md"))))
    assert {"demo", "test"} <= named <= targets

"""The directive ``commands``: the commands of ``airshed`` with arguments and options, from the Typer application."""

from collections.abc import Iterator
from inspect import cleandoc

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.core import TyperGroup

from airshed.cli.program import app as program


def commands_page() -> str:
    """Return the reference of all commands as Markdown."""
    return "\n".join(_of_group(typer.main.get_command(program), "airshed"))


def _of_group(group: typer.core.TyperCommand, name: str) -> Iterator[str]:
    """Yield the lines of a command, or of all commands of a group."""
    if isinstance(group, TyperGroup):
        for each, command in group.commands.items():
            if not command.hidden:
                yield from _of_group(command, f"{name} {each}")
        return
    yield from (f"## {name}", "", _plain(group.help), "")
    arguments = [each for each in group.params if each.param_type_name == "argument"]
    options = [each for each in group.params if each.param_type_name == "option" and not getattr(each, "hidden", False)]
    words = [each.name if each.required else f"[{each.name}]" for each in arguments]
    yield from ("```text", " ".join([name, *words, "[OPTIONS]"]), "```", "")
    rows = [(f"`{each.name}`", each.help) for each in arguments]
    rows += [(", ".join(f"`{form}`" for form in (*each.opts, *each.secondary_opts)), each.help) for each in options]
    yield from ("| argument or option | meaning |", "|---|---|")
    yield from (f"| {form} | {_plain(text).replace(chr(10), ' ').replace('|', chr(92) + '|')} |" for form, text in rows)
    yield ""


def _plain(text: str | None) -> str:
    """Return a text of help as Markdown: without the marks of a terminal."""
    return cleandoc(text or "").replace("\b\n", "").replace("<", "\\<").replace("*", "\\*")


class Commands(SphinxDirective):
    """Directive that inserts the commands."""

    def run(self) -> list[nodes.Node]:
        """Parse the generated Markdown where the directive is."""
        return self.parse_text_to_nodes(commands_page(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

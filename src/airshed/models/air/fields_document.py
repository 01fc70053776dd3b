"""Writes docs/fields.md from what is declared: ``python -m airshed.models.air.fields_document > docs/fields.md``."""

from collections.abc import Callable, Iterator
from typing import Any

from airshed.core.fields import FieldRegistry
from airshed.core.report import markdown_table
from airshed.models.air import processes
from airshed.models.air.fields import WEATHER
from airshed.process.bound import identifier
from airshed.process.declaration import Process
from airshed.process.discovery import processes_of

_INTRODUCTION = """\
# Fields

<!-- Made by `python -m airshed.models.air.fields_document > docs/fields.md` from what is declared; do not edit. -->

`simulation["O3"]` gives a field of the air model, `output.0.fields` names those of a file. Each species of the
mechanism has one, by its name: its mixing ratio [mol mol-1] on level, lat, lon. The weather has these:

"""


def fields_document() -> str:
    """Return the whole document in Markdown."""
    found = processes_of(processes)
    return "\n".join([
        _INTRODUCTION + FieldRegistry(WEATHER).markdown(),
        "\n## What processes compute\n\nOnce for each instant of the forcing, linear in between.\n",
        markdown_table(("process", "field", "unit", "for", "meaning"), list(_rows(found, _instants))),
        "\n## What processes do\n\nAs kinds of operators, see [kernels.md](kernels.md); the term is that of budgets.\n",
        markdown_table(("process", "name", "kind", "levels", "term", "meaning"), list(_rows(found, _acts))),
        "\n## What weather they need\n\nBesides the state of the air at an instant, which their methods are given.\n",
        markdown_table(("process", "field", "unit", "needed"), list(_rows(found, _weather))),
        "\n## What can be set while a run goes on\n\n`simulation[\"section_name\"] = 2.0`, of a table by species "
        "`simulation[\"section_name_SPECIES\"]`; a restart keeps it, output does not hold it.\n",
        markdown_table(("process", "name", "unit", "meaning"), list(_rows(found, _settable))),
    ]) + "\n"  # fmt: skip


def _rows(found: tuple[type[Process], ...], of: Callable[[type[Process]], Iterator[tuple[str, ...]]]) -> Any:
    return ((identifier(each.__name__), *row) for each in found for row in of(each))


def _instants(process: type[Process]) -> Iterator[tuple[str, ...]]:
    for name, each in process.declaration.instants.items():
        shape = each.shape or "as what it is given"
        yield f"`{name}`", each.unit, f"{shape}, each species" if each.by_species else shape, _text(each.function)


def _acts(process: type[Process]) -> Iterator[tuple[str, ...]]:
    own = process.declaration
    for name, each in own.acts.items():
        terms = "inflow, outflow" if each.kind == "face_flux" else each.term or "-"
        yield f"`{name}`", f"`{each.kind}`", each.levels, terms, _text(each.function)
    for kind, term, declared in (("reactions", "chemistry", own.reactions), ("releases", "emitted", own.releases)):
        for name, other in declared.items():
            yield f"`{name}`", f"`{kind}`", "all", term, _text(other.function)


def _weather(process: type[Process]) -> Iterator[tuple[str, ...]]:
    for each in process.declaration.weather.values():
        yield f"`{each.field}`", each.unit, "where it is given" if each.optional else "always"


def _settable(process: type[Process]) -> Iterator[tuple[str, ...]]:
    for name, each in process.declaration.settings.items():
        if each.settable:
            species = "_SPECIES" if each.by_species else ""
            yield f"`{process.section}_{name}{species}`", each.unit or "1", each.field.description or ""


def _text(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "-").split("\n")[0].rstrip(".")


if __name__ == "__main__":
    print(fields_document(), end="")

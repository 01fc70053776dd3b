"""Write the page of fields: ``python -m airshed.models.air.fields_document > docs/reference/fields.md``."""

from collections.abc import Callable
from typing import Any

from airshed.core.fields import FieldRegistry
from airshed.core.report import markdown_table
from airshed.models.air import processes
from airshed.models.air.fields import WEATHER
from airshed.process.bound_process import identifier
from airshed.process.discovery import processes_of

_INTRODUCTION = """\
# Fields

<!-- Made by `python -m airshed.models.air.fields_document > docs/reference/fields.md`; do not edit. -->

`simulation["O3"]` gives a field of the air model, `output.0.fields` names those of a file. Each species of the
mechanism has one, by its name: its mixing ratio [mol mol-1] on level, lat, lon. The weather has these:

"""


def fields_document() -> str:
    """Return the whole document in Markdown."""
    found = [(identifier(each.__name__), each.section, each.declaration) for each in processes_of(processes)]
    instants = [
        (process, f"`{name}`", each.unit, f"{shape}, each species" if each.by_species else shape, _text(each.function))
        for process, _, own in found
        for name, each in own.instants.items()
        for shape in [each.shape or "as what it is given"]
    ]
    acts: list[tuple[str, ...]] = []
    for process, _, own in found:
        for name, act in own.operators.items():
            terms = "inflow, outflow" if act.kind == "face_flux" else act.term or "-"
            acts.append((process, f"`{name}`", f"`{act.kind}`", act.levels, terms, _text(act.function)))
        for kind, term, declared in (("reactions", "chemistry", own.reactions), ("releases", "emitted", own.releases)):
            acts += [
                (process, f"`{n}`", f"`{kind}`", "all", term, _text(each.function)) for n, each in declared.items()
            ]
    weather = [
        (process, f"`{each.field}`", each.unit, "where it is given" if each.optional else "always")
        for process, _, own in found
        for each in own.weather.values()
    ]
    settable = [
        (process, f"`{section}_{name}{'_SPECIES' if each.by_species else ''}`", each.unit or "1",
         each.field.description or "")
        for process, section, own in found
        for name, each in own.settings.items()
        if each.settable
    ]  # fmt: skip
    return "\n".join([
        _INTRODUCTION + FieldRegistry(WEATHER).markdown(),
        "\n## What processes compute\n\nOnce for each instant of the forcing, linear in between.\n",
        markdown_table(("process", "field", "unit", "for", "meaning"), instants),
        "\n## What processes do\n\nAs kinds of operators, see [kernels.md](../explanation/kernels.md); "
        "the term is that of budgets.\n",
        markdown_table(("process", "name", "kind", "levels", "term", "meaning"), acts),
        "\n## What weather they need\n\nBesides the state of the air at an instant, which their methods are given.\n",
        markdown_table(("process", "field", "unit", "needed"), weather),
        "\n## What can be set while a run goes on\n\n`simulation[\"section_name\"] = 2.0`, of a table by species "
        "`simulation[\"section_name_SPECIES\"]`; a restart keeps it, output does not hold it.\n",
        markdown_table(("process", "name", "unit", "meaning"), settable),
    ]) + "\n"  # fmt: skip


def _text(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "-").split("\n")[0].rstrip(".")


if __name__ == "__main__":
    print(fields_document(), end="")

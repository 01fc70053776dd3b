"""Writer of the page of fields: ``python -m airshed.models.air.fields_document > docs/reference/fields.md``."""

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

`simulation["O3"]` returns a field of the air model; `output.0.fields` lists the fields of an output file. The mixing
ratio [mol mol-1] of each species is a field on level, lat, lon with the name of the species. The weather fields are:

"""


def fields_document() -> str:
    """Return the whole document in Markdown."""
    found = [(identifier(each.__name__), each.section, each.declaration) for each in processes_of(processes)]
    instants = [
        (process, f"`{name}`", each.unit, f"{shape}, each species" if each.by_species else shape, _text(each.function))
        for process, _, own in found
        for name, each in own.instants.items()
        for shape in [each.shape or "as the input"]
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
        (process, f"`{each.field}`", each.unit, "optional" if each.optional else "required")
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
        "\n## Fields of processes\n\nComputed once for each instant of the forcing, and interpolated linearly in "
        "between.\n",
        markdown_table(("process", "field", "unit", "shape", "meaning"), instants),
        "\n## Operators of processes\n\nThe kinds of operators are described in "
        "[kernels.md](../explanation/kernels.md); the term is the row of the budget.\n",
        markdown_table(("process", "name", "kind", "levels", "term", "meaning"), acts),
        "\n## Weather of processes\n\nWeather fields that processes read in addition to the state of the air.\n",
        markdown_table(("process", "field", "unit", "need"), weather),
        "\n## Numbers that can be changed during a run\n\nSet them as `simulation[\"section_name\"] = 2.0`, or "
        "`simulation[\"section_name_SPECIES\"]` for an entry of a table by species. Restarts contain these numbers, "
        "output does not.\n",
        markdown_table(("process", "name", "unit", "meaning"), settable),
    ]) + "\n"  # fmt: skip


def _text(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "-").split("\n")[0].rstrip(".")


if __name__ == "__main__":
    print(fields_document(), end="")

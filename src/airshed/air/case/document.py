"""Writes docs/case-file.md from the settings registry: ``python -m airshed.air.case.document > docs/case-file.md``."""

from airshed.air.case.case import Case
from airshed.case.toml import write_value
from airshed.core.report import markdown_table
from airshed.core.settings import Section, Setting, section_inside, settings_of
from airshed.core.units import unit_names

_INTRODUCTION = """\
# The case file

<!-- Made by `python -m airshed.air.case.document > docs/case-file.md` from the settings registry; do not edit. -->

A case is a folder with a `case.toml` and the data that it names, or a dictionary with the same keys in Python:

    airshed run cases/west-europe --set time.length="6 h"

    case = airshed.Case.load("cases/west-europe", ["time.length=6 h"])
    case = airshed.Case.from_dict({"grid": {...}, "time": {...}, "chemistry": {"mechanism": "emep"}})

`airshed show CASE` prints every setting with its value and the line that set it, `airshed show CASE --toml` the
resolved case as a file. The smallest case has [grid] `area` and `spacing`, [time] `start` and `length`, and [chemistry]
`mechanism`; everything else has a default. A key that is not listed here is refused, with the nearest one that is.

Quantities are texts with a unit, `"120 s"` or `"0.5 cm/s"`; a bare number is refused where a unit is needed. The units:
UNITS.
They may carry the prefixes p n u m c h k M G and stand in products and powers: `kg/m2/s`, `molecules cm-3`. Where the
tables below name a unit for a quantity, any other of the same kind will do. A value outside
its range is refused. Times are in UTC. Paths are relative to the case. `N` counts the items of a list from 0.

`--set KEY=VALUE` changes one setting; the value is TOML, or a bare text: `time.step=90 s`, `emissions.scale.NOx=0.7`,
`output.0.every=30 min`, `output.0.fields=["O3"]`. In a shell, quote what has spaces or brackets.
"""


def case_file_document() -> str:
    """Return the whole document in Markdown."""
    parts = [_INTRODUCTION.replace("UNITS", ", ".join(f"`{name}`" for name in unit_names())), "## At the top\n"]
    top = [setting for setting in settings_of(Case) if "." not in setting.key]
    parts.append(_table(top))
    for name, field in Case.model_fields.items():
        section, many = section_inside(field.annotation)
        if section is not None:
            parts += [f"## {'[[' if many else '['}{name}{']]' if many else ']'}\n", _section(section, many)]
    return "\n".join(parts)


def _section(section: type[Section], many: bool) -> str:
    text = (section.__doc__ or "").strip()
    repeated = " May be repeated." if many else ""
    return f"{text}{repeated}\n\n{_table(list(settings_of(section)))}"


def _table(settings: list[Setting]) -> str:
    rows = [
        (
            f"`{each.key}`",
            each.kind,
            each.unit,
            each.range,
            "**required**" if each.required else _default(each.default),
            each.text,
        )
        for each in settings
    ]
    return markdown_table(("Key", "Value", "Unit", "Range", "Default", "Meaning"), rows) + "\n"


def _default(value: object) -> str:
    return "" if value in (None, "", {}, []) else f"`{write_value(value)}`"


if __name__ == "__main__":
    print(case_file_document(), end="")

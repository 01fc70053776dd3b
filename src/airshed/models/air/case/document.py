"""Writes docs/reference/case-file.md from the settings registry.

python -m airshed.models.air.case.document > docs/reference/case-file.md
"""

from airshed.case.case import sections_document
from airshed.core.units import unit_names
from airshed.models.air.case.case import Case

_INTRODUCTION = """\
# The case file

<!-- Made by `python -m airshed.models.air.case.document` from the settings registry; do not edit. -->

A case is a folder with a `case.toml` and the data that it names, or a dictionary with the same keys in Python:

    airshed run cases/west-europe --set time.length="6 h"

    case = airshed.Case.load("cases/west-europe", time={"length": "6 h"})
    case = airshed.Case.from_dict({"grid": {...}, "time": {...}, "chemistry": {"mechanism": "emep"}})

`airshed show CASE` prints the settings of a case with the line that set each, `--all` also the defaults, and
`--toml` the resolved case as a file. `airshed schema` prints a JSON Schema, with which an editor completes and checks a
case file. The smallest case has [grid] `area` and `spacing`, [time] `start` and `length`, and [chemistry] `mechanism`;
everything else has a default. A key that is not listed here is refused, with the nearest one that is.

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
    return sections_document(Case, _INTRODUCTION.replace("UNITS", ", ".join(f"`{name}`" for name in unit_names())))


if __name__ == "__main__":
    print(case_file_document(), end="")

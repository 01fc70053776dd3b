"""Writer of docs/reference/case-file.md from the settings registry.

python -m airshed.models.air.case.document > docs/reference/case-file.md
"""

from typing import Final

from airshed.case.case import sections_document
from airshed.core.report import markdown_table
from airshed.core.settings import settings_of
from airshed.core.units import unit_names
from airshed.models.air.case.case import Case

_INTRODUCTION = """\
# The case file

<!-- Made by `python -m airshed.models.air.case.document` from the settings registry; do not edit. -->

A case is a folder with a file `case.toml` and its data, or a dictionary with the same keys in Python:

    airshed run cases/west-europe --set time.length="6 h"

    case = airshed.Case.load("cases/west-europe", time={"length": "6 h"})
    case = airshed.Case.from_dict({"grid": {...}, "time": {...}, "chemistry": {"mechanism": "emep"}})

`airshed show CASE` prints the settings of a case with the line that set each, `--all` also the defaults, and
`--toml` the resolved case as a file. `airshed schema` prints a JSON Schema, with which an editor completes and checks a
case file. The smallest case has [grid] `area` and `spacing`, [time] `start` and `length`, and [chemistry] `mechanism`;
all other settings have defaults. An unknown key is an error, which suggests the nearest known key; for a key that was
renamed the error gives its present name.

Quantities are texts with a unit, `"120 s"` or `"0.5 cm/s"`; a number without its unit is an error. The units are
UNITS,
with the prefixes p n u m c h k M G, in products and powers: `kg/m2/s`, `molecules cm-3`. A quantity may have any unit
of the dimension that its table gives. A value outside
its range is an error. Times are in UTC. Paths are relative to the case. `N` is the index of an item in a list, from 0.

`--set KEY=VALUE` changes one setting; the value is TOML, or a bare text: `time.step=90 s`, `emissions.scale.NOx=0.7`,
`output.0.every=30 min`, `output.0.fields=["O3"]`. In a shell, quote values with spaces or brackets.
"""

EXAMPLES: Final = {
    "grid.area.lon, grid.area.lat": "area = { lon = [0, 10], lat = [45, 55] }",
    "grid.spacing.lon": 'spacing = "0.25 deg"',
    "time.start": "start = 2022-08-31T00:00:00Z",
    "time.length": 'length = "24 h"',
    "chemistry.mechanism": 'mechanism = "emep"',
    "meteorology.files": 'files = ["meteorology/*.nc"]',
    "emissions.inventory": 'inventory = "emissions"',
    "emissions.scale": 'scale = { "DE/F_RoadTransport" = 0.5 }',
    "boundary.profiles": 'profiles = "europe-summer"',
    "output.N.fields": 'fields = ["O3", "NO2"]',
}
"""The ten most used settings, each with an example as in a case file."""


def case_file_document() -> str:
    """Return the whole document in Markdown."""
    units = ", ".join(f"`{name}`" for name in unit_names())
    return sections_document(Case, f"{_INTRODUCTION.replace('UNITS', units)}\n{_most_used()}")


def _most_used() -> str:
    """Return the table of the most used settings."""
    texts = {setting.key: setting.text for setting in settings_of(Case)}
    rows = []
    for keys, example in EXAMPLES.items():
        section = keys.partition(".")[0]
        heading = f"[[{section}]]" if ".N." in keys else f"[{section}]"
        rows.append((heading, f"`{example}`", " ".join(texts[key] for key in keys.split(", "))))
    return f"## The ten most used settings\n\n{markdown_table(('Section', 'Example', 'Meaning'), rows)}\n"


if __name__ == "__main__":
    print(case_file_document(), end="")

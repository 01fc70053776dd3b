"""Writes docs/pasture-case-file.md: ``python -m airshed.models.pasture.case_document > docs/pasture-case-file.md``."""

from airshed.case.document import sections_document
from airshed.models.pasture.case import PastureCase

_INTRODUCTION = """\
# The case file of the pasture model

<!-- Made by `python -m airshed.models.pasture.case_document > docs/pasture-case-file.md`; do not edit. -->

A case is a folder with a `case.toml` whose first line is `model = "pasture"`:

    airshed run cases/queensland --set grazing.stocking_rate=0.2

Quantities, times, paths and `--set` are written as in [the case file of the air](case-file.md). A number that a process
lets be changed while the model runs is set by its section and name, `simulation["grazing_stocking_rate"] = 0.2` where
`grazing.on = true`.
The smallest case has `model`, [time] `start` and `length`, and [inputs] `folder`.
"""


def case_file_document() -> str:
    """Return the whole document in Markdown."""
    return sections_document(PastureCase, _INTRODUCTION)


if __name__ == "__main__":
    print(case_file_document(), end="")

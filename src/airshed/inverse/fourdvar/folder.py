"""The folder of an assimilation: its state after each iteration, and the case that it belongs to."""

import json
from pathlib import Path
from typing import Final

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import CaseError
from airshed.core.files import read_text
from airshed.io.run_state import Inputs, in_words
from airshed.models.air.case import Case

STATE: Final = "state.npz"
CASE: Final = "case.toml"
INPUTS: Final = "inputs.json"

_STOPS: Final = ("iterations", "gradient", "decrease", "probes")


def prepared(folder: Path, case: Case, *, resume: bool) -> Path:
    """Make the folder and return the path of its state, which is there only to go on from.

    raises  OutputError for a folder that cannot be written to, CaseError to resume an assimilation of another case;
            stop rules may differ
    """
    state, text = folder / STATE, _problem(case)
    if resume and state.is_file():
        if read_text(folder / CASE, "without it nobody knows what the state belongs to; leave --resume away") != text:
            raise CaseError(f"{folder} holds the assimilation of another case; undo the change, or leave --resume away")
        return state
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        state.unlink(missing_ok=True)
    with write_whole(folder / CASE) as part:
        part.write_text(text, encoding="utf-8")
    return state


def check_inputs(folder: Path, inputs: Inputs, *, resumed: bool) -> None:
    """Store the marks of the files that were read, or, to go on, compare them; raises CaseError where some differ."""
    file = folder / INPUTS
    if not resumed:
        with write_whole(file) as part:
            part.write_text(json.dumps(inputs.marks(), indent=1), encoding="utf-8")
        return
    try:
        differences = inputs.differences(json.loads(read_text(file, "leave --resume away")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CaseError(f"{file} is damaged; leave --resume away") from None
    if differences:
        raise CaseError(
            f"{folder} holds the assimilation of other files ({in_words(differences)}); restore them, or leave "
            "--resume away"
        )


def _problem(case: Case) -> str:
    """Return the case as a text, with the stop rules at their defaults."""
    section = case.assimilation
    fields = type(section).model_fields
    stops = {name: fields[name].default for name in _STOPS}
    return case.model_copy(update={"assimilation": section.model_copy(update=stops)}).to_toml(machine=False)

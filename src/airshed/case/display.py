"""Displays of cases: short text, HTML for notebooks, and the names that ``help`` and completion offer."""

import sys
from collections.abc import Sequence
from datetime import datetime
from html import escape
from inspect import classify_class_attrs
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from airshed.core.errors import CaseError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelType
else:
    _ModelType = type(BaseModel)

PUBLIC: Final = (
    "from_dict", "hash", "load", "make_grid", "name", "patched", "provenance", "rows", "start",
    "to_dict", "to_toml",
)  # fmt: skip
"""Methods and properties of cases for users; ``make_grid`` is one of cases of the air."""

_MOST_CHANGES: Final = 6

Row = tuple[str, str, str]
"""A setting: its dotted key, its value in TOML, and its origin."""


class CaseType(_ModelType):
    """Type of case classes. ``dir`` and completion offer the public methods, and not those of pydantic.

    ``help`` of a class shows its docstring alone, which names the methods; ``help(Case.load)`` describes one.
    """

    def __call__(self, *given: Any, **sections: Any) -> Any:
        """Make a case of validated sections. Raises CaseError for wrong ones, and for a path."""
        from airshed.case.messages import explain

        case: Any = self
        name = case.__name__
        if given:
            raise CaseError(f"{name}(...) takes sections by name; {name}.load(path) reads a case file")
        try:
            return super().__call__(**sections)
        except ValidationError as error:
            raise CaseError(explain(error, case, sections, lambda path: "", None, case.label)) from error

    def __dir__(self) -> list[str]:
        if sys._getframe(1).f_code is classify_class_attrs.__code__:  # called by pydoc
            return []
        return sorted(name for name in PUBLIC if hasattr(self, name))


def _changes(rows: Sequence[Row]) -> list[Row]:
    """Return the settings that were changed after the case file was read."""
    in_file = any(origin not in ("default", "given", "--set") for _, _, origin in rows)
    return [row for row in rows if in_file and row[2] in ("given", "--set")]


def case_text(title: str, facts: dict[str, str], rows: Sequence[Row]) -> str:
    """Return a case in a few lines: its facts, and the settings that were changed after its file was read."""
    changes = _changes(rows)
    lines = [f"{key} = {value}" for key, value, _ in changes[:_MOST_CHANGES]]
    lines += [f"and {len(changes) - _MOST_CHANGES} more"] if len(changes) > _MOST_CHANGES else []
    facts = facts | {"changed" if number == 0 else " " * number: line for number, line in enumerate(lines)}
    facts |= {"all": f"{len(rows)} settings, see .rows() or print(case.to_toml())"}
    return "\n".join([f"<Case {title!r}>", *(f"  {name.strip():<8} {text}" for name, text in facts.items())])


def case_html(title: str, facts: dict[str, str], rows: Sequence[Row]) -> str:
    """Return a case for notebooks: its facts, and all settings in a table that opens on request."""
    head = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    body = "".join(
        f"<tr><td>{escape(key)}</td><td>{escape(value)}</td><td>{escape(origin)}</td></tr>"
        for key, value, origin in rows
    )
    table = f"<table><tr><th>setting</th><th>value</th><th>from</th></tr>{body}</table>"
    details = f"<details><summary>{len(rows)} settings</summary>{table}</details>"
    return f"<b>{escape(title)}</b><table>{head}</table>{details}"


def case_facts(case: Any) -> dict[str, str]:
    """Return the model, the time and the file of a case."""
    start = case.time.start
    clock = f"{start:%Y-%m-%d %H:%M} UTC" if isinstance(start, datetime) else str(start)
    file = {} if case.file is None else {"file": str(case.file)}
    return {"model": case.model, "time": f"{case.time.length} from {clock}", **file}

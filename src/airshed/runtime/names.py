"""Names of fields with a table of their meanings, for interactive sessions."""

from collections.abc import Iterable
from html import escape
from typing import Any, Final, Self

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.text import counted, suggestion

_MOST_ROWS: Final = 12
"""Rows of the text form; the HTML form, which scrolls, has all of them."""


class FieldNames(tuple[str, ...]):
    """Names of fields. The representation is a table with unit, dimensions and meaning.

    Examples
    --------
    >>> sim.species[:3]
    ('O3', 'NO2', 'NO')
    >>> "O3" in sim.species
    True
    """

    _specs: tuple[FieldSpec, ...]

    @classmethod
    def of(cls, specs: Iterable[FieldSpec]) -> Self:
        """Return the names of some fields."""
        chosen = tuple(specs)
        names = cls(each.name for each in chosen)
        names._specs = chosen
        return names

    def __getitem__(self, index: Any) -> Any:
        """Return a name by its number, or names of a slice. Raises CaseError for a name: these are no values."""
        if isinstance(index, str):
            hint = f"sim[{index!r}] returns its values" if index in self else suggestion(index, self)
            raise CaseError(f"fields and species are names: no values by {index!r}; {hint}")
        return super().__getitem__(index)

    def __repr__(self) -> str:
        width, units = (max(map(len, column), default=0) for column in (self, [each.unit for each in self._specs]))
        rows = [f"  {each.name:<{width}}  {each.unit:<{units}}  {each.text}" for each in self._specs[:_MOST_ROWS]]
        rest = [f"  and {len(self) - _MOST_ROWS} more: {', '.join(self[_MOST_ROWS:])}"[:1000]]
        return "\n".join([counted(len(self), "field"), *rows, *(rest if len(self) > _MOST_ROWS else [])])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head = "<tr><th>field</th><th>unit</th><th>dimensions</th><th>meaning</th></tr>"
        rows = (
            "".join(f"<td>{escape(cell)}</td>" for cell in (each.name, each.unit, ", ".join(each.dims), each.text))
            for each in self._specs
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f'<div style="max-height: 20em; overflow: auto"><table>{head}{body}</table></div>'

"""Default scales and limit values of fields, read from ``scales.toml``, for the pictures and the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from airshed.core.toml_text import parse_toml


@dataclass(frozen=True)
class LimitValue:
    """A limit of a concentration: who set it, its kind, its value [µg/m³], its averaging time, and its source."""

    set_by: str
    kind: str
    value: float
    mean: str
    source: str

    @property
    def label(self) -> str:
        """The limit as a label: "EU 120 (8 h)", "EU information 180 (1 h)"."""
        level = f" {self.kind.split(' ')[0]}" if self.kind.endswith("threshold") else ""
        return f"{self.set_by}{level} {self.value:g} ({self.mean})"

    @property
    def is_in_force(self) -> bool:
        """Return whether the limit is in force now."""
        return not self.set_by[-1].isdigit()


@dataclass(frozen=True)
class FieldScale:
    """Default scale of a field: unit, range and colour table; masses of particles are in the air as it is."""

    unit: str
    range: tuple[float, float]
    table: str
    log: bool = False
    particle: bool = False


@dataclass(frozen=True)
class ColourTable:
    """Part of a colour table that is used, its colours in words, and whether its middle is neutral."""

    part: tuple[float, float]
    text: str
    diverging: bool = False


def _read() -> Mapping[str, Any]:
    return parse_toml(files("airshed.plot").joinpath("scales.toml").read_text(encoding="utf-8"))


DOCUMENT: Final = MappingProxyType(_read())
"""The file as it is."""

FIELD_SCALES: Final = MappingProxyType(
    {name: FieldScale(**{**each, "range": tuple(each["range"])}) for name, each in DOCUMENT["fields"].items()}
)
"""By the name of a field."""

COLOUR_TABLES: Final = MappingProxyType(
    {name: ColourTable(**{**each, "part": tuple(each["part"])}) for name, each in DOCUMENT["tables"].items()}
)

LIMIT_VALUES: Final = MappingProxyType(
    {
        name: tuple(LimitValue(by, kind, float(value), mean, DOCUMENT["sources"][by]) for by, kind, value, mean in rows)
        for name, rows in DOCUMENT["limits"].items()
    }
)
"""By the name of a field. Curves and maps show hourly values: a longer mean is exceeded later than they suggest."""


def limit_values(field: str, unit: str, low: float, high: float) -> tuple[LimitValue, ...]:
    """Return the limits in force of a field that lie between two values, for a field that is shown in µg/m³."""
    known = LIMIT_VALUES.get(field, ()) if unit == "µg/m³" else ()
    return tuple(limit for limit in known if limit.is_in_force and low < limit.value <= high)

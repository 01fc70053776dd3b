"""Limit and guideline values of air quality that pictures mark, with their sources."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

EU: Final = "Directive 2008/50/EC, annexes VII, XI, XII and XIV"
WHO: Final = "WHO global air quality guidelines 2021, table 0.1"


@dataclass(frozen=True)
class LimitValue:
    """A limit of a concentration: who set it, its value [µg/m³], and the mean over time that it is for."""

    name: str
    value: float
    mean: str
    source: str

    @property
    def label(self) -> str:
        """The limit as a label: "EU 120 (8 h)"."""
        return f"{self.name} {self.value:g} ({self.mean})"


LIMIT_VALUES: Final = MappingProxyType(
    {
        "O3": (
            LimitValue("WHO", 100.0, "8 h", WHO),
            LimitValue("EU", 120.0, "8 h", EU),
            LimitValue("EU information", 180.0, "1 h", EU),
            LimitValue("EU alert", 240.0, "1 h", EU),
        ),
        "NO2": (LimitValue("WHO", 25.0, "24 h", WHO), LimitValue("EU", 200.0, "1 h", EU)),
        "PM10": (LimitValue("WHO", 45.0, "24 h", WHO), LimitValue("EU", 50.0, "24 h", EU)),
        "PM25": (LimitValue("WHO", 15.0, "24 h", WHO), LimitValue("EU", 25.0, "year", EU)),
        "PM2_5": (LimitValue("WHO", 15.0, "24 h", WHO), LimitValue("EU", 25.0, "year", EU)),
    }
)
"""By the name of a field. Curves and maps show hourly values: a longer mean is exceeded later than they suggest."""


def limit_values(field: str, unit: str, low: float, high: float) -> tuple[LimitValue, ...]:
    """Return the limit values of a field that lie between two values, for a field that is shown in µg/m³."""
    known = LIMIT_VALUES.get(field, ()) if unit == "µg/m³" else ()
    return tuple(limit for limit in known if low < limit.value <= high)

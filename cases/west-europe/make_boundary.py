"""Make the boundary profiles europe-summer and europe-winter from the profile clean-air and measured ranges.

    python cases/west-europe/make_boundary.py

In the mixed layer over the continent a species has the seasonal value measured at rural stations. Above it the species
has the value of clean air times a factor. Between two pressures the profile changes from one to the other. Ozone
follows measurements at the ground, on Alpine summits and above Frankfurt. docs/how-to/boundaries.md names the papers.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

PRESSURE = "pressure [Pa]"
PROFILES = Path(__file__).parents[2] / "src/airshed/models/air/data/boundary"


@dataclass(frozen=True)
class Season:
    """Continental air of a season."""

    name: str
    mixed_below: float
    """[Pa] all continental from here down"""
    clean_above: float
    """[Pa] clean from here up"""
    rural: dict[str, tuple[float, float]]
    """column -> value in the mixed layer [ppb], factor on clean air above it"""
    ozone: dict[float, float]
    """pressure [hPa] -> [ppb]; above the last one clean air in proportion"""


SUMMER = Season(
    "europe-summer",
    900e2,
    780e2,
    {"CO": (120, 1.3), "NO2": (1.0, 1), "PAN": (0.4, 2), "SO2": (0.25, 1), "FORM": (1.0, 1.5)},
    {1013: 38, 700: 54, 500: 60},
)
WINTER = Season(
    "europe-winter",
    960e2,
    880e2,
    {"CO": (170, 1.6), "NO2": (3.0, 1), "PAN": (0.2, 2), "SO2": (0.7, 1), "FORM": (0.4, 1)},
    {1013: 35, 700: 45, 500: 50},
)


def continental(clean: pd.DataFrame, season: Season) -> pd.DataFrame:
    """Return the profile of a season [ppm] at the pressures of clean air."""
    pressure = clean[PRESSURE].to_numpy()
    mixed = np.clip((pressure - season.clean_above) / (season.mixed_below - season.clean_above), 0.0, 1.0)
    profile = clean.copy()
    for column, (ground, factor) in season.rural.items():
        profile[column] = mixed * ground * 1e-3 + (1.0 - mixed) * factor * clean[column]
    levels = np.array(sorted(season.ozone))
    measured = np.array([season.ozone[level] for level in levels]) * 1e-3
    top = levels[0] * 100.0
    above = clean["O3"] * measured[0] / np.interp(top, pressure[::-1], clean["O3"].to_numpy()[::-1])
    profile["O3"] = np.where(pressure < top, above, np.interp(np.log(pressure), np.log(levels * 100.0), measured))
    return profile


def write(profile: pd.DataFrame, season: Season) -> None:
    """Write a profile to the folder of the clean-air profile."""
    comment = (
        f"# {season.name}: rural air of western Europe in the mixed layer, the free troposphere above; mixing ratios "
        "[ppm]. Made by\n# cases/west-europe/make_boundary.py from clean-air.csv (CMAQ, U.S. EPA) and measured ranges, "
        "see docs/how-to/boundaries.md. MIT licence, see DATA.md.\n"
    )
    text = comment + profile.to_csv(index=False, float_format="%.4e", lineterminator="\n")
    (PROFILES / f"{season.name}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    clean_air = pd.read_csv(PROFILES / "clean-air.csv", comment="#")
    for each in (SUMMER, WINTER):
        write(continental(clean_air, each), each)

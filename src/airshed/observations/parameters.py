"""Names and units of pollutants as networks write them."""

import math
import re
from functools import cache
from typing import Final

_NAMES: Final = {
    "O3": ("o3", "ozone", "ozon", "vmro3", "conco3"),
    "NO2": ("no2", "nitrogen dioxide", "stickstoffdioxid", "nitrogendioxide", "concno2", "vmrno2"),
    "NO": ("no", "nitric oxide", "nitrogen monoxide", "nitrogen oxide", "stickstoffmonoxid", "concno", "vmrno"),
    "NOx": ("nox", "nitrogen oxides", "nitrogen oxides as nitrogen dioxide", "nox as no2", "stickstoffoxide",
            "stickoxide", "noxasno2", "concnox"),
    "SO2": ("so2", "sulphur dioxide", "sulfur dioxide", "schwefeldioxid", "concso2", "vmrso2"),
    "CO": ("co", "carbon monoxide", "kohlenmonoxid", "concco", "vmrco"),
    "NH3": ("nh3", "ammonia", "ammoniak"),
    "HCHO": ("hcho", "ch2o", "formaldehyde", "formaldehyd"),
    "PM10": ("pm10", "gr10", "feinstaub", "particulate matter", "concpm10"),
    "PM2.5": ("pm2.5", "pm25", "pm2_5", "gr2.5", "concpm25"),
}  # fmt: skip
_CODES: Final = {"1": "SO2", "5": "PM10", "7": "O3", "8": "NO2", "9": "NOx", "10": "CO", "35": "NH3", "38": "NO",
                 "6001": "PM2.5"}  # fmt: skip
"""Codes of AirBase and of e-Reporting (http://dd.eionet.europa.eu/vocabulary/aq/pollutant)."""

_BY_NAME: Final = {spelling: name for name, spellings in _NAMES.items() for spelling in spellings}
_SUBSCRIPTS: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₓ", "0123456789x")
_UNIT: Final = re.compile(
    r"(?:(?<=[\s(\[_/])|^)((?:[uµμ]g|mg|ng)\s*[./]?\s*m(?:-3|\^-3|3|³|\^3|\*\*-3|⁻³)|(?:[uµμ]g|mg)/m³|pp[btm]v?|nmol/mol|umol/mol)(?=$|[\s)\]_])",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"micrograms? ?(?:/|per) ?(?:cubic met(?:er|re)s?|m3|m³|m\^3)", re.IGNORECASE)
_PARTS: Final = re.compile(r"parts per (million|billion|trillion)(?: by volume)?", re.IGNORECASE)
_TEMPERATURE: Final = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,4})?)\s{0,2}°?\s{0,2}([CK])\b")
_FORMULA: Final = re.compile(r"\(([^()]*)\)")


@cache
def parameter_of(text: str) -> str:
    """Return O3, NO2, NO, NOx, SO2, CO, NH3, HCHO, PM10 or PM2.5 for a name of a network; other texts unchanged."""
    plain = re.sub(r"</?su[bp]>", "", text.translate(_SUBSCRIPTS).strip().casefold())
    code = plain.rpartition("/")[2] if "/pollutant/" in plain else plain
    if code in _CODES:
        return _CODES[code]
    without_unit = _UNIT.sub(" ", plain)
    bracket = next((part.replace(",", ".") for part in _FORMULA.findall(without_unit)), "")
    before = re.split(r"[(\[<]", without_unit, maxsplit=1)[0]
    for candidate in (plain, bracket, before, re.split(r"\bparticulate\b", before)[0], without_unit):
        name = _BY_NAME.get(re.sub(r"\s+", " ", candidate.strip(" _-")))
        if name:
            return name
    return text.strip()


@cache
def unit_in(text: str) -> str:
    """Return the unit in a text such as "NO2 (ug/m3)", "" for none.

    If the text has a reference temperature, the unit has it as well: "ug/m3 at 298.15 K".
    """
    plain = _PARTS.sub(lambda found: f"pp{found[1][0]}", _WORDS.sub("ug/m3", text.translate(_SUBSCRIPTS)))
    match = _UNIT.search(plain)
    if match is None:
        return ""
    warmth = _TEMPERATURE.search(plain, match.end())
    kelvin = float(warmth[1]) + (273.15 if warmth[2].upper() == "C" else 0.0) if warmth else 0.0
    reference = f" at {kelvin:g} K" if 250.0 < kelvin < 320.0 else ""
    unit = re.sub(r"\s+", "", match[1]).replace("μ", "u").replace("µ", "u")
    if unit.casefold().startswith("pp"):
        return unit.casefold().removesuffix("v")
    return unit if "mol" in unit else f"{unit[:2].casefold()}/m3{reference}"


def reference_of(unit: str) -> tuple[str, float]:
    """Return a unit without its reference temperature, and that temperature [K], NaN for none."""
    match = re.fullmatch(r"(.*?) at ([0-9.]+) K", unit)
    return (match[1], float(match[2])) if match else (unit, math.nan)


def is_pollutant(text: str) -> bool:
    """Return whether a text names a known pollutant."""
    return parameter_of(text) in _NAMES

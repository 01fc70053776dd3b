"""Screening of observed values: flags, codes for missing values, detection limits, and implausible values."""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.observations.observation import observed_unit

NO_VALUE: Final = "no value"
CENSORED: Final = "beyond a limit of detection"
MISSING: Final = "a code for a missing value"
BELOW_ZERO: Final = "far below zero"
BEYOND: Final = "more than any air holds"

_WORDS: Final = frozenset(
    {"", "-", "--", "---", ".", "*", "?", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "nodata", "no data",
     "missing", "miss", "invalid", "not available", "m"}
)  # fmt: skip
"""Texts that stand for a missing value, in small letters."""

_LIMITS: Final = frozenset({"lod", "bdl", "bld", "bql", "loq", "nd", "n.d.", "udl", "mdl", "below detection", "trace"})
"""Texts that stand for a value beyond a limit of detection, in small letters."""

_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

_LARGEST_INTEGERS: Final = (32767.0, 32768.0, 65535.0, 2147483647.0, 4294967295.0)

_MOST: Final = {"mol/mol": 2e-3, "kg/m3": 2e-3, "mol/m3": 0.1, "mol/m2": 1e3}
"""Upper limit of any observed gas or aerosol, carbon dioxide included: 2000 ppm, 2 g/m3."""

_NOISE: Final = {"mol/mol": 5e-9, "kg/m3": 1e-8, "mol/m3": 2e-7, "mol/m2": 5e-5}
"""Noise of instruments below zero, 5 ppb or 10 ug/m3; used where no value of a species is above zero."""

_GAP: Final = 300.0
_COMMON: Final = 0.7
"""Share of all values that must lie below a gap for those above it to be implausible."""

_STANDARD_ERRORS: Final = 5.0
_SHARE: Final = 0.5
"""Noise reaches below zero by at most this share of the mean of the species, or by 5 standard errors."""


def number_of(text: str) -> tuple[float, str]:
    """Return the number in a cell and "", or NaN and the reason why it has none."""
    word = text.strip().casefold()
    if word in _WORDS:
        return np.nan, NO_VALUE
    if word[0] in "<>≤≥" or word in _LIMITS:
        return np.nan, CENSORED
    number = float(word) if _NUMBER.fullmatch(word) else np.nan  # Python takes 1_000 and digits of other scripts
    return (number, "") if np.isfinite(number) else (np.nan, "not a number")


def plain_flag(flag: str) -> str:
    """Return a flag in lower case, a number in its shortest form."""
    try:
        return f"{float(flag):g}"
    except ValueError:
        return flag.strip().casefold()


def is_code(value: float) -> bool:
    """Return whether a number below zero is -9, -99, -999, ..., also with decimals such as -99.99, or 16 bits of -1."""
    return value <= -9.0 and (_nines(value) > 0 or -value in _LARGEST_INTEGERS)


def reasons(values: Array, errors: Array, unit: str, kind: str) -> list[str]:
    """Return the reason to reject each value of one species and unit, "" for a plausible one.

    values  finite;  errors: standard deviations in the same unit, NaN where none is given

    9999 and the like count as codes where they exceed all other values by far.
    """
    known = observed_unit(unit, kind)
    missing = np.array([is_code(value) for value in values.tolist()], bool)
    doubtful = np.array([  # 999, at least four nines, or a largest integer
        value > 0.0 and (value == 999.0 or _nines(value) >= 4 or value in _LARGEST_INTEGERS)
        for value in values.tolist()
    ], bool)  # fmt: skip
    beyond = values * known.size > _MOST[known.si]
    plain = values[~(missing | doubtful | beyond) & (values > 0.0)]
    if plain.size:
        missing |= doubtful & (values > np.where(values == 999.0, 10.0, 2.0) * plain.max())
        least = _SHARE * float(plain.mean())
    else:
        missing |= doubtful & (values >= 999.0)
        least = _NOISE[known.si] / known.size
    beyond |= _beyond_a_gap(values, plain)
    floor = -np.fmax(_STANDARD_ERRORS * errors, least)
    found = np.select([missing, beyond, values < floor], [MISSING, BEYOND, BELOW_ZERO], "")
    return [str(reason) for reason in found]


def _beyond_a_gap(values: Array, plain: Array) -> npt.NDArray[np.bool_]:
    """Return the values above 300 times all others, if these are the large majority.

    The background check does not reject such values, since their errors are shares of the value.
    """
    ordered = np.sort(plain)
    gaps = np.flatnonzero(ordered[1:] > _GAP * ordered[:-1])
    if not gaps.size or gaps[-1] + 1 < _COMMON * ordered.size:
        return np.zeros(values.shape, bool)
    return np.asarray(values > ordered[gaps[-1]])


def _nines(value: float) -> int:
    """Return the number of digits of a number that consists of nines, 0 for others."""
    texts = (f"{abs(value):.{precision}g}".replace(".", "") for precision in (15, 7))  # also of 32-bit numbers
    return next((len(digits) for digits in texts if set(digits) == {"9"}), 0)

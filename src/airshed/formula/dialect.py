"""Dialects of C++: the names of values, numbers and functions of formulas, for each kind of code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Dialect:
    """Notation of formulas in one kind of code.

    name       in messages
    type       of a value
    number     text of a number as an operand
    alone      format of a number that is a value by itself
    functions  name -> format of its arguments; min and max of several arguments are nested
    choice     format of a condition and of the values where it is true and false
    exact      whether each operation is rounded as in NumPy. Otherwise whole powers up to the eighth, and divisions by
               a number, are products; a power that `functions` lacks is exp(y log x), for x > 0 only.
    """

    name: str
    type: str
    number: Callable[[float], str]
    alone: str
    functions: Mapping[str, str]
    choice: str = "({0} ? {1} : {2})"
    exact: bool = False


def _number(value: float) -> str:
    """Return a double as a C++ literal."""
    if value != value:
        return '__builtin_nan("")'
    return repr(value) if abs(value) != float("inf") else f"{'-' if value < 0.0 else ''}__builtin_inf()"


DOUBLES: Final = Dialect(
    "code of packs of doubles", "dpack", _number, "dsplat({})",
    {
        "exp": "vexp({0})", "log": "vlog({0})", "log10": "vlog10({0})", "sqrt": "vsqrt({0})", "abs": "vabs({0})",
        "min": "vmin({0}, {1})", "max": "vmax({0}, {1})", "^": "vpower({0}, {1})", "%": "vmodulo({0}, {1})",
        "sin": "vsin({0})", "cos": "vcos({0})", "tan": "vtan({0})",
    },
)  # fmt: skip
"""Packs of doubles. A power of a negative number is NaN, unless it is a whole power up to the eighth."""

POSITIVE: Final = replace(DOUBLES, functions={name: form for name, form in DOUBLES.functions.items() if name != "^"})
"""The same for positive bases of powers: powers of one base share its logarithm."""


def _through_double(form: str) -> str:
    for place in ("{0}", "{1}"):
        form = form.replace(place, f"to_double({place})")
    return f"to_real({form})"


PACKS: Final = Dialect(
    "code of packs", "pack", lambda value: f"real({_number(value)})", "splat({})",
    {
        **{name: _through_double(form) for name, form in DOUBLES.functions.items()},
        "min": "minimum({0}, {1})", "max": "maximum({0}, {1})",
    },
)  # fmt: skip
"""Packs of `real`, of double or single precision; functions without a form on packs are computed in double."""

SCALARS: Final = Dialect(
    "a formula in one pass", "double", _number, "{}",
    {
        "sqrt": "__builtin_sqrt({0})", "abs": "__builtin_fabs({0})", "min": "minimum({0}, {1})",
        "max": "maximum({0}, {1})",
    },
    exact=True,
)  # fmt: skip
"""Doubles one by one, bitwise identical to NumPy."""

"""Dates, hours, degrees and heights in words, the same whatever the language settings of the machine."""

import numpy as np

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def date(time: np.datetime64) -> str:
    """Return a date such as "31 August 2022"."""
    year, month, day = str(time.astype("datetime64[D]")).rsplit("-", 2)
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"


def short_date(time: np.datetime64) -> str:
    """Return a date such as "31 Aug"."""
    day, month, _ = date(time).split(" ")
    return f"{day} {month[:3]}"


def clock(time: np.datetime64) -> str:
    """Return an hour such as "15:00"."""
    return str(time.astype("datetime64[m]")).split("T")[1]


def longitude(value: float) -> str:
    """Return a longitude such as "5°E", whatever turn it is counted in."""
    turned = (value + 180) % 360 - 180
    side = "" if turned in (0, -180) else "E" if turned > 0 else "W"
    return f"{abs(turned):.6g}°{side}"


def latitude(value: float) -> str:
    """Return a latitude such as "52.5°N"."""
    return f"{abs(value):.6g}°{'' if value == 0 else 'N' if value > 0 else 'S'}"


def height(metres: float) -> str:
    """Return a height such as "20 m" or "1.5 km"."""
    return f"{metres:.3g} m" if metres < 1000 else f"{metres / 1000:.3g} km"

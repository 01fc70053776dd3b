"""The sun of a box, as smooth in time as double precision allows, so that it can be integrated to any tolerance."""

from math import floor
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import Location
from airshed.air.solar import declination, equation_of_time
from airshed.core.constants import SECONDS_PER_DAY
from airshed.mechanism.kpp.rate_functions import SUNRISE, SUNSET

Array = npt.NDArray[np.float64]

_SECONDS_PER_DEGREE: Final = 240.0


def cosine_at(location: Location, seconds: npt.ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle, below 0 at night.

    cos(z) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(h),    h = 2 pi (t + equation of time)/day - pi

    seconds  t [s] since local midnight of the first day, local time being UTC + lon/15 h
    """
    t = np.asarray(seconds, np.float64)
    utc = np.round((t - _SECONDS_PER_DEGREE * location.lon) * 1e9).astype("timedelta64[ns]")
    when = np.datetime64(location.date, "ns") + utc
    angle = (t % SECONDS_PER_DAY + equation_of_time(when)) * (2.0 * np.pi / SECONDS_PER_DAY) - np.pi
    phi, delta = np.radians(location.lat), declination(when)
    return np.asarray(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(angle))


def kpp_kinks(start: float, end: float) -> list[float]:
    """Return the times [s] between two others at which KPP's day begins and ends: its light is not smooth there."""
    days = range(floor(start / SECONDS_PER_DAY), floor(end / SECONDS_PER_DAY) + 1)
    times = [day * SECONDS_PER_DAY + 3600.0 * hour for day in days for hour in (SUNRISE, SUNSET)]
    return [time for time in times if start < time < end]

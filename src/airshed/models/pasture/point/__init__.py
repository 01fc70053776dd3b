"""Pasture at one place: a daily run at a station, with all states and fluxes in its output."""

from airshed.models.pasture.point.case import PointCase, point_case, read_point
from airshed.models.pasture.point.run import run_point
from airshed.models.pasture.point.simulate import Series, simulate

__all__ = ["PointCase", "Series", "point_case", "read_point", "run_point", "simulate"]

"""Errors of moving arrays between distributions."""

from airshed.core.errors import AirshedError


class RedistributionError(AirshedError):
    """A distribution, a plan or an array does not fit what it is used for."""


class LinkError(RedistributionError):
    """The other job is missing, is somebody else, or has gone."""

"""The strategies by name: what a case may say, and what this machine has."""

from dataclasses import dataclass
from importlib import import_module
from typing import Final, Self

from airshed.core.errors import OutputError
from airshed.core.text import suggestion

STRATEGIES: Final = ("gather", "files", "mpiio", "pnetcdf", "netcdf4", "zarr")
AUTO: Final = "auto"
COMPRESSING: Final = ("gather", "files", "zarr")
"""Those that can compress: ranks that write one file together have to know beforehand where each part begins."""

_MODES: Final = {"sync": False, "async": True}
LIBRARIES: Final = {
    "pnetcdf": "airshed.io.libraries.pnetcdf",
    "netcdf4": "airshed.io.libraries.netcdf4_parallel",
}


@dataclass(frozen=True)
class Strategy:
    """How files are written: by which strategy, and whether behind the computation (asynchronous)."""

    name: str
    asynchronous: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the strategy that a text names: "NAME" or "NAME:sync", "NAME:async"; raises OutputError for others."""
        name, colon, mode = text.partition(":")
        if name not in (*STRATEGIES, AUTO):
            raise OutputError(f"there is no strategy {name!r}; {suggestion(name, (*STRATEGIES, AUTO))}")
        if colon and mode not in _MODES:
            raise OutputError(f'strategy {text!r}: after the colon comes "sync" or "async", not {mode!r}')
        return cls(name, _MODES[mode] if colon else False)

    def __str__(self) -> str:
        return f"{self.name}:{'async' if self.asynchronous else 'sync'}"


def check_there(strategy: Strategy) -> None:
    """Raise OutputError, which names what to install, where this machine lacks what a strategy needs."""
    reason = missing(strategy.name)
    if reason is not None:
        raise OutputError(f'strategy "{strategy.name}" is not there: {reason}')


def missing(name: str) -> str | None:
    """Return why a strategy cannot be used on this machine and what to install; None where it can."""
    if name not in LIBRARIES:
        return None
    reason: str | None = import_module(LIBRARIES[name]).available()
    return reason

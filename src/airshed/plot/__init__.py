"""Pictures of a finished run: maps, an animation, time series at cities and curtains.

Matplotlib is imported with the first picture, so that importing this package is cheap.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airshed.plot.run import plot_run

__all__ = ["plot_run"]


def __getattr__(name: str) -> Any:
    """Load `plot_run` on first use."""
    if name == "plot_run":
        from airshed.plot.run import plot_run

        return plot_run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The settings of a case that say where and when: `[grid]` and `[time]`."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from airshed.case import sections as general
from airshed.core.errors import CaseError
from airshed.core.settings import KEY, Number, OrWords, Section, refuse, setting
from airshed.core.units import Quantity
from airshed.grid.layers import check_layer_tops, default_layers
from airshed.models.air.case.values import (
    MOST_CELLS,
    Angle,
    Height,
    Latitudes,
    Longitudes,
    SpinUp,
    Step,
)


def _spacing(value: Any) -> Any:
    return {"lon": value, "lat": value} if isinstance(value, str | int | float | Quantity) else value


class Area(Section):
    """The box of the case, on the sphere."""

    lon: Longitudes = setting(..., "Western and eastern edge.", unit="deg")
    lat: Latitudes = setting(..., "Southern and northern edge.", unit="deg")

    @model_validator(mode="after")
    def _on_the_sphere(self) -> Self:
        if self.lon[1] - self.lon[0] > 360.0:
            raise refuse(f"{KEY}.lon = {list(self.lon)} goes more than once around the sphere")
        return self


class Spacing(Section):
    """The size of a cell."""

    lon: Angle = setting(..., "West to east size of a cell; `spacing` itself may be one angle for both.")
    lat: Angle = setting(..., "South to north size of a cell.")


def _default_layers() -> tuple[str, ...]:
    return tuple(f"{top:g} m" for top in default_layers())


class GridSection(Section):
    """Where: the box and its cells."""

    area: Area
    spacing: Annotated[Spacing, BeforeValidator(_spacing)]
    layers: tuple[Height, ...] = setting(_default_layers, "Tops of the layers, above ground, lowest first.")

    @model_validator(mode="after")
    def _cells(self) -> Self:
        try:
            check_layer_tops(tuple(top.value for top in self.layers))
        except CaseError as error:
            raise refuse(f"{KEY}.layers: {error}") from error
        count = float(len(self.layers))
        for axis in ("lon", "lat"):
            edges, size = getattr(self.area, axis), getattr(self.spacing, axis)
            cells = (edges[1] - edges[0]) / size.value
            count *= cells
            if cells < 0.5 or abs(cells - round(cells)) > 1e-6 * cells:
                extent = f"{edges[1] - edges[0]:g} degrees of {KEY}.area.{axis}"
                raise refuse(f"{KEY}.spacing.{axis} = {size.text!r} does not divide the {extent} into whole cells")
        if count > MOST_CELLS:
            raise refuse(f"{KEY} has {count:.3g} cells, more than {MOST_CELLS:.0e}; take a larger {KEY}.spacing")
        return self


class TimeSection(general.TimeSection):
    """When, and in what steps."""

    step: Annotated[Quantity | Literal["auto"], OrWords(("auto",), Step)] = setting(
        "auto",
        "Time step; `auto` takes the longest that `courant` and, with chemistry or deposition, `longest` allow.",
    )
    longest: Step = setting(
        "5 min",
        'Longest step for `step = "auto"` with chemistry or deposition, however weak the wind.',
        validate_default=True,
    )
    spinup: SpinUp = setting(
        "0 h",
        "Time simulated before `start` to settle the chemistry, with the forcing of the first day.",
        validate_default=True,
    )
    courant: Number = setting(
        0.4,
        'Largest sum of the Courant numbers over the three directions, for `step = "auto"`; with splittings '
        "that of the pieces into which transport is divided, for any step.",
        unit="1",
        ge=0.001,
        le=0.5,
    )

    @property
    def whole(self) -> float:
        """How long is simulated in all [s], with the spin-up."""
        return self.length.value + self.spinup.value

    @property
    def parts(self) -> str:
        """The settings that :attr:`whole` is the sum of, in words."""
        return "time.length and time.spinup"

"""The section of a receptor: what `airshed adjoint` measures, and what it writes of the way back."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from airshed.case.values import Interval, Text, Times, pair, rising
from airshed.core.settings import KEY, Section, refuse, setting
from airshed.models.air.case.values import Latitude, Layer, Longitude

Measure = Literal["mean", "aot40", "mda8"]


Easts = Annotated[tuple[Longitude, Longitude], BeforeValidator(pair), AfterValidator(rising)]
Norths = Annotated[tuple[Latitude, Latitude], BeforeValidator(pair), AfterValidator(rising)]


class ReceptorSection(Section):
    """What `airshed adjoint` asks: what is measured, where and when; a run does not look at it."""

    species: Text | None = setting(None, "Species that is measured.")
    place: Text | None = setting(None, "City of 100 000 people or more, or country; or give `lon` and `lat`.")
    lon: Easts | None = setting(None, "Longitude, or the western and the eastern edge of a box.", unit="deg")
    lat: Norths | None = setting(None, "Latitude, or the southern and the northern edge of a box.", unit="deg")
    level: Layer = setting(0, "Layer; 0 is the one at the ground.")
    time: Times | None = setting(
        None, "Time since the start, or the first and the last of hourly times; without it the end of the case."
    )
    measure: Measure = setting(
        "mean",
        "`mean` of the times; `aot40`, the sum over the hours of what is above 40 ppb; `mda8`, the greatest mean of "
        "eight hours in a row.",
    )
    fields: tuple[Text, ...] = setting((), "Species whose adjoint fields in time are written.")
    every: Interval = setting("3 h", "Time between these fields.", validate_default=True)
    layer: Layer = setting(0, "Layer of these fields that is drawn; 0 is the one at the ground.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.place is not None and (self.lon is not None or self.lat is not None):
            raise refuse(f"{KEY}.place = {self.place!r} beside {KEY}.lon or {KEY}.lat: give one of them")
        if (self.lon is None) != (self.lat is None):
            raise refuse(f"{KEY}.lon and {KEY}.lat belong together")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return what is set as the table that ``airshed.inverse.sensitivity`` takes."""
        asked = {name: getattr(self, name) for name in ("species", "place", "lon", "lat", "level", "measure")}
        if self.time is not None:
            asked["time"] = [each.value for each in self.time]
        return {name: value for name, value in asked.items() if value is not None}

"""The sections of a case of a model of points that only `airshed adjoint` reads."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airshed.case.values import Interval, Text, Times, pair, rising
from airshed.core.settings import KEY, Number, Section, Whole, quantity_range, refuse, setting
from airshed.core.units import Quantity

Degrees = Annotated[Number, Field(ge=-180.0, le=540.0)]
Ends = Annotated[tuple[Degrees, Degrees], BeforeValidator(pair), AfterValidator(rising)]


class ReceptorSection(Section):
    """What `airshed adjoint` measures, where and when; a run does not read it. Without a place it is all cells."""

    field: Text | None = setting(None, "Field that is measured: of the state, or a flux.")
    place: Text | None = setting(None, "City of 100 000 people or more, or country; or give `lon` and `lat`.")
    lon: Ends | None = setting(None, "Longitude, or the western and the eastern edge of a box.", unit="deg")
    lat: Ends | None = setting(None, "Latitude, or the southern and the northern edge of a box.", unit="deg")
    cells: tuple[Whole, ...] = setting((), "Numbers of cells, from 0 on, in place of these.")
    time: Times | None = setting(
        None,
        "Time since the start, or two, for the mean of the steps that end between; by default the end of the case.",
    )
    measure: Literal["mean", "sum"] = setting("mean", "Mean of the cells by their area, or their sum.")
    every: Interval = setting("7 day", "Length of the periods of weather.", validate_default=True)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [self.place is not None, self.lon is not None or self.lat is not None, bool(self.cells)]
        if sum(given) > 1:
            raise refuse(f"{KEY}: give one of {KEY}.place, {KEY}.lon with {KEY}.lat, and {KEY}.cells")
        if (self.lon is None) != (self.lat is None):
            raise refuse(f"{KEY}.lon and {KEY}.lat belong together")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return what is set as the table that ``airshed.inverse.sensitivity`` takes."""
        return {name: value for name, value in self.to_dict().items() if value != []}


class AdjointSection(Section):
    """What of a run is stored so that it can be reversed, on each rank; a run by itself stores nothing."""

    memory: Annotated[Quantity, quantity_range("B", least="1 MiB", most="1e6 TiB")] = setting(
        "512 MiB", "Memory for restarts, and for the state before each step of a stretch.", validate_default=True
    )

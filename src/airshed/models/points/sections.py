"""Sections of the case of a point model that only `airshed adjoint` reads."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airshed.case.values import Interval, Text, Times, pair, rising
from airshed.core.settings import KEY, Number, Section, Whole, quantity_range, refuse, setting
from airshed.core.units import Quantity

Degrees = Annotated[Number, Field(ge=-180.0, le=540.0)]
Ends = Annotated[tuple[Degrees, Degrees], BeforeValidator(pair), AfterValidator(rising)]


class ReceptorSection(Section):
    """Receptor of `airshed adjoint`; a run does not read it. Without a location it is all cells."""

    field: Text | None = setting(None, "Field of the receptor: a state variable or a flux.")
    place: Text | None = setting(None, "City of 100 000 people or more, or country; or give `lon` and `lat`.")
    lon: Ends | None = setting(None, "Longitude, or the western and eastern edges of an area.", unit="deg")
    lat: Ends | None = setting(None, "Latitude, or the southern and northern edges of an area.", unit="deg")
    cells: tuple[Whole, ...] = setting((), "Numbers of cells, from 0, instead of a location.")
    time: Times | None = setting(
        None,
        "Time since the start, or two times for the mean of the steps that end between them; by default the end.",
    )
    measure: Literal["mean", "sum"] = setting("mean", "Area-weighted mean of the cells, or their sum.")
    every: Interval = setting("7 day", "Length of the periods of weather.", validate_default=True)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [self.place is not None, self.lon is not None or self.lat is not None, bool(self.cells)]
        if sum(given) > 1:
            raise refuse(f"{KEY}: give one of {KEY}.place, {KEY}.lon with {KEY}.lat, and {KEY}.cells")
        if (self.lon is None) != (self.lat is None):
            raise refuse(f"{KEY}.lon and {KEY}.lat must be given together")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as a table for ``airshed.inverse.sensitivity``."""
        return {name: value for name, value in self.to_dict().items() if value != []}


class AdjointSection(Section):
    """Storage of checkpoints for `airshed adjoint`, on each rank; a run does not read it."""

    memory: Annotated[Quantity, quantity_range("B", least="1 MiB", most="1e6 TiB")] = setting(
        "512 MiB", "Memory for restarts, and for the state before each step of a stretch.", validate_default=True
    )

"""The sections of a case for its derivatives: the receptor of a gradient, and 4D-Var."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airshed.case.values import FileName, Interval, PathText, Text, Times, pair, rising
from airshed.core.settings import KEY, KeywordUnion, Number, Section, Whole, quantity_range, refuse, setting
from airshed.core.units import Quantity
from airshed.models.air.case.sections import Latitude, Layer, Longitude, MixingRatio

Reach = Annotated[Quantity, quantity_range("m", least="1 m", most="20000 km", or_zero=True)]
Duration = Annotated[Quantity, quantity_range("s", least="1 s", most="1 year", or_zero=True)]
Share = Annotated[Number, Field(ge=0.0, le=10.0)]
Correlation = Literal["exponential", "gaussian", "balgovind"]


class ControlSection(Section):
    """What 4D-Var may change: one factor or increment for all species and sectors that are named together."""

    name: FileName = setting(..., "What it is called in reports and files.")
    target: Literal["emission", "initial"] = setting("emission", "Whether it acts on emission or on the initial state.")
    species: tuple[Text, ...] = setting(..., "Species on which it acts.", min_length=1)
    sectors: tuple[Text, ...] = setting(
        (), "For `emission`: sectors of the inventory on which it acts; by default all, and what is in no inventory."
    )
    regions: tuple[Text, ...] = setting(
        (), "For `emission`: countries of the inventory on which it acts, such as `DE`; by default as `sectors`."
    )
    kind: Literal["log-normal", "gaussian"] = setting(
        "log-normal", "`log-normal` for a factor; `gaussian`, for `initial` of one species, for an increment."
    )
    resolution: Literal["cell", "region", "domain"] = setting(
        "cell", "Whether each cell has its own, each of `regions`, or the domain has one."
    )
    parts_of_day: Whole = setting(
        1, "For `emission`: equal parts of the day (UTC) with a factor each, the same on all days.", unit="1",
        ge=1, le=24,
    )  # fmt: skip
    sigma: Number = setting(
        0.5, "For `log-normal`: background standard deviation of the factor's logarithm.", unit="1", ge=0.001, le=5.0
    )
    deviation: MixingRatio = setting("1 ppb", "For `gaussian`: background standard deviation.")
    correlation: Correlation = setting("exponential", "How background errors are correlated with distance.")
    length: Reach = setting("100 km", "Correlation length west to east and south to north; 0 for none.")
    height: Reach = setting("500 m", "For `initial`: correlation length upward; 0 for none.")
    time: Duration = setting("0 h", "For `emission`: correlation length between parts of the day; 0 for none.")

    @model_validator(mode="after")
    def _kinds(self) -> Self:
        if self.kind == "gaussian" and (self.target != "initial" or len(self.species) > 1):
            raise refuse(f'{KEY}.kind = "gaussian" is for {KEY}.target = "initial" and one species; take "log-normal"')
        if self.kind == "gaussian" and self.deviation.value == 0.0:
            raise refuse(f"{KEY}.deviation = {self.deviation.text!r} lets nothing change; give more than 0")
        if self.target == "initial" and (self.sectors or self.regions or self.parts_of_day > 1):
            raise refuse(f'{KEY}.sectors, {KEY}.regions and {KEY}.parts_of_day are for {KEY}.target = "emission"')
        if self.resolution == "region" and not self.regions:
            raise refuse(f'{KEY}.resolution = "region" needs {KEY}.regions, such as ["DE", "FR"]')
        for name in ("species", "sectors", "regions"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise refuse(f"{KEY}.{name} = {list(getattr(self, name))} names one twice")
        return self


class TimeConventionSection(Section):
    """Zone and label of the times in files of stations; both or none."""

    zone: str = setting(
        "", 'IANA zone such as "Europe/Berlin", offset such as "UTC+01:00", "UTC", or "file" for an offset in each row.'
    )
    label: Literal["", "start", "end", "start and end"] = setting(
        "", "Whether a time is the start or the end of the mean; by default both are those of the layout."
    )

    @model_validator(mode="after")
    def _both(self) -> Self:
        if bool(self.zone) != bool(self.label):
            missing = "label" if self.zone else "zone"
            raise refuse(f'{KEY} has no {missing}; write time = {{ zone = "Europe/Berlin", label = "end" }}')
        return self


class ObservedSection(Section):
    """Which observations are taken, and how exact they are."""

    stations: tuple[PathText, ...] = setting(
        (),
        "Files of stations in any layout of docs/reference/observations.md, relative to the case; "
        "`*` stands for any name.",
    )
    station_tables: tuple[PathText, ...] = setting(
        (), "Tables with the coordinates of stations, for files that have none, relative to the case."
    )
    time: TimeConventionSection = Field(default_factory=TimeConventionSection)
    units: Mapping[str, Text] = setting({}, 'Units by species, for files that have none: `{ NO2 = "ug/m3" }`.')
    columns: tuple[PathText, ...] = setting((), "netCDF files of columns with averaging kernels, relative to the case.")
    withheld: tuple[PathText, ...] = setting(
        (), "As `stations`, of ones that are compared before and after, and not assimilated."
    )
    species: tuple[Text, ...] = setting((), "Species that are observed.")
    names: Mapping[str, Text] = setting({}, 'Species by the names that files use, such as `{ nitrogen = "NO2" }`.')
    averaging: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Duration)] = setting(
        "auto", "Averaging period of rows that give none; 0 for an instant; `auto` takes that of the layout."
    )
    flags: tuple[str, ...] = setting(("", "0", "valid"), "Valid flags; rows with other flags are rejected.")
    outside: Literal["refuse", "skip"] = setting("refuse", "What becomes of rows outside the area or the window.")
    other_species: Literal["refuse", "skip"] = setting("refuse", "What becomes of rows of other species.")
    volume: Literal["standard", "ambient"] = setting(
        "standard", "What a volume means, as in ug/m3: air of 293 K and 101.3 kPa, as in Europe, or that of the place."
    )
    instrument_error: Share = setting(0.1, "Error relative to the value, for rows that give none.", unit="1")
    representativeness_error: Share = setting(
        0.2, "Representativeness error relative to the value, for rows that give none.", unit="1"
    )
    error_floor: Share = setting(
        0.2, "Least value of which errors are shares, as a share of the mean of all values of the species.", unit="1"
    )
    background_check: Number = setting(
        5.0, "Observations that are so many standard deviations from the background are rejected.", unit="1",
        gt=0.0, le=1e9,
    )  # fmt: skip
    background_error: Share = setting(
        0.5, "For `background_check`: relative error of the simulated background, which the analysis reduces.",
        unit="1",
    )  # fmt: skip


class TwinSection(Section):
    """Observations that `airshed assimilate --make-twin` makes of a run with known factors, to see them found again."""

    seed: Whole = setting(0, "Of the true factors, the places of stations and the noise.", unit="1", ge=0, le=1_000_000)
    minimum_factor: Number = setting(0.6, "Least true factor of log-normal controls.", gt=0.0, le=100.0, unit="1")
    maximum_factor: Number = setting(
        1.6, "Greatest one; they are even in the logarithm between.", gt=0.0, le=100.0, unit="1"
    )
    stations: Whole = setting(0, "Stations that are made; 0 where the case is no twin.", unit="1", ge=0, le=100_000)
    withheld: Whole = setting(0, "Further ones that are withheld.", unit="1", ge=0, le=100_000)
    noise: Share = setting(0.05, "Standard deviation of the noise, as a share of each value.", unit="1")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.minimum_factor > self.maximum_factor:
            raise refuse(
                f"{KEY}.minimum_factor = {self.minimum_factor:g} is more than "
                f"{KEY}.maximum_factor = {self.maximum_factor:g}"
            )
        return self


class AssimilationSection(Section):
    """Emission factors and initial states by which the run is nearest to observations; docs/how-to/assimilation.md."""

    scheme: Literal["none", "4dvar"] = setting("none", "`4dvar`, or `none` for a run without observations.")
    window: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Interval)] = setting(
        "auto", "Time from `time.start` in which observations count; `auto` takes `time.length`."
    )
    iterations: Whole = setting(30, "Most iterations of the minimisation.", unit="1", ge=0, le=10_000)
    gradient_tolerance: Number = setting(
        1e-3, "Reduction of the gradient's norm that is enough.", unit="1", ge=0.0, lt=1.0
    )
    cost_tolerance: Number = setting(
        1e-5, "Relative decrease of the cost in an iteration below which it ends.", unit="1", ge=0.0, lt=1.0
    )
    probes: Whole = setting(
        0, "Random probes for the spread of the analysis; each costs up to `iterations` runs.", unit="1", ge=0, le=1000
    )
    observations: ObservedSection = Field(default_factory=ObservedSection)
    twin: TwinSection = Field(default_factory=TwinSection)
    control: tuple[ControlSection, ...] = setting((), "What may change.")

    @property
    def separates_countries(self) -> bool:
        """Whether a control acts on some countries, so that the inventory must keep them apart."""
        return self.scheme != "none" and any(each.regions for each in self.control)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [control.name for control in self.control]
        if len(set(names)) < len(names):
            raise refuse(f"{KEY}.control: two have the same name; give each its own")
        if self.scheme == "none":
            return self
        if not self.control:
            raise refuse(f'{KEY}.scheme = "4dvar" needs [[{KEY}.control]]: what may change')
        if not self.observations.stations + self.observations.columns or not self.observations.species:
            raise refuse(f'{KEY}.scheme = "4dvar" needs {KEY}.observations.species, and files in stations or columns')
        return self


Measure = Literal["mean", "aot40", "mda8"]
Easts = Annotated[tuple[Longitude, Longitude], BeforeValidator(pair), AfterValidator(rising)]
Norths = Annotated[tuple[Latitude, Latitude], BeforeValidator(pair), AfterValidator(rising)]


class ReceptorSection(Section):
    """The receptor of `airshed adjoint`: what is measured, where and when; a run does not read it."""

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
    map_layer: Layer = setting(0, "Layer of these fields that is drawn; 0 is the one at the ground.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.place is not None and (self.lon is not None or self.lat is not None):
            raise refuse(f"{KEY}.place = {self.place!r} beside {KEY}.lon or {KEY}.lat: give one of them")
        if (self.lon is None) != (self.lat is None):
            raise refuse(f"{KEY}.lon and {KEY}.lat belong together")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return what is set as the table that ``airshed.inverse.sensitivity`` takes."""
        return {name: value for name, value in self.to_dict().items() if value != []}

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
    """Control variable of 4D-Var: a factor or an increment, shared by the named species and sectors."""

    name: FileName = setting(..., "Name in reports and files.")
    target: Literal["emission", "initial"] = setting("emission", "Whether it acts on emission or on the initial state.")
    species: tuple[Text, ...] = setting(..., "Species on which it acts.", min_length=1)
    sectors: tuple[Text, ...] = setting(
        (),
        "For `emission`: sectors of the inventory, of stacks and of gridded files on which it acts; by default all "
        "sectors and all other sources.",
    )
    regions: tuple[Text, ...] = setting(
        (), "For `emission`: countries of the inventory on which it acts, such as `DE`; by default all."
    )
    kind: Literal["log-normal", "gaussian"] = setting(
        "log-normal", "`log-normal` for a factor; `gaussian`, for `initial` of one species, for an increment."
    )
    resolution: Literal["cell", "region", "domain"] = setting(
        "cell", "One value for each cell, for each of `regions`, or for the whole domain."
    )
    parts_of_day: Whole = setting(
        1, "For `emission`: number of equal parts of the day (UTC) with separate factors, the same on all days.",
        unit="1", ge=1, le=24,
    )  # fmt: skip
    sigma: Number = setting(
        0.5, "For `log-normal`: background standard deviation of the factor's logarithm.", unit="1", ge=0.001, le=5.0
    )
    deviation: MixingRatio = setting("1 ppb", "For `gaussian`: background standard deviation.")
    correlation: Correlation = setting("exponential", "Correlation function of background errors.")
    length: Reach = setting("100 km", "Horizontal correlation length; 0 for no correlation.")
    height: Reach = setting("500 m", "For `initial`: vertical correlation length; 0 for no correlation.")
    time: Duration = setting("0 h", "For `emission`: correlation time between parts of the day; 0 for no correlation.")

    @model_validator(mode="after")
    def _kinds(self) -> Self:
        if self.kind == "gaussian" and (self.target != "initial" or len(self.species) > 1):
            raise refuse(f'{KEY}.kind = "gaussian" is for {KEY}.target = "initial" and one species; take "log-normal"')
        if self.kind == "gaussian" and self.deviation.value == 0.0:
            raise refuse(f"{KEY}.deviation = {self.deviation.text!r} fixes the initial state; give more than 0")
        if self.target == "initial" and (self.sectors or self.regions or self.parts_of_day > 1):
            raise refuse(f'{KEY}.sectors, {KEY}.regions and {KEY}.parts_of_day are for {KEY}.target = "emission"')
        if self.resolution == "region" and not self.regions:
            raise refuse(f'{KEY}.resolution = "region" needs {KEY}.regions, such as ["DE", "FR"]')
        for name in ("species", "sectors", "regions"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise refuse(f"{KEY}.{name} = {list(getattr(self, name))} has a duplicate; name each once")
        return self


class TimeConventionSection(Section):
    """Time zone and label of the times in station files; give both or none."""

    zone: str = setting(
        "", 'IANA zone such as "Europe/Berlin", offset such as "UTC+01:00", "UTC", or "file" for an offset in each row.'
    )
    label: Literal["", "start", "end", "start and end"] = setting(
        "", "Whether times are the start or the end of the averaging interval; by default as in the layout."
    )

    @model_validator(mode="after")
    def _both(self) -> Self:
        if bool(self.zone) != bool(self.label):
            missing = "label" if self.zone else "zone"
            raise refuse(f'{KEY} has no {missing}; write time = {{ zone = "Europe/Berlin", label = "end" }}')
        return self


class ObservedSection(Section):
    """Selection of observations, and their errors."""

    stations: tuple[PathText, ...] = setting(
        (), "Station files in any layout of docs/reference/observations.md, relative to the case; `*` matches any text."
    )
    station_tables: tuple[PathText, ...] = setting(
        (), "Tables with the coordinates of stations, for files without coordinates, relative to the case."
    )
    time: TimeConventionSection = Field(default_factory=TimeConventionSection)
    units: Mapping[str, Text] = setting({}, 'Units by species, for files without units: `{ NO2 = "ug/m3" }`.')
    columns: tuple[PathText, ...] = setting((), "netCDF files of columns with averaging kernels, relative to the case.")
    withheld: tuple[PathText, ...] = setting(
        (), "Station files for validation: compared with background and analysis, and not assimilated."
    )
    species: tuple[Text, ...] = setting((), "Species that are observed.")
    names: Mapping[str, Text] = setting({}, 'Species by their names in files, such as `{ nitrogen = "NO2" }`.')
    averaging: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Duration)] = setting(
        "auto", "Averaging interval of rows that give none; 0 for instantaneous values; `auto` as in the layout."
    )
    flags: tuple[str, ...] = setting(("", "0", "valid"), "Valid flags; rows with other flags are rejected.")
    outside: Literal["refuse", "skip"] = setting("refuse", "Treatment of rows outside the area or the window.")
    other_species: Literal["refuse", "skip"] = setting("refuse", "Treatment of rows of other species.")
    volume: Literal["standard", "ambient"] = setting(
        "standard",
        "Air volume in units such as ug/m3: `standard` at 293 K and 101.3 kPa, as in Europe, or `ambient`.",
    )
    instrument_error: Share = setting(0.1, "Instrument error relative to the value, for rows that give none.", unit="1")
    representativeness_error: Share = setting(
        0.2, "Representativeness error relative to the value, for rows that give none.", unit="1"
    )
    error_floor: Share = setting(
        0.2, "Minimum value for relative errors, as a fraction of the mean of all values of the species.", unit="1"
    )
    background_check: Number = setting(
        5.0, "Observations further from the background than this number of standard deviations are rejected.",
        unit="1", gt=0.0, le=1e9,
    )  # fmt: skip
    background_error: Share = setting(
        0.5, "For `background_check`: relative error of the simulated background, which the analysis reduces.",
        unit="1",
    )  # fmt: skip


class TwinSection(Section):
    """Synthetic observations of a twin experiment, which `airshed assimilate --make-twin` samples from a run."""

    seed: Whole = setting(
        0, "Random seed of the true factors, the station locations and the noise.", unit="1", ge=0, le=1_000_000
    )
    minimum_factor: Number = setting(0.6, "Minimum true factor of log-normal controls.", gt=0.0, le=100.0, unit="1")
    maximum_factor: Number = setting(
        1.6, "Maximum true factor; the distribution of the logarithm is uniform.", gt=0.0, le=100.0, unit="1"
    )
    stations: Whole = setting(
        0, "Number of assimilated stations; 0 without a twin experiment.", unit="1", ge=0, le=100_000
    )
    withheld: Whole = setting(0, "Number of additional stations for validation.", unit="1", ge=0, le=100_000)
    noise: Share = setting(0.05, "Standard deviation of the noise relative to each value.", unit="1")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.minimum_factor > self.maximum_factor:
            raise refuse(
                f"{KEY}.minimum_factor = {self.minimum_factor:g} is more than "
                f"{KEY}.maximum_factor = {self.maximum_factor:g}"
            )
        return self


class AssimilationSection(Section):
    """Estimation of emission factors and initial states from observations; see docs/how-to/assimilation.md."""

    scheme: Literal["none", "4dvar"] = setting("none", "`4dvar`, or `none` for a run without assimilation.")
    window: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Interval)] = setting(
        "auto", "Length of the assimilation window, which begins at `time.start`; `auto` is `time.length`."
    )
    iterations: Whole = setting(30, "Maximum number of iterations of the minimisation.", unit="1", ge=0, le=10_000)
    gradient_tolerance: Number = setting(
        1e-3, "The minimisation ends when the gradient norm, relative to the first one, is below this value.",
        unit="1", ge=0.0, lt=1.0,
    )  # fmt: skip
    cost_tolerance: Number = setting(
        1e-5, "The minimisation ends when the relative decrease of the cost in an iteration is below this value.",
        unit="1", ge=0.0, lt=1.0,
    )  # fmt: skip
    probes: Whole = setting(
        0, "Random probes for the uncertainty of the analysis; each costs up to `iterations` runs.", unit="1",
        ge=0, le=1000,
    )  # fmt: skip
    observations: ObservedSection = Field(default_factory=ObservedSection)
    twin: TwinSection = Field(default_factory=TwinSection)
    control: tuple[ControlSection, ...] = setting((), "Control variables.")

    @property
    def separates_countries(self) -> bool:
        """True if a control acts on some countries only, so that the inventory must store countries separately."""
        return self.scheme != "none" and any(each.regions for each in self.control)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [control.name for control in self.control]
        if len(set(names)) < len(names):
            raise refuse(f"{KEY}.control: two controls have the same name; give each its own name")
        if self.scheme == "none":
            return self
        if not self.control:
            raise refuse(f'{KEY}.scheme = "4dvar" needs [[{KEY}.control]], the variables to estimate')
        if not self.observations.stations + self.observations.columns or not self.observations.species:
            raise refuse(f'{KEY}.scheme = "4dvar" needs {KEY}.observations.species, and files in stations or columns')
        return self


Measure = Literal["mean", "aot40", "mda8"]
Easts = Annotated[tuple[Longitude, Longitude], BeforeValidator(pair), AfterValidator(rising)]
Norths = Annotated[tuple[Latitude, Latitude], BeforeValidator(pair), AfterValidator(rising)]


class ReceptorSection(Section):
    """Receptor of `airshed adjoint`: a species with its location, time and measure; not used in a run."""

    species: Text | None = setting(None, "Species of the receptor.")
    place: Text | None = setting(None, "City of at least 100 000 people, or country; alternatively `lon` and `lat`.")
    lon: Easts | None = setting(None, "Longitude, or western and eastern edge of a rectangle.", unit="deg")
    lat: Norths | None = setting(None, "Latitude, or southern and northern edge of a rectangle.", unit="deg")
    level: Layer = setting(0, "Layer; 0 is the lowest one.")
    time: Times | None = setting(
        None, "Time since the start, or the first and the last of hourly times; by default the end of the case."
    )
    measure: Measure = setting(
        "mean",
        "`mean` of the times; `aot40`, the sum over the hours of the excess above 40 ppb; `mda8`, the maximum of the "
        "running 8-hour means.",
    )
    fields: tuple[Text, ...] = setting((), "Species whose adjoint fields are written.")
    every: Interval = setting("3 h", "Output interval of the adjoint fields.", validate_default=True)
    map_layer: Layer = setting(0, "Layer of the adjoint fields on maps; 0 is the lowest one.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.place is not None and (self.lon is not None or self.lat is not None):
            raise refuse(f"{KEY}.place = {self.place!r} and {KEY}.lon or {KEY}.lat: give one of them")
        if (self.lon is None) != (self.lat is None):
            raise refuse(f"{KEY}.lon and {KEY}.lat belong together")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as the mapping that ``airshed.inverse.sensitivity`` accepts."""
        return {name: value for name, value in self.to_dict().items() if value != []}

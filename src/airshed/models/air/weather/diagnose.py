"""Diagnosis of a full MetState from data: fields of the data are unchanged, missing fields are diagnosed.

The order of the steps is the order of the functions: air, cloud, ground, depth of the boundary layer, diffusivity.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT_DRY_AIR, HEAT_CAPACITY_DRY_AIR
from airshed.core.saturation import mixed_phase_saturation
from airshed.grid import Grid
from airshed.kernels.one_pass import one_pass
from airshed.models.air.light import cos_zenith, day_length
from airshed.models.air.weather import atmosphere, boundary_layer
from airshed.models.air.weather.atmosphere import molar_density, relative_humidity
from airshed.models.air.weather.fields import of_use
from airshed.models.air.weather.state import MetState, bounded_obukhov_length

_REFERENCE_PRESSURE = 1e5
_ONLY_DIAGNOSES_READ = {"wind at 10 m", *(each.name for each in of_use("derived", "input"))}


class Instant(NamedTuple):
    """Data of an instant on the model grid: fields by their names in the table of weather fields.

    fields  both winds [m/s] at the faces that they cross, temperature, pressure, water vapour and surface pressure;
            also other fields of the data, and "wind at 10 m", the speed [m/s]
    temperature_is_read  True if the temperature profile has information on stability
    """

    fields: Mapping[str, Array]
    temperature_is_read: bool


@dataclass
class _Ground:
    """The state of the surface layer, (nlat, nlon)."""

    friction: Array
    inverse_obukhov: Array
    heat: Array
    """w'theta' of sensible heat and of the evaporation's buoyancy [K m/s]"""


class Diagnosis:
    """Diagnosis of the instants of a meteorology, in any order; each instant depends only on the data.

    The growth of the convective layer needs the heat flux since the morning. It is summed from the first instant, so
    that an instant does not depend on the start of the run. The sums are stored until they are discarded.
    """

    def __init__(
        self, grid: Grid, land_fraction: Array, start: np.datetime64, times: tuple[float, ...],
        instant: Callable[[int], Instant],
    ) -> None:  # fmt: skip
        self._grid = grid
        self._land = land_fraction
        self._start = start.astype("datetime64[ns]")
        self._times = times
        self._instant = instant
        self._heat: dict[int, tuple[Array, Array]] = {}

    def state(self, index: int) -> MetState:
        """Return the full state of an instant."""
        instant = self._instant(index)
        given = {name: values for name, values in instant.fields.items() if name not in _ONLY_DIAGNOSES_READ}
        if "air_density" not in given:
            given["air_density"] = molar_density(given["pressure"], given["temperature"])
        covers = self._possible_covers(instant)
        ground = self._ground(instant, covers, index)
        depth = self._depth(instant, ground, index)
        if "diffusivity" not in given:
            given["diffusivity"] = self._diffusivity(instant, ground, depth)
        east, north = air_fluxes(self._grid, given["air_density"], *_winds(instant))
        return MetState(**{
            "precipitation": np.zeros(self._grid.shape[1:]), **given, "eastward_air_flux": east,
            "northward_air_flux": north, "cloud_cover": covers.mean(axis=0), "friction_velocity": ground.friction,
            "obukhov_length": bounded_obukhov_length(ground.inverse_obukhov), "boundary_layer_height": depth,
            "surface_temperature": _surface_temperature(instant),
        })  # fmt: skip

    def summed_before(self, index: int) -> int:
        """Return the first instant up to this one whose heat is not summed yet; the next one if all are summed."""
        return max((each for each in self._heat if each <= index), default=-1) + 1

    def sum_heat(self, index: int) -> None:
        """Sum the heat up to an instant, for later instants."""
        self._heat_since_morning(index, self._flux(index))

    def forget_heat(self, wanted: Collection[int]) -> None:
        """Discard all sums except those of some instants and of the instants before them."""
        self._heat = {each: heat for each, heat in self._heat.items() if each in wanted or each + 1 in wanted}

    def _when(self, index: int) -> np.datetime64:
        """Return the time of an instant, UTC."""
        return np.datetime64(self._start + np.timedelta64(round(self._times[index] * 1e9), "ns"))

    def _possible_covers(self, instant: Instant) -> Array:
        """Return total covers (n, lat, lon): that of the data, or from relative humidity, several if uncertain."""
        given = instant.fields
        if "cloud_cover" in given:
            return np.clip(given["cloud_cover"], 0.0, 1.0)[None]
        air = given["water_vapour"], given["temperature"], given["pressure"]
        if not instant.temperature_is_read:
            return atmosphere.possible_covers(*air, self._grid.level, self._land)
        humidity = relative_humidity(*air, mixed_phase_saturation)
        return atmosphere.diagnosed_cover(humidity, self._grid.level, self._land)[None]

    def _ground(self, instant: Instant, covers: Array, index: int) -> _Ground:
        """Return friction velocity, stability and heat flux; fields of the data have priority."""
        given = instant.fields
        temperature, pressure = _surface_temperature(instant), given["surface_pressure"]
        if "wind at 10 m" in given:
            wind, height = given["wind at 10 m"], 10.0
        else:
            east, north = centred_winds(*(each[0] for each in _winds(instant)))
            wind, height = np.hypot(east, north), float(self._grid.level[0])
        roughness = boundary_layer.roughness_length(wind, height, self._land)
        flux = self._day_flux(instant, covers, temperature, self._when(index))
        sensible = boundary_layer.kinematic(flux, pressure, temperature)
        if "evaporation" in given:
            sensible = sensible + boundary_layer.buoyancy_of_evaporation(given["evaporation"], pressure, temperature)
        friction = np.empty(flux.shape)
        night = (flux <= 0.0) & (self._land > 0.0) & ("sensible heat flux" not in given)
        if night.any():
            theta_scale = (boundary_layer.night_temperature_scale(covers).mean(axis=0) * self._land)[night]
            friction[night] = boundary_layer.friction_of_night(
                wind[night], height, roughness[night], temperature[night], theta_scale
            )
            sensible[night] = -friction[night] * theta_scale
        day = ~night
        friction[day] = boundary_layer.friction_of_flux(
            wind[day], height, roughness[day], temperature[day], sensible[day]
        )
        if "friction_velocity" in given:
            friction = np.maximum(given["friction_velocity"], 1e-3)
        inverse = boundary_layer.inverse_obukhov(friction, temperature, sensible)
        if "obukhov_length" in given:
            inverse = 1.0 / given["obukhov_length"]
        return _Ground(friction, 1.0 / bounded_obukhov_length(inverse), sensible)

    def _day_flux(self, instant: Instant, covers: Array, temperature: Array, when: np.datetime64) -> Array:
        """Return the sensible heat flux [W/m2] of the data, or from the surface energy budget; 0 over sea."""
        given = instant.fields
        if "sensible heat flux" in given:
            return given["sensible heat flux"]
        incoming = given.get("solar radiation")
        if incoming is None:
            sun = cos_zenith(when, self._grid.lon, self._grid.lat)
            incoming = boundary_layer.shortwave(sun, covers).mean(axis=0)
        net = boundary_layer.net_radiation(incoming, temperature, covers.mean(axis=0))
        latent = boundary_layer.LATENT_HEAT * given["evaporation"] if "evaporation" in given else None
        return self._land * boundary_layer.daytime_heat_flux(net, temperature, latent)

    def _depth(self, instant: Instant, ground: _Ground, index: int) -> Array:
        """Return the height of the boundary layer: of the data, from stability, or from the heat since the morning."""
        if "boundary_layer_height" in instant.fields:
            return np.maximum(instant.fields["boundary_layer_height"], 10.0)
        lat = self._grid.lat
        if instant.temperature_is_read:
            excess = np.minimum(np.maximum(8.5 * ground.heat / np.maximum(ground.friction, 0.1), 0.0), 3.0)
            air = _potential_temperature_and_winds(instant)
            thermal = boundary_layer.richardson_height(*air, self._grid.level, excess)
            mechanical = boundary_layer.equilibrium_height(ground.friction, ground.inverse_obukhov, lat)
            mechanical = np.where(ground.inverse_obukhov > 0.0, mechanical, 0.0)
        else:
            heat = self._heat_since_morning(index, self._land * ground.heat)
            thermal = boundary_layer.convective_height(heat)
            inversion = np.where((heat < 0.0) & (ground.inverse_obukhov <= 0.0), self._land, 0.0)
            mechanical = boundary_layer.equilibrium_height(ground.friction, ground.inverse_obukhov, lat, inversion)
        return np.clip(np.maximum(mechanical, thermal), boundary_layer.LEAST_HEIGHT, boundary_layer.GREATEST_HEIGHT)

    def _heat_since_morning(self, index: int, flux: Array) -> Array:
        """Return the heat input to the air [K m] up to an instant, summed over all earlier instants.

        It is for land only: over sea no night resets the sum, and the layer would grow from day to day.
        """
        for here in range(self.summed_before(index), index + 1):
            now = flux if here == index else self._flux(here)
            if here == 0:
                total = self._heat_before_start(now)
            else:
                total = boundary_layer.accumulate_heat(
                    *self._heat[here - 1], now, self._times[here] - self._times[here - 1]
                )
            self._heat[here] = total, now
        return self._heat[index][0]

    def _flux(self, index: int) -> Array:
        """Return the heat flux over land at an instant [K m/s]."""
        instant = self._instant(index)
        return self._land * self._ground(instant, self._possible_covers(instant), index).heat

    def _heat_before_start(self, flux: Array) -> Array:
        """Return the heat [K m] at the first instant, from its flux and the sun since sunrise or sunset."""
        when, lon, lat = self._when(0), self._grid.lon, self._grid.lat
        hours = np.arange(0.0, 16.0, 0.5)
        past = [np.maximum(cos_zenith(when - np.timedelta64(int(h * 3600), "s"), lon, lat), 0.0) for h in hours]
        up = np.cumprod([angle > 0.0 for angle in past], axis=0)
        # in sequence: NumPy sums the values of a single column in a different order than those of several columns
        sunlit = 1800.0 * sum(angle * shone for angle, shone in zip(past, up, strict=True)) / np.maximum(past[0], 0.05)
        since_sunset = 0.5 * (86400.0 - day_length(when, lat))
        deficit = np.maximum(flux * since_sunset, -boundary_layer.GREATEST_DEFICIT)
        return np.asarray(np.where(flux > 0.0, flux * sunlit, deficit))

    def _diffusivity(self, instant: Instant, ground: _Ground, depth: Array) -> Array:
        """Return the diffusivity at the layer faces: the maximum of boundary layer and free air."""
        grid, air = self._grid, _potential_temperature_and_winds(instant)
        diffusivity = np.zeros((grid.shape[0] + 1, *grid.shape[1:]))
        diffusivity[1:-1] = boundary_layer.free_diffusivity(*air, grid.level, grid.layer_faces)
        # boundary-layer mixing is zero above the deepest boundary layer
        mixed = slice(1, min(int(np.searchsorted(grid.layer_faces, depth.max())), grid.shape[0]))
        profile = boundary_layer.boundary_layer_diffusivity(
            grid.layer_faces[mixed], depth, ground.friction, ground.inverse_obukhov
        )
        np.maximum(diffusivity[mixed], profile, out=diffusivity[mixed])
        return diffusivity


def potential_temperature(temperature: Array, pressure: Array) -> Array:
    """Return theta = T (1000 hPa / p)^(R/cp) [K]."""
    theta = _REFERENCE_PRESSURE / pressure
    np.power(theta, GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR, out=theta)
    theta *= temperature
    return theta


def centred_winds(eastward: Array, northward: Array) -> tuple[Array, Array]:
    """Return both wind components at the cell centres [m/s], as means of the faces (..., lat, lon)."""
    east, north = eastward[..., 1:] + eastward[..., :-1], northward[..., 1:, :] + northward[..., :-1, :]
    east *= 0.5
    north *= 0.5
    return east, north


def air_fluxes(grid: Grid, density: Array, eastward_wind: Array, northward_wind: Array) -> tuple[Array, Array]:
    """Return the air fluxes n u A [mol/s] through the west-east and the south-north faces.

    The density n at a face is the mean of both cells, at the edge of the grid that of the outermost cell.

    reads  density         [mol/m3]  (nz, nlat, nlon)
           eastward_wind   [m/s]     (nz, nlat, nlon + 1)
           northward_wind  [m/s]     (nz, nlat + 1, nlon)
    """
    thickness = grid.thickness[:, None, None]
    east = _air_flux(*_both_sides(density, 2), eastward_wind, thickness, grid.x_face_length)
    return east, _air_flux(*_both_sides(density, 1), northward_wind, thickness, grid.y_face_length)


@one_pass
def _air_flux(before: Array, behind: Array, wind: Array, thickness: Array, length: Array) -> Array:
    return 0.5 * (before + behind) * wind * thickness * length


def _both_sides(density: Array, axis: int) -> tuple[Array, Array]:
    """Return the cells before and behind each face along an axis; the outermost cells are repeated at the edges."""
    first, last = density.take([0], axis), density.take([-1], axis)
    return np.concatenate([first, density], axis), np.concatenate([density, last], axis)


def _surface_temperature(instant: Instant) -> Array:
    """Return the near-surface temperature of the data, or that of the lowest layer."""
    given = instant.fields
    return given["surface_temperature"] if "surface_temperature" in given else given["temperature"][0]


def _winds(instant: Instant) -> tuple[Array, Array]:
    return instant.fields["eastward_wind"], instant.fields["northward_wind"]


def _potential_temperature_and_winds(instant: Instant) -> tuple[Array, Array, Array]:
    """Return theta [K] and both components of the wind [m/s] at the cell centres."""
    theta = potential_temperature(instant.fields["temperature"], instant.fields["pressure"])
    return theta, *centred_winds(*_winds(instant))

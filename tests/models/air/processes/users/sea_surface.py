"""Exchange with the sea: a flux v (q_sea - q) N through the part of a cell that is water."""

from airshed.process import Process, at_instant, loss, number, per_species, source, weather


class SeaSurface(Process, section="sea_surface"):
    """Exchange of gases between air and sea."""

    velocities = per_species("m/s", "Velocities of transfer.")
    balances = per_species("mol/mol", "Mixing ratios in balance with the water.", missing=0.0)
    strength = number(1.0, "Factor on the velocities.", settable=True, ge=0.0)
    wind = weather("friction_velocity", "m/s")

    @at_instant("m/s")
    def velocity(velocities, wind, land_fraction):
        return velocities * (1.0 - land_fraction) * (1.0 + 0.0 * wind)

    @loss(levels="ground", unit="m/s", term="taken by the sea")
    def taken(velocity, strength):
        return strength * velocity

    @source(levels="ground", unit="mol/m2/s", term="given by the sea")
    def given(velocity, strength, balances, air_density):
        return strength * velocity * balances * air_density

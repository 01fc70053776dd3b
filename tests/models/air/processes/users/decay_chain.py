"""A chain of decays whose members ride on falling particles: RN decays to PO, PO to PB."""

from airshed.models.air.processes.settling import settling_velocity
from airshed.process import Process, at_instant, per_species, reactions, settling, weather


class DecayChain(Process, section="decay_chain"):
    """Decay of each member into the next, and settling of the members that are bound to particles."""

    half_lives = per_species("s", "Half-lives, of the first and the second member.", least="1 s", missing=1e30)
    diameters = per_species("m", "Diameters of the particles that carry a member.")
    temperature = weather("temperature", "K")
    pressure = weather("pressure", "Pa")

    @reactions
    def decays(half_lives):
        first, second = (0.6931471805599453 / half_lives[name] for name in ("RN", "PO"))
        return [f"RN = PO : {first!r}", f"PO = PB : {second!r}"]

    @at_instant("m/s")
    def speed(diameters, temperature, pressure):
        return settling_velocity(diameters, 2000.0, temperature, pressure)

    @settling(term="settled")
    def falls(speed):
        return speed

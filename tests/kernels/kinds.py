"""Operators for tests: those of every case, and at least two of each kind."""

from collections.abc import Callable
from typing import Any

from airshed.formula import trace
from airshed.kernels.operators import ADVECTION, Operator, OperatorField


def rate(*functions: Callable[..., Any]) -> Any:
    return tuple(output for function in functions for output in trace(function).outputs)


MIXING = Operator("mixing", "exchange", rate(lambda exchange: exchange), fields=(OperatorField("exchange"),))


def deposition(species: range) -> Operator:
    """Deposition of some species."""
    return Operator(
        "dry_deposition", "loss", rate(lambda deposition, air: deposition / air), tuple(species),
        (OperatorField("deposition", "ground", species=True),), ground=True, term="deposited",
    )  # fmt: skip


def usual(species: int) -> tuple[Operator, ...]:
    """The wind, mixing, and deposition of every third species."""
    return ADVECTION, MIXING, deposition(range(0, species, 3))


def every(species: int) -> tuple[Operator, ...]:
    """All kinds, several of each, everywhere and at the ground, of some species and of one; all names of the air."""
    first, others, last = (0,), tuple(range(species)[::2]), (species - 1,)
    cells, ground = OperatorField("rain"), OperatorField("roughness", "ground")
    of_each, at_ground = OperatorField("density", species=True), OperatorField("sea", "ground", species=True)
    faces = OperatorField("across_x", "west faces"), OperatorField("across_y", "south faces")
    more = OperatorField("more_x", "west faces"), OperatorField("more_y", "south faces")
    return (
        *usual(species),
        Operator("stirring", "exchange", rate(lambda factor, exchange: factor * exchange),
                 fields=(OperatorField("exchange"),), numbers={"factor": (0.3,)}),
        Operator("washout", "loss", rate(lambda washing, rain: washing * rain**0.79), others, (cells,),
                 {"washing": tuple(1.0 + number for number in others)}, term="washed"),
        Operator("warm_loss", "loss", rate(lambda rain, temperature, light: rain * (temperature / 300.0) ** 2 * light),
                 first, (cells,), term="washed"),
        Operator("uptake", "loss", rate(lambda roughness, cos_zenith: roughness * (2.0 + cos_zenith)), last, (ground,),
                 ground=True, term="deposited"),
        Operator("lightning", "source", rate(lambda density, pressure: density * pressure), others, (of_each,),
                 term="made"),
        Operator("sea_salt", "source", rate(lambda sea, wind, thickness: sea * wind**3 / thickness), others,
                 (at_ground,), {"wind": (4.0,)}, ground=True, term="made"),
        Operator("ash", "source", rate(lambda rain, water_vapour: 1e-9 * rain * water_vapour), first, (cells,),
                 term="ash"),
        Operator("settling", "settling", rate(lambda speed, air, air_density: speed * air * air_density), others,
                 (OperatorField("speed", species=True),), term="settled"),
        Operator("dropping", "settling", rate(lambda roughness, diameter, air: roughness * diameter**2 * air),
                 others[-1:], (ground,), {"diameter": (2.0,)}, term="deposited"),
        Operator("diffusion", "face_exchange", rate(lambda across_x: across_x, lambda across_y: across_y),
                 fields=faces),
        Operator("eddies", "face_exchange",
                 rate(lambda more_x, scale: more_x * scale, lambda more_y, scale: more_y * scale), fields=more,
                 numbers={"scale": (1.5,)}),
        Operator("convection", "column_matrix", rate(lambda matrix: matrix),
                 fields=(OperatorField("matrix", "matrix"),)),
        Operator("plumes", "column_matrix", rate(lambda up, share: up * share),
                 fields=(OperatorField("up", "matrix"),), numbers={"share": (0.5,)}),
    )  # fmt: skip

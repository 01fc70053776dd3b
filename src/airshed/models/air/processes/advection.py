"""Advection of species by the wind: d(A q)/dt + sum over faces of F q_face = 0.

F [mol/s] are the air fluxes of the meteorology through west and south faces. The fluxes through upper faces close the
budget of the air, see :mod:`airshed.process.vertical`. A uniform mixing ratio stays uniform to round-off. The value at
a face is limited, third order, upwind-biased:

    q_face = b + sign(c - b) min( |c - b|, |b - a|, |c - b| / 3 + |b - a| / 6 ),   b where b is an extremum

for flow through a, b | c; on unequal layers with the weights of the parabola through three cell means.

source  Hundsdorfer, Koren, van Loon & Verwer 1995, J. Comput. Phys. 117, 35-46
"""

from airshed.models.air.case.sections import TransportSection
from airshed.process import Process, face_flux


class Advection(Process, section="transport", order=10, model=TransportSection):
    """Transport by the wind."""

    advection: bool

    def is_on(self) -> bool:
        """Return True if advection is on."""
        return self.advection

    transport = face_flux()

"""Phases of species: gas, or particle with a diameter and a density, which `[particles]` of a case says once.

Settling takes both. Dry deposition and rain take the diameter: what is at most 2.5 um, and of no substance by the
species map, deposits and is washed out as the fine particles of their tables. Larger particles settle, and rain takes
them by `wet_deposition.coefficients`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from airshed.core.errors import CaseError
from airshed.models.air.deposition.tables import depositing_species

if TYPE_CHECKING:
    from airshed.models.air.species_map import DepositionMap

FINE: Final = 2.5e-6
"""Greatest diameter [m] of fine particles, as of PM2.5."""
AS_FINE: Final = "SA"
"""Substance of the deposition tables that fine particles are taken as."""


@dataclass(frozen=True)
class Phase:
    """The phase of a species; diameter [m] and density [kg/m3] of particles whose size is declared."""

    name: Literal["gas", "particle"] = "gas"
    diameter: float | None = None
    density: float | None = None

    @property
    def size(self) -> tuple[float, float] | None:
        """Diameter and density, where they are declared."""
        return None if self.diameter is None or self.density is None else (self.diameter, self.density)


def with_particles(
    deposition: "DepositionMap", particles: Any, own: Collection[str] = ()
) -> "DepositionMap":  # fmt: skip
    """Return as what species deposit, with the particles of a case; raises CaseError for one that is a gas there.

    particles  the section `[particles]`;  own  species of processes, of which the species map says nothing
    """
    surrogate, none = dict(deposition.surrogate), set(deposition.none)
    for name, diameter in particles.diameters.items():
        substance = surrogate.get(name)
        if substance is not None and not _is_particle(substance):
            raise CaseError(
                f"particles.diameters: {name} is a particle there, and by the species map it deposits as the gas "
                f"{substance}; leave it out, or map it to a particle such as {AS_FINE}"
            )
        if substance is None and (name not in none or name in own):
            none.discard(name)
            if diameter.value <= FINE:
                surrogate[name] = AS_FINE
            else:
                none.add(name)
    return replace(deposition, surrogate=surrogate, none=frozenset(none))


def phases(species: Iterable[str], particles: Any, deposition: "DepositionMap") -> Mapping[str, Phase]:
    """Return the phase of each species: a particle is declared so, or deposits as one."""
    found: dict[str, Phase] = {}
    for name in species:
        diameter, density = particles.diameters.get(name), particles.densities.get(name)
        if diameter is not None:
            found[name] = Phase("particle", diameter.value, 1000.0 if density is None else density.value)
        else:
            substance = deposition.surrogate.get(name)
            found[name] = Phase("particle" if substance is not None and _is_particle(substance) else "gas")
    return found


def _is_particle(substance: str) -> bool:
    return depositing_species()[substance.casefold()].particle

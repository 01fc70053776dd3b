"""Former keys of case files: the error for an unknown key names the present one."""

from collections.abc import Collection, Sequence
from typing import Final

RENAMED: Final = {
    "time.longest": "time.maximum_step",
    "meteorology.daily_mixing": "meteorology.daytime_diffusivity",
    "horizontal_diffusion.least": "horizontal_diffusion.minimum_diffusivity",
    "horizontal_diffusion.most": "horizontal_diffusion.maximum_diffusivity",
    "wet_deposition.origin": "wet_deposition.precipitation_top",
    "receptor.layer": "receptor.map_layer",
    "assimilation.gradient": "assimilation.gradient_tolerance",
    "assimilation.decrease": "assimilation.cost_tolerance",
    "assimilation.observations.others": "assimilation.observations.other_species",
    "assimilation.observations.instrument": "assimilation.observations.instrument_error",
    "assimilation.observations.representativeness": "assimilation.observations.representativeness_error",
    "assimilation.observations.least": "assimilation.observations.error_floor",
    "assimilation.observations.check": "assimilation.observations.background_check",
    "assimilation.observations.background": "assimilation.observations.background_error",
    "assimilation.twin.least": "assimilation.twin.minimum_factor",
    "assimilation.twin.most": "assimilation.twin.maximum_factor",
    "assimilation.control.N.of": "assimilation.control.N.target",
    "assimilation.control.N.per": "assimilation.control.N.resolution",
}
"""Former keys and the present ones, in the form of `settings_of`: N for the index of a list."""


def present_key(path: Sequence[int | str], siblings: Collection[str]) -> tuple[int | str, ...] | None:
    """Return the present path of a setting that was renamed; None for any other path.

    path      of the unknown key, from the case or from the section that is validated
    siblings  names of the settings in the section of the unknown key
    """
    former = ".".join("N" if isinstance(part, int) else part for part in path)
    for old, new in RENAMED.items():
        name = new.rpartition(".")[2]
        if name in siblings and f".{old}".endswith(f".{former}"):
            return (*path[:-1], name)
    return None

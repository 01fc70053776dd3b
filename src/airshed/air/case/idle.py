"""Settings that do nothing beside others: no mistake, as in a case made for both, but who set them should know."""

from typing import Final

from airshed.air.case.case import Case
from airshed.core.settings import Section

_OF_UNIFORM: Final = (
    "eastward", "northward", "rotation", "temperature", "pressure", "water_vapour", "diffusivity", "daily_mixing",
    "mixed_layer", "cloud_cover",
)  # fmt: skip
_OF_STRANG: Final = ("solver", "relative_tolerance", "absolute_tolerance")


def idle_settings(case: Case) -> list[str]:
    """Return a line for each setting of a case that has another value than its default, and no effect."""
    integrator, kind = case.chemistry.integrator, case.meteorology.kind
    split, by_integrator = integrator == "strang", f'with chemistry.integrator = "{integrator}"'
    by_kind = f'with meteorology.kind = "{kind}"'
    idle = [
        ("chemistry", ("sweeps",) if split else _OF_STRANG, by_integrator),
        ("parallel", () if split or not case.parallel.balance else ("balance",), by_integrator),
        ("meteorology", () if kind == "uniform" else _OF_UNIFORM, by_kind),
        ("meteorology", () if kind == "era5" else ("files",), by_kind),
        ("emissions", ("year", "scale") if case.emissions.inventory is None else (), "without emissions.inventory"),
        ("boundary", ("scale",) if case.boundary.profiles == "zero" else (), 'with boundary.profiles = "zero"'),
    ]
    return [
        f"{section}.{name} has no effect {why}"
        for section, names, why in idle
        for name in names
        if _is_changed(getattr(case, section), name)
    ]


def _is_changed(section: Section, name: str) -> bool:
    value, field = getattr(section, name), type(section).model_fields[name]
    return bool(getattr(value, "text", value) != field.get_default(call_default_factory=True))  # a quantity's is a text

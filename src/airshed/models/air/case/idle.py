"""What who set a case should know of its settings: those that do nothing beside others, and those that harm."""

from typing import Final

from airshed.core.settings import Section
from airshed.mechanism import ReactionNetwork
from airshed.models.air.case.case import Case

_OF_UNIFORM: Final = (
    "eastward", "northward", "rotation", "temperature", "pressure", "water_vapour", "diffusivity", "daily_mixing",
    "mixed_layer", "precipitation", "cloud_cover",
)  # fmt: skip
_OF_STRANG: Final = ("solver", "relative_tolerance", "absolute_tolerance")


_ONE_SWEEP: Final = (
    "chemistry.sweeps = 1 does not solve the chemistry: in three dimensions it leaves up to 22 ppb in ozone at the "
    "ground, and a quarter of the step does not help; take 2 or more"
)


def case_notices(case: Case, network: ReactionNetwork) -> list[str]:
    """Return a line for each setting that has no effect, and for those that spoil the results.

    Measured for one sweep: west-europe, a day, against 6 sweeps at a Courant number of 0.05; O3 at the ground is off by
    0.75 % in the mean and by 162 % or 22 ppb at most, NO2 by 4.6 %, at any step (two sweeps: 0.04 %, 3.5 % and 0.2 %).
    """
    alone = case.chemistry.integrator == "imex" and case.chemistry.sweeps == 1 and bool(network.reactions)
    brought = ", ".join(sorted(network.callables))
    code = [f"functions in Python compute {brought}, where --allow-code lets them"] if brought else []
    return [*([_ONE_SWEEP] if alone else []), *code, *idle_settings(case), *_idle_releases(case)]


def idle_settings(case: Case) -> list[str]:
    """Return a line for each setting of a case that has another value than its default, and no effect."""
    integrator, kind = case.chemistry.integrator, case.meteorology.kind
    apart = [name for name in type(case.assimilation).model_fields if name != "scheme"]
    split, by_integrator = integrator != "imex", f'with chemistry.integrator = "{integrator}"'
    by_kind = f'with meteorology.kind = "{kind}"'
    idle = [
        ("chemistry", ("sweeps",) if split else _OF_STRANG, by_integrator),
        ("parallel", () if split or not case.parallel.balance else ("balance",), by_integrator),
        ("meteorology", () if kind == "uniform" else _OF_UNIFORM, by_kind),
        ("meteorology", () if kind == "era5" else ("files",), by_kind),
        ("emissions", ("year", "scale") if case.emissions.inventory is None else (), "without emissions.inventory"),
        ("assimilation", apart if case.assimilation.scheme == "none" else (), 'with assimilation.scheme = "none"'),
        ("boundary", ("scale",) if case.boundary.profiles == "zero" else (), 'with boundary.profiles = "zero"'),
    ]
    return [
        f"{section}.{name} has no effect {why}"
        for section, names, why in idle
        for name in names
        if _is_changed(getattr(case, section), name)
    ]


def _idle_releases(case: Case) -> list[str]:
    """Return a line for each point source that emits at other times than those of the run."""
    first, last = -case.time.spinup.value, case.time.length.value
    lines = []
    for number, (begin, end) in enumerate(each.ends for each in case.emissions.point):
        late = f"begins at {begin / 3600.0:g} h, when the run is over" if begin >= last else ""
        early = f"ends at {end / 3600.0:g} h, before the run begins" if end <= first else ""
        lines += [f"emission: emissions.point.{number} emits nothing: it {why}" for why in (late, early) if why]
    return lines


def _is_changed(section: Section, name: str) -> bool:
    value, field = getattr(section, name), type(section).model_fields[name]
    return bool(getattr(value, "text", value) != field.get_default(call_default_factory=True))  # a quantity's is a text

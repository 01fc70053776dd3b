"""Sensitivities of a receptor to all inputs of a run, as a Dataset."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.backward import Adjoints
from airshed.inverse.gradient import DEFAULT, Gradient, Options, Progress, Watcher, gradient
from airshed.inverse.receptors.dataset import AdjointFields, Contributions, contributions, sensitivity_dataset
from airshed.inverse.receptors.receptor import Receptor, ReceptorCost, notify_default_time, receptor_section
from airshed.inverse.receptors.results import write_sensitivity as write_sensitivity
from airshed.models.air.case import Case, check_receptor
from airshed.models.air.case.inverse import ReceptorSection
from airshed.models.air.model import AirModel
from airshed.parallel.communicator import world
from airshed.runtime.progress import ProgressBar
from airshed.runtime.registry import gradients_of, load_case

if TYPE_CHECKING:
    import xarray as xr


_SECONDS: Final = "seconds"


def sensitivity(
    case: Case | str | Path, receptor: Mapping[str, Any] | None = None, *, options: Options = DEFAULT,
    progress: Progress | None = None, **given: Any,
) -> "xr.Dataset":  # fmt: skip
    """Return the value of a receptor and its exact sensitivities to all inputs of the run.

    The derivatives are those of the discrete steps of the run, to round-off. Winds and temperatures are no inputs. A
    forward run and a backward pass take about five times as long as a run. With several ranks (``mpiexec -n 4``) all
    of them call this, and all get the same result.

    Parameters
    ----------
    case
        A case, or the path or name of one.
    receptor
        Settings of ``[receptor]``, by default those of the case. Without ``time`` the receptor is measured at the end
        of the case, and a notice reports it. ``fields``, ``every`` and ``map_layer`` are those of the case unless
        given.
    options
        Options of the gradient, such as the folder of its commits.
    progress
        Function that receives "forward" or "backward" and the completed part, 0 to 1. Without one IPython shows a
        progress bar.
    **given
        Further arguments of the model: meteorology, initial, boundary, allow_code.

    Returns
    -------
    xarray.Dataset
        ``value``, the measured value, and its derivatives. For pasture see
        :func:`airshed.inverse.receptors.point_sensitivity.sensitivity`.

        =========================  ========================  ===========================================================
        variable                   dimensions                derivative with respect to
        =========================  ========================  ===========================================================
        ``initial``                species, level, lat, lon  mixing ratio at the start of the run, including its spin-up
        ``emission``               species, hour, lat, lon   mol released into the lowest layer, evenly over an hour
        ``per_tonne``              species, lat, lon         tonne released evenly until the last time measured [ppb]
        ``boundary``               species, level            mixing ratio at the lateral boundary
        ``top``                    species                   mixing ratio above the domain
        ``boundary_faces``         species, level, face      the same by lateral face cell, and by time if it varies
        ``rate``                   reaction                  relative change of a rate constant
        ``process_setting``        setting                   unit of a process setting that can be set during a run
        ``relative_X``                                       relative change of an input X such as deposition velocity
        ``adjoint_X``              time, level, lat, lon     jump of species X of ``receptor.fields`` at a time
        ``emission_contribution``  species, lat, lon         not a derivative: contribution of the case's emissions
        ``contribution``           source                    not a derivative: contribution by country and sector
        =========================  ========================  ===========================================================

    Raises
    ------
    CaseError
        If the receptor or the case is wrong.

    Examples
    --------
    >>> found = airshed.inverse.sensitivity("west-europe", {"species": "O3", "place": "Cologne", "time": "14 h"})
    >>> found.emission.sel(species="NO").sum("hour").plot()
    """
    if progress is None:
        with ProgressBar(enabled=world().rank == 0) as bar:
            return sensitivity(
                case, receptor, options=options, progress=lambda part, done: bar(done, part), **given
            )  # fmt: skip
    loaded: Any = case if not isinstance(case, str | Path) else load_case(case)
    own = gradients_of(loaded.model)
    if own.__name__ != __name__:
        other: xr.Dataset = own.sensitivity(loaded, receptor, options=options, progress=progress, **given)
        return other
    if receptor is not None:
        of_case = {name: getattr(loaded.receptor, name) for name in ("fields", "every", "map_layer")}
        section = receptor_section(ReceptorSection, {**of_case, **receptor})
        loaded = loaded.with_section("receptor", section)
    measured = Receptor.of(loaded.receptor, loaded.time.length.value)
    if loaded.receptor.time is None:
        notify_default_time(loaded.time.length.value, options.watcher.on_notice)
    watcher = _SensitivityWatcher(options.watcher, loaded.receptor.fields, loaded.receptor.every.value)

    def cost(model: AirModel) -> ReceptorCost:
        check_receptor(model.case, model.network.names, measured.species)
        watcher.begin(model)
        return ReceptorCost(measured, model.whole)

    found = gradient(
        loaded, cost, options=replace(options, source_levels=0, watcher=watcher), progress=progress, **given
    )  # fmt: skip
    return watcher.dataset(found, measured)


class _SensitivityWatcher(Watcher):
    """Watcher that stores the requested fields over time, and results that need the open model."""

    def __init__(self, other: Watcher, fields: tuple[str, ...], every: float) -> None:
        self._other, self._fields, self._every = other, fields, every
        self._passed: list[AdjointFields] = []

    def begin(self, model: AirModel) -> None:
        """Store the model and its initial mixing ratios before the first step."""
        self._model, self._initial = model, model.subdomain.whole(model.mixing_ratios())
        self._next = float("inf")

    def on_plan(self, line: str) -> None:
        """Pass the plan on."""
        self._other.on_plan(line)

    def on_step(self, seconds: float, jump: Callable[[], Array]) -> None:
        """Store the fields at the last step that begins at, or before, each requested time."""
        self._other.on_step(seconds, jump)
        if self._fields and seconds <= self._next:
            whole = jump()
            rows = [self._model.network.index(name) for name in self._fields]
            self._note(AdjointFields(seconds, {n: whole[r] for n, r in zip(self._fields, rows, strict=True)}))

    def on_notice(self, line: str) -> None:
        """Pass the line on."""
        self._other.on_notice(line)

    def save(self) -> Mapping[str, Mapping[str, Array]]:
        """Return the fields stored so far, separately for each time."""
        own = {f"time-{n}": {**each.fields, _SECONDS: np.array(each.seconds)} for n, each in enumerate(self._passed)}
        return {**self._other.save(), **own}

    def restore(self, saved: Mapping[str, Mapping[str, Array]]) -> None:
        """Restore the stored fields."""
        self._other.restore(saved)
        for number in range(sum(name.startswith("time-") for name in saved)):
            fields = dict(saved[f"time-{number}"])
            self._note(AdjointFields(float(fields.pop(_SECONDS)), fields))

    def _note(self, passed: AdjointFields) -> None:
        self._passed.append(passed)
        self._next = (np.ceil(passed.seconds / self._every) - 1.0) * self._every

    def on_adjoints(self, model: AirModel, adjoints: Adjoints) -> None:
        """Compute the contributions of sources."""
        self._other.on_adjoints(model, adjoints)
        self._contributions: Contributions = contributions(model, adjoints, self._initial)

    def dataset(self, found: Gradient, receptor: Receptor) -> "xr.Dataset":
        """Return the Dataset of the receptor."""
        return sensitivity_dataset(found, receptor, self._model, self._contributions, self._passed[::-1])

"""The fields that a cost has observed and the state of a watcher, committed for a gradient that continues."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.inverse.commits import AnyCommits, Part
from airshed.inverse.cost import Cost, Fields
from airshed.inverse.options import Watcher
from airshed.models.air.model import AirModel

_NOTED: Final = "noted-"

Array = npt.NDArray[np.float64]


class CostObserver:
    """Evaluates a cost at its times.

    times  [s] of the cost
    keeps  store the fields that the cost requested: each rank its own part
    """

    def __init__(self, model: AirModel, cost: Cost, times: Sequence[float], *, keeps: bool = False) -> None:
        self._model, self._cost, self._times, self._keeps = model, cost, times, keeps
        self._shown: list[dict[str, Array]] = []
        self._count = 0

    def observe(self) -> None:
        """Evaluate the cost at each of its times that the model has reached since the last call."""
        while self._count < len(self._times) and self._model.seconds >= self._times[self._count]:
            shown: dict[str, Array] = {}
            self._show(partial(self._now, shown))
            self._shown.append(shown)

    def resume(self, commits: AnyCommits) -> None:
        """Repeat evaluations from before a commit; raise CaseError where the cost requests other fields."""
        assert commits.note is not None
        for number in range(commits.note["seen"]):
            shown = dict(commits.get(f"seen-{number}"))
            self._show(partial(self._before, shown))
            self._shown.append(shown)

    def parts(self) -> Mapping[str, Part]:
        """See :class:`airshed.inverse.commits.Committed`."""
        return {f"seen-{number}": Part(0, partial(dict, shown)) for number, shown in enumerate(self._shown)}

    def facts(self) -> Mapping[str, Any]:
        """See :class:`airshed.inverse.commits.Committed`."""
        return {"seen": self._count}

    def _now(self, shown: dict[str, Array], name: str) -> Array:
        own = species(self._model, name)
        if self._keeps:
            shown[name] = own.copy()
        return self._model.subdomain.whole(own)

    def _before(self, shown: Mapping[str, Array], name: str) -> Array:
        if name not in shown:
            raise CaseError(f"the gradient cannot resume with another cost: {name} was not requested before")
        return self._model.subdomain.whole(shown[name])

    def _show(self, fields: Fields) -> None:
        self._cost.see(self._times[self._count], fields)
        self._count += 1


class WatcherState:
    """The state of a watcher, and the value of the cost, by which another cost is detected."""

    def __init__(self, cost: Cost, watcher: Watcher) -> None:
        self._value, self._watcher = repr(float(cost.value)), watcher

    def parts(self) -> Mapping[str, Part]:
        """See :class:`airshed.inverse.commits.Committed`."""
        return {_NOTED + name: Part(0, partial(dict, arrays)) for name, arrays in self._watcher.save().items()}

    def facts(self) -> Mapping[str, Any]:
        """See :class:`airshed.inverse.commits.Committed`."""
        return {"value": self._value, "noted": list(self._watcher.save())}

    def resume(self, commits: AnyCommits) -> None:
        """Restore the watcher; raise CaseError where the cost has another value than before."""
        assert commits.note is not None
        said = commits.note
        if said["value"] != self._value:
            raise CaseError(
                f"the gradient cannot resume with another cost: its value was {said['value']}, now is {self._value}"
            )
        self._watcher.restore({name: commits.get(_NOTED + name) for name in said["noted"]})


def species(model: AirModel, name: str) -> Array:
    """The mixing ratio of a species now in the part of this rank; raises CaseError for another field."""
    if name not in model.network.names:
        model.fields.select([name], where="field")
        raise CaseError(f"{name} is no species; gradients are of mixing ratios")
    return np.asarray(model.value(name))

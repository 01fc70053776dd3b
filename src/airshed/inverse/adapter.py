"""What the adapters to frameworks have in common: a run that takes the framework's arrays by kind and name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from airshed.inverse.run_function import Key, RunFunction

Array = npt.NDArray[np.float64]
Table = Mapping[str, Any]


class Adapter(ABC):
    """A run of a case as a differentiable function; see :mod:`airshed.inverse.run_options` for its inputs."""

    def __init__(self, function: RunFunction) -> None:
        self._function = function

    @property
    def inputs(self) -> dict[str, dict[str, Array]]:
        """The inputs as the case has them, NumPy arrays by kind and name: where an optimiser may begin."""
        found: dict[str, dict[str, Array]] = {}
        for (kind, name), value in self._function.own.items():
            found.setdefault(kind, {})[name] = value.copy()
        return found

    def __call__(
        self, *, factors: Table | None = None, initial: Table | None = None, boundary: Table | None = None,
        top: Table | None = None, rates: Table | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Run, with the inputs that are given and the others as the case has them; return fields by species.

        returns  mixing ratios (time, level, lat, lon) [mol/mol] of each species of the outputs
        raises   CaseError for an input that the run does not have, or of another shape or with values that cannot be;
                 NumericalError for a run that leaves the finite numbers
        """
        tables = {"factors": factors, "initial": initial, "boundary": boundary, "top": top, "rates": rates}
        given = {(kind, name): value for kind, table in tables.items() for name, value in (table or {}).items()}
        for key, value in given.items():
            self._function.check(key, tuple(np.shape(value) if not hasattr(value, "shape") else value.shape))
        return self._run(given)

    @abstractmethod
    def _run(self, given: Mapping[Key, Any]) -> dict[str, Any]: ...

    def close(self) -> None:
        """Release threads, files and checkpoints; `with differentiable(...) as run:` does it for you."""
        self._function.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

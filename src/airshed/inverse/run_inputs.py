"""What a run as a function is given: factors on emission and on rates, initial mixing ratios and boundary values.

Each class knows its inputs as the case has them (``own``), gives a model other values before its first step, and reads
their adjoints off those of the run.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.inverse.backward import Adjoints
from airshed.inverse.factored import Factors, factored, gradient_by_factors
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.models.air.rates import RateFactors

Array = npt.NDArray[np.float64]


class Inputs(ABC):
    """Inputs of one kind.

    own            their values as the case has them, by name
    source_levels  lowest levels for which adjoints of sources are requested
    reactions      whether factors on the rates of reactions are
    """

    own: Mapping[str, Array]
    source_levels: int = 1
    reactions: bool = False

    @abstractmethod
    def apply(self, values: Mapping[str, Array]) -> None:
        """Give the model values of all of them, at its beginning; raises CaseError for values that cannot be."""

    @abstractmethod
    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """Return their adjoints, of a run with these values."""


class EmissionFactors(Inputs):
    """Factors on emission, by the names of controls, see :mod:`airshed.inverse.factored`.

    Shapes: () for the domain, (region,) or (lat, lon); with the parts of the day in front where there are several.
    """

    def __init__(self, model: AirModel, controls: Sequence[ControlSection]) -> None:
        self._model, self._factors = model, Factors(model.parts.start, model.subdomain)
        self._sources = factored(model.sources.sources, controls, self._factors)
        self.source_levels = max((source.levels for source in self._sources), default=1)
        self._shapes = {each.name: _shape(each, model.whole.shape[1:]) for each in controls}
        self.own = {name: np.ones(each[1:] if each[0] == 1 else each) for name, each in self._shapes.items()}

    def apply(self, values: Mapping[str, Array]) -> None:
        """See :class:`Inputs`."""
        self._factors.controls = self._whole(values)
        self._model.sources.replace(self._sources)

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """See :class:`Inputs`."""
        self._factors.controls = self._whole(values)
        into = {name: np.zeros(shape) for name, shape in self._shapes.items()}
        gradient_by_factors(self._sources, self._model.network.names, found.sources, into)
        return {name: each.reshape(self.own[name].shape) for name, each in into.items()}

    def _whole(self, values: Mapping[str, Array]) -> dict[str, Array]:
        return {name: values[name].reshape(shape) for name, shape in self._shapes.items()}


def _shape(control: ControlSection, columns: tuple[int, ...]) -> tuple[int, ...]:
    behind = {"domain": (), "region": (len(control.regions),), "cell": columns}
    return (control.parts_of_day, *behind[control.per])


class _OfSpecies(Inputs):
    """What inputs of species have in common: their rows among those of the mechanism."""

    def __init__(self, model: AirModel, kind: str, names: Iterable[str]) -> None:
        known = model.network.names
        for name in names:
            if name not in known:
                raise CaseError(f"inputs {kind}: {name!r} is no species of the mechanism; {suggestion(name, known)}")
        self._model, self._kind = model, kind
        self._rows = {name: model.network.index(name) for name in names}

    def _taken(self, values: Mapping[str, Array], whole: Array) -> Array:
        """Return mixing ratios (species, ...) with the given ones in their places."""
        found = np.array(whole)
        for name, row in self._rows.items():
            if values[name].min(initial=0.0) < 0.0 or values[name].max(initial=0.0) > 1.0:
                raise CaseError(f"input {self._kind} {name}: there are mixing ratios below 0 or above 1 mol/mol")
            found[row] = values[name]
        return found

    def _of(self, whole: Array) -> dict[str, Array]:
        return {name: np.array(whole[row]) for name, row in self._rows.items()}


class InitialAir(_OfSpecies):
    """Mixing ratios at the beginning, with the spin-up in the run, (level, lat, lon) [mol/mol]."""

    def __init__(self, model: AirModel, names: Iterable[str]) -> None:
        super().__init__(model, "initial", names)
        self.own = self._of(model.subdomain.whole(model.mixing_ratios()))

    def apply(self, values: Mapping[str, Array]) -> None:
        """See :class:`Inputs`."""
        subdomain = self._model.subdomain
        whole = self._taken(values, subdomain.whole(self._model.mixing_ratios()))
        self._model.begin_with(subdomain.window.of(whole))

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """See :class:`Inputs`."""
        return self._of(found.initial)


class BoundaryAir(_OfSpecies):
    """Lateral boundary profile, (level,) [mol/mol]; the air at the beginning stays as it is."""

    def __init__(self, model: AirModel, names: Iterable[str]) -> None:
        super().__init__(model, "boundary", names)
        if model.forcing.boundary is not None:
            raise CaseError("the input boundary is a profile; this run has boundary concentrations along its faces")
        self.own = self._of(np.asarray(model.constants.profile))

    def apply(self, values: Mapping[str, Array]) -> None:
        """See :class:`Inputs`."""
        constants = self._model.constants
        self._model.set_boundary(self._taken(values, np.asarray(constants.profile)), np.asarray(constants.top))

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """See :class:`Inputs`."""
        return self._of(found.boundary_profile)


class TopAir(_OfSpecies):
    """Mixing ratios above the area, () [mol/mol]."""

    def __init__(self, model: AirModel, names: Iterable[str]) -> None:
        super().__init__(model, "top", names)
        self.own = self._of(np.asarray(model.constants.top))

    def apply(self, values: Mapping[str, Array]) -> None:
        """See :class:`Inputs`."""
        constants = self._model.constants
        self._model.set_boundary(np.asarray(constants.profile), self._taken(values, np.asarray(constants.top)))

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """See :class:`Inputs`."""
        return self._of(found.top)


class ReactionRates(Inputs):
    """Factors on the rate constants of reactions, by their labels, ()."""

    reactions = True

    def __init__(self, model: AirModel, factors: RateFactors) -> None:
        self._model, self._factors = model, factors
        labels = [each.label for each in model.network.reactions]
        self._numbers = {label: labels.index(label) for label in factors.values}
        self.own = {label: np.ones(()) for label in factors.values}

    def apply(self, values: Mapping[str, Array]) -> None:
        """See :class:`Inputs`."""
        for label in self._numbers:
            if values[label] <= 0.0:
                raise CaseError(f"input rates {label}: a factor of {float(values[label]):g}; it is to be above 0")
            self._factors.values[label] = float(values[label])
        self._model.forcing.renew()

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """See :class:`Inputs`; the run knows that of a relative change of the rate, k df/f."""
        assert found.reactions is not None
        return {label: found.reactions[number] / values[label] for label, number in self._numbers.items()}

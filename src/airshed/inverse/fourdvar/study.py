"""The assimilation of a case: its observations, its model, its minimisation, and what comes of them."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.report import Cell, Report, Table
from airshed.inverse.fourdvar.air_model import AirFieldModel
from airshed.inverse.fourdvar.control import ControlVector
from airshed.inverse.fourdvar.diagnostics import control_table
from airshed.inverse.fourdvar.from_case import control_vector, fourdvar, observations_of, withheld_of
from airshed.inverse.fourdvar.minimise import Analysis, FourDVar, See
from airshed.inverse.fourdvar.operator import Domain, Operator
from airshed.inverse.fourdvar.posterior import Posterior, estimate, exact, hessian
from airshed.inverse.fourdvar.seam import Controls, Sampled
from airshed.inverse.gradient import Progress
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.observations.observation import Observations
from airshed.observations.reading import FileSummary, files_table
from airshed.observations.selection import RejectedRow, rejected_rows_table
from airshed.parallel.failure import raising_together
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]

SHOWN_EVERY: Final = 1800.0
"""The model shows its fields at least so often within a mean [s]; between, they are taken as linear."""


@dataclass(frozen=True)
class Seen:
    """The observations of a case: those that are assimilated, those that are withheld, and rejected rows.

    length  of the case [s]
    """

    observations: Observations
    withheld: Observations | None
    rejected: tuple[RejectedRow, ...]
    length: float = SHOWN_EVERY
    files: tuple[FileSummary, ...] = ()

    @classmethod
    def of_case(cls, case: Case) -> "Seen":
        """Read them; raises CaseError for a case without 4D-Var, CaseError and DataError for what cannot be used."""
        check_case(case)
        grid = case.make_grid()
        observations, rejected, files = observations_of(case, grid)
        _check_moments(case, observations)
        withheld, also, more = withheld_of(case, grid)
        return cls(observations, withheld, (*rejected, *also), case.time.length.value, (*files, *more))

    def tables(self) -> list[Table]:
        """Return the table of files, and that of rejected rows, where there are any."""
        files = [files_table(self.files)] if self.files else []
        return [*files, *([rejected_rows_table(self.rejected)] if self.rejected else [])]

    @property
    def instants(self) -> Array:
        """The times [s] at which the model shows its fields: the ends of all means, and some between."""
        every = [self.observations, *([self.withheld] if self.withheld else [])]
        ends = np.unique(np.concatenate([times for each in every for times in (each.begin, each.end)]))
        if ends[-1] == 0.0:  # a run of no step has no adjoint
            ends = np.append(ends, min(SHOWN_EVERY, self.length))
        between = np.arange(0.0, ends[-1], SHOWN_EVERY)
        between = between[(between > ends[0]) & (np.abs(between[:, None] - ends).min(axis=1) > 0.25 * SHOWN_EVERY)]
        return np.unique(np.concatenate([ends, between]))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes of an assimilation.

    withheld_before, withheld_after  withheld observations as they are simulated, (p,)
    clipped  by control the share of cells whose initial state the analysis clips at 0
    """

    analysis: Analysis
    posterior: Posterior | None
    withheld_before: Array | None
    withheld_after: Array | None
    clipped: Mapping[str, float] = field(default_factory=dict)


class Study:
    """A case with its model, ready to be assimilated; made by :func:`opened`."""

    def __init__(self, simulation: Simulation, seen: Seen, model: AirFieldModel, domain: Domain) -> None:
        self.case: Any = simulation.case
        self.input_files = simulation.input_files
        self.seen, self._model, self._domain = seen, model, domain
        self.air_model: AirModel = simulation.model
        self.control: ControlVector = control_vector(self.case, domain.grid)
        self._sampled = Sampled(model, Operator(seen.observations, domain))

    def plan(self) -> Report:
        """What is to be done: observations, instants, and controls with their background deviations."""
        seen, section = self.seen, self.case.assimilation
        groups = [(name, int(rows.size)) for name, rows in seen.observations.groups().items()]
        facts: dict[str, Cell] = {
            "observations": len(seen.observations), "withheld": len(seen.withheld) if seen.withheld else 0,
            "rows rejected": sum(row.rows for row in seen.rejected),
            "instants": len(self._domain.times), "controls": self.control.size,
            "most iterations": section.iterations,
        }  # fmt: skip
        blocks = [(b.name, b.kind, " x ".join(b.dims), b.covariance.sigma.size, float(b.covariance.sigma.mean()))
                  for b in self.control.blocks]  # fmt: skip
        tables = [
            Table("Observed", ("species and kind", "p"), groups),
            Table("Controls", ("control", "kind", "axes", "n", "sigma"), blocks),
            *seen.tables(),
        ]
        return Report(f"4D-Var: {self.case.title}", tables, facts)

    def simulated(self, controls: Controls, of: Observations) -> Array:
        """Return what a run with these controls simulates of some observations, (p,)."""
        return Sampled(self._model, Operator(of, self._domain)).value_and_gradient(controls)[0]

    def run(self, file: Path | None = None, see: See | None = None) -> Outcome:
        """Minimise; with a file it goes on from there."""
        minimisation = fourdvar(self.case, self._sampled, self.seen.observations, file)
        minimisation.writes = self.air_model.subdomain.ranks.rank == 0
        analysis = minimisation.run(see)
        posterior, withheld = self._posterior(minimisation, analysis), self.seen.withheld
        clipped = self._model.clipped(analysis.controls)
        if withheld is None:
            return Outcome(analysis, posterior, None, None, clipped)
        background = self.control.controls(np.zeros(self.control.size))
        before, after = (self.simulated(controls, withheld) for controls in (background, analysis.controls))
        return Outcome(analysis, posterior, before, after, clipped)

    def _posterior(self, minimisation: FourDVar, analysis: Analysis) -> Posterior | None:
        """The spread of the analysis, of the whole Hessian where that costs no more than its probes."""
        section, size = self.case.assimilation, self.control.size
        if not section.probes:
            return None
        apply = hessian(minimisation.cost(analysis.accepted), analysis.v)
        if size <= section.probes * section.iterations:
            return exact(apply, self.control)
        return estimate(apply, self.control, probes=section.probes, iterations=section.iterations)

    def controls(self, outcome: Outcome) -> Table:
        """Return the table of controls after the analysis."""
        return control_table(self.control, outcome.analysis, outcome.posterior)


def _check_moments(case: Case, observations: Observations) -> None:
    """Raise CaseError where all observations are of the very beginning, which emission cannot change."""
    initial = any(control.of == "initial" for control in case.assimilation.control)
    if observations.end.max() == 0.0 and not initial and not case.time.spinup.value:
        raise CaseError(
            f"{observations.where[0]}: all observations are of the start, and emission changes nothing there; give "
            'later ones, or a control with of = "initial"'
        )


def check_case(case: object) -> None:
    """Raise CaseError for a case that is no assimilation."""
    if not isinstance(case, Case):
        raise CaseError("4D-Var is for the model air; this case is of another one")
    if case.assimilation.scheme == "none":
        raise CaseError('assimilation.scheme = "none": this case assimilates nothing; see docs/assimilation.md')


@contextmanager
def opened(case: Case, seen: Seen, progress: Progress = lambda part, done: None) -> Iterator[Study]:
    """Build the model of a case and yield the study; raises what a simulation of the case does, and CaseError.

    With several ranks all of them make the same study, and only the first one writes.
    """
    with Simulation(case.without_groups()) as simulation, raising_together(simulation.model.subdomain.ranks):
        species, model = case.assimilation.observations.species, simulation.model
        masses = {each.name: each.molar_mass for each in model.network.species if each.molar_mass is not None}
        domain = Domain(
            model.whole, seen.instants, species, masses,
            air=lambda time: model.subdomain.whole(model.parts.meteorology.at(time).air_density),
            volume=case.assimilation.observations.volume,
        )  # fmt: skip
        with closing(AirFieldModel(simulation, domain.times.tolist(), species, progress)) as fields:
            yield Study(simulation, seen, fields, domain)

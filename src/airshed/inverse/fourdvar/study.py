"""Assimilation of a case: observations, controls and model from its settings, its folder, and the minimisation."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.atomic import guarded, write_whole
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.files import read_text
from airshed.core.report import Cell, Report, Table
from airshed.grid import Grid
from airshed.inverse.fourdvar.air_model import AirFieldModel
from airshed.inverse.fourdvar.control import Block, Controls, ControlVector, Covariance, axis_root
from airshed.inverse.fourdvar.cost import ObservationModel, SampledFieldModel
from airshed.inverse.fourdvar.minimise import Analysis, FourDVar, OnIteration, Stop
from airshed.inverse.fourdvar.operator import Domain, ObservationOperator
from airshed.inverse.fourdvar.posterior import Posterior, estimate, exact, hessian
from airshed.inverse.gradient import Progress
from airshed.io.run_state import Inputs, describe_differences
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.model import AirModel
from airshed.observations.column_file import read_columns
from airshed.observations.layouts import FileOptions
from airshed.observations.observation import ErrorModel, Observations
from airshed.observations.reading import FileSummary, files_table, read_observations
from airshed.observations.selection import ObservationSelection, RejectedRow, SelectionRules, rejected_rows_table
from airshed.observations.station import read_station_tables
from airshed.observations.time_convention import TimeConvention
from airshed.parallel.failure import raising_together
from airshed.runtime.simulation import Simulation

FIRST_AXIS: Final = {"emission": "part_of_day", "initial": "level"}
"""First axis of controls of emission and of the initial state; with `resolution = "cell"` those of the grid follow."""


def control_vector(case: Case, grid: Grid) -> ControlVector:
    """Return the control vector of a case: a block for each `[[assimilation.control]]`.

    Factors on emission are (part_of_day, lat, lon), (part_of_day, region), or (part_of_day,) for the domain. Factors on
    the initial state, and increments [mol/mol], are (level, lat, lon), or (1,) for the domain.
    """
    blocks = []
    for section in case.assimilation.control:
        sigma = section.sigma if section.kind == "log-normal" else section.deviation.value
        dims, roots, shape = _axes(section, grid)
        blocks.append(Block(section.name, dims, Covariance(np.full(shape, sigma), roots), section.kind))
    return ControlVector(blocks)


def _axes(section: ControlSection, grid: Grid) -> tuple[tuple[str, ...], list[Array | None], tuple[int, ...]]:
    """Return the axes of a control, the roots of their correlations, and their lengths."""
    emission, correlation = section.target == "emission", section.correlation
    parts = section.parts_of_day
    if emission:
        hours = np.arange(parts) * SECONDS_PER_DAY / parts
        first: Array | None = axis_root(hours, section.time.value, correlation, period=SECONDS_PER_DAY)
    else:
        first = axis_root(grid.level, section.height.value, correlation)
    dims = FIRST_AXIS[section.target], *grid.dims
    if section.resolution == "domain":
        return (dims[:1], [first], (parts,)) if emission else (("domain",), [None], (1,))
    if section.resolution == "region":
        return (dims[0], "region"), [first, None], (parts, len(section.regions))
    length = section.length.value
    horizontal = grid.mapping.correlation_coordinates(grid)
    roots = [first, *(axis_root(places, length, correlation, period=period) for places, period in horizontal)]
    return dims, roots, (parts if emission else grid.shape[0], *grid.shape[1:])


def read_case_observations(case: Case, grid: Grid) -> tuple[Observations, list[RejectedRow], list[FileSummary]]:
    """Return the observations of a case, the rejected rows, and a summary of each file.

    raises  CaseError for a missing file, DataError for an invalid one
    """
    selection = _selection(case, grid)
    files = _read(case, "stations", selection)
    for path in case.files(case.assimilation.observations.columns, "assimilation.observations.columns"):
        read_columns(path, case.start, selection)
    return selection.observations(), selection.rejected, files


def read_withheld_observations(
    case: Case, grid: Grid
) -> tuple[Observations | None, list[RejectedRow], list[FileSummary]]:
    """Return observations for comparison only, None if there are none; see :func:`read_case_observations`."""
    selection = _selection(case, grid)
    if not case.assimilation.observations.withheld:
        return None, [], []
    files = _read(case, "withheld", selection)
    return selection.observations(), selection.rejected, files


def _read(case: Case, key: str, selection: ObservationSelection) -> list[FileSummary]:
    """Read the station files that a setting names."""
    observed = case.assimilation.observations
    paths = case.files(getattr(observed, key), f"assimilation.observations.{key}")
    tables = case.files(observed.station_tables, "assimilation.observations.station_tables")
    zone, label = observed.time.zone, observed.time.label
    return read_observations(
        paths, case.start, selection,
        stations=read_station_tables(tables) if tables else None,
        time=TimeConvention(zone, label) if zone else None,
        averaging=None if observed.averaging == "auto" else observed.averaging.value,
        options=FileOptions(units=dict(observed.units)),
    )  # fmt: skip


def window_length(case: Case) -> float:
    """Return the length [s] of the assimilation window, which begins at the start of the case."""
    section = case.assimilation
    return float((case.time.length if section.window == "auto" else section.window).value)


def _selection(case: Case, grid: Grid) -> ObservationSelection:
    observed = case.assimilation.observations
    errors = ErrorModel(observed.instrument_error, observed.representativeness_error, observed.error_floor)
    choice = SelectionRules(observed.flags, observed.outside, observed.other_species, dict(observed.names), errors)
    return ObservationSelection(grid, window_length(case), observed.species, choice)


def fourdvar(case: Case, model: ObservationModel, observations: Observations, file: Path | None = None) -> FourDVar:
    """Return the minimisation of a case, which resumes from the state in ``file`` if there is one."""
    observed = case.assimilation.observations
    control = control_vector(case, case.make_grid())
    return FourDVar(
        model, control, observations, stop=stop_rules(case), check=observed.background_check,
        background_share=observed.background_error, file=file,
    )  # fmt: skip


def stop_rules(case: Case) -> Stop:
    """Return the stopping criteria of a case."""
    section = case.assimilation
    return Stop(section.iterations, section.gradient_tolerance, section.cost_tolerance)


STATE: Final = "state.npz"
CASE: Final = "case.toml"
INPUTS: Final = "inputs.json"

_STOPS: Final = ("iterations", "gradient_tolerance", "cost_tolerance", "probes")


def prepare_folder(folder: Path, case: Case, *, resume: bool) -> Path:
    """Create the folder, and return the path of its state; without `resume` an existing state is removed.

    raises  OutputError for a folder that cannot be written to; CaseError for resuming the assimilation of another case,
            where only stopping criteria may differ
    """
    state, text = folder / STATE, _problem(case)
    if resume and state.is_file():
        if read_text(folder / CASE, "without it the case of the state is unknown; omit --resume") != text:
            raise CaseError(f"{folder} holds the assimilation of another case; undo the change, or omit --resume")
        return state
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        state.unlink(missing_ok=True)
    with write_whole(folder / CASE) as part:
        part.write_text(text, encoding="utf-8")
    return state


def check_inputs(folder: Path, inputs: Inputs, *, resumed: bool) -> None:
    """Store the fingerprints of the input files, or compare them when resuming; raises CaseError if some differ."""
    file = folder / INPUTS
    if not resumed:
        with write_whole(file) as part:
            part.write_text(json.dumps(inputs.marks(), indent=1), encoding="utf-8")
        return
    try:
        differences = inputs.differences(json.loads(read_text(file, "omit --resume")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CaseError(f"{file} is damaged; omit --resume") from None
    if differences:
        raise CaseError(
            f"{folder} holds the assimilation of other files ({describe_differences(differences)}); "
            "restore them, or omit --resume"
        )


def _problem(case: Case) -> str:
    """Return the case as text, with default stopping criteria."""
    section = case.assimilation
    fields = type(section).model_fields
    stops = {name: fields[name].default for name in _STOPS}
    return case.model_copy(update={"assimilation": section.model_copy(update=stops)}).to_toml(machine=False)


LONGEST_INTERVAL: Final = 1800.0
"""Maximum interval [s] between instants within a mean; fields are linear in time between instants."""


@dataclass(frozen=True)
class StudyObservations:
    """Observations of a case: assimilated and withheld ones, and rejected rows.

    length  length of the case [s]
    """

    observations: Observations
    withheld: Observations | None
    rejected: tuple[RejectedRow, ...]
    length: float = LONGEST_INTERVAL
    files: tuple[FileSummary, ...] = ()

    @classmethod
    def of_case(cls, case: Case) -> "StudyObservations":
        """Read the observations of a case; raises CaseError for a case without 4D-Var, DataError for invalid files."""
        check_case(case)
        grid = case.make_grid()
        observations, rejected, files = read_case_observations(case, grid)
        initial = any(control.target == "initial" for control in case.assimilation.control)
        if observations.end.max() == 0.0 and not initial and not case.time.spinup.value:
            raise CaseError(
                f"{observations.where[0]}: all observations are at the start, where emission has no effect; give "
                'later ones, or a control with target = "initial"'
            )
        withheld, also, more = read_withheld_observations(case, grid)
        return cls(observations, withheld, (*rejected, *also), case.time.length.value, (*files, *more))

    def tables(self) -> list[Table]:
        """Return the table of files and that of rejected rows, if there are any."""
        files = [files_table(self.files)] if self.files else []
        return [*files, *([rejected_rows_table(self.rejected)] if self.rejected else [])]

    @property
    def instants(self) -> Array:
        """Instants [s] at which the model outputs its fields: the ends of all means, and some in between."""
        every = [self.observations, *([self.withheld] if self.withheld else [])]
        ends = np.unique(np.concatenate([times for each in every for times in (each.begin, each.end)]))
        if ends[-1] == 0.0:  # a run without steps has no adjoint
            ends = np.append(ends, min(LONGEST_INTERVAL, self.length))
        between = np.arange(0.0, ends[-1], LONGEST_INTERVAL)
        between = between[(between > ends[0]) & (np.abs(between[:, None] - ends).min(axis=1) > 0.25 * LONGEST_INTERVAL)]
        return np.unique(np.concatenate([ends, between]))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of an assimilation.

    withheld_before, withheld_after  simulated values of withheld observations, (p,)
    clipped  fraction of cells whose initial state is clipped at 0 in the analysis, by control
    """

    analysis: Analysis
    posterior: Posterior | None
    withheld_before: Array | None
    withheld_after: Array | None
    clipped: Mapping[str, float] = field(default_factory=dict)


class Study:
    """Assimilation of a case with its open model, see :func:`open_study`."""

    def __init__(self, simulation: Simulation, seen: StudyObservations, model: AirFieldModel, domain: Domain) -> None:
        self.case: Any = simulation.case
        self.input_files = simulation.input_files
        self.observed, self._model, self._domain = seen, model, domain
        self.air_model: AirModel = simulation.model
        self.control: ControlVector = control_vector(self.case, domain.grid)
        self._sampled = SampledFieldModel(model, ObservationOperator(seen.observations, domain))

    def plan(self) -> Report:
        """Return a summary of the assimilation: observations, instants, and controls with their background errors."""
        seen, section = self.observed, self.case.assimilation
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
        """Return the simulated values of observations in a run with these controls, (p,)."""
        return SampledFieldModel(self._model, ObservationOperator(of, self._domain)).value_and_gradient(controls)[0]

    def run(self, file: Path | None = None, on_iteration: OnIteration | None = None) -> Outcome:
        """Minimise; resumes from the state in the file if there is one."""
        minimisation = fourdvar(self.case, self._sampled, self.observed.observations, file)
        minimisation.writes = self.air_model.subdomain.ranks.rank == 0
        analysis = minimisation.run(on_iteration)
        posterior, withheld = self._posterior(minimisation, analysis), self.observed.withheld
        clipped = self._model.clipped(analysis.controls)
        if withheld is None:
            return Outcome(analysis, posterior, None, None, clipped)
        background = self.control.controls(np.zeros(self.control.size))
        before, after = (self.simulated(controls, withheld) for controls in (background, analysis.controls))
        return Outcome(analysis, posterior, before, after, clipped)

    def _posterior(self, minimisation: FourDVar, analysis: Analysis) -> Posterior | None:
        """Return the spread of the analysis, from the full Hessian if that takes no more runs than the probes."""
        section, size = self.case.assimilation, self.control.size
        if not section.probes:
            return None
        apply = hessian(minimisation.cost(analysis.accepted), analysis.v)
        if size <= section.probes * section.iterations:
            return exact(apply, self.control)
        return estimate(apply, self.control, probes=section.probes, iterations=section.iterations)


def check_case(case: object) -> None:
    """Raise CaseError for a case without an assimilation."""
    if not isinstance(case, Case):
        raise CaseError("4D-Var is for the model air; this case is of another model")
    if case.assimilation.scheme == "none":
        raise CaseError('assimilation.scheme = "none": this case has no assimilation; see docs/how-to/assimilation.md')


@contextmanager
def open_study(case: Case, seen: StudyObservations, progress: Progress = lambda part, done: None) -> Iterator[Study]:
    """Build the model of a case and yield the study; raises the errors of a simulation of the case, and CaseError.

    With several ranks all of them run the same study, and only the first one writes.
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

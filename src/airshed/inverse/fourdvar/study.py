"""The assimilation of a case: its observations, controls and model by its settings, its folder, its minimisation."""

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
from airshed.inverse.fourdvar.cost import Observed, Sampled
from airshed.inverse.fourdvar.minimise import Analysis, FourDVar, See, Stop
from airshed.inverse.fourdvar.operator import Domain, Operator
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
"""First axis of a control by its target; the axes of the grid follow where `resolution` is "cell"."""


def control_vector(case: Case, grid: Grid) -> ControlVector:
    """Return the control vector of a case: a block for each `[[assimilation.control]]`, by its name.

    Factors of emission are (part_of_day, lat, lon), (part_of_day, region), or (part_of_day,) for the domain; those of
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


def observations_of(case: Case, grid: Grid) -> tuple[Observations, list[RejectedRow], list[FileSummary]]:
    """Return the observations of a case, the rejected rows, and a summary of each file.

    raises  CaseError for a file that is not there, DataError for one that cannot be used
    """
    selection = _selection(case, grid)
    files = _read(case, "stations", selection)
    for path in case.files(case.assimilation.observations.columns, "assimilation.observations.columns"):
        read_columns(path, case.start, selection)
    return selection.observations(), selection.rejected, files


def withheld_of(case: Case, grid: Grid) -> tuple[Observations | None, list[RejectedRow], list[FileSummary]]:
    """Return the observations that are compared but not assimilated, None without any; as :func:`observations_of`."""
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


def window_of(case: Case) -> float:
    """Return the length [s] of the window, which begins with the case."""
    section = case.assimilation
    return float((case.time.length if section.window == "auto" else section.window).value)


def _selection(case: Case, grid: Grid) -> ObservationSelection:
    observed = case.assimilation.observations
    errors = ErrorModel(observed.instrument_error, observed.representativeness_error, observed.error_floor)
    choice = SelectionRules(observed.flags, observed.outside, observed.other_species, dict(observed.names), errors)
    return ObservationSelection(grid, window_of(case), observed.species, choice)


def fourdvar(case: Case, model: Observed, observations: Observations, file: Path | None = None) -> FourDVar:
    """Return the minimisation that a case asks for, which goes on where ``file`` says."""
    observed = case.assimilation.observations
    control = control_vector(case, case.make_grid())
    return FourDVar(
        model, control, observations, stop=stop_rules(case), check=observed.background_check,
        background_share=observed.background_error, file=file,
    )  # fmt: skip


def stop_rules(case: Case) -> Stop:
    """Return when the minimisation of a case ends."""
    section = case.assimilation
    return Stop(section.iterations, section.gradient_tolerance, section.cost_tolerance)


STATE: Final = "state.npz"
CASE: Final = "case.toml"
INPUTS: Final = "inputs.json"

_STOPS: Final = ("iterations", "gradient_tolerance", "cost_tolerance", "probes")


def prepared(folder: Path, case: Case, *, resume: bool) -> Path:
    """Make the folder and return the path of its state, which is there only to go on from.

    raises  OutputError for a folder that cannot be written to, CaseError to resume an assimilation of another case;
            stop rules may differ
    """
    state, text = folder / STATE, _problem(case)
    if resume and state.is_file():
        if read_text(folder / CASE, "without it the case of the state is unknown; leave --resume away") != text:
            raise CaseError(f"{folder} holds the assimilation of another case; undo the change, or leave --resume away")
        return state
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        state.unlink(missing_ok=True)
    with write_whole(folder / CASE) as part:
        part.write_text(text, encoding="utf-8")
    return state


def check_inputs(folder: Path, inputs: Inputs, *, resumed: bool) -> None:
    """Store the marks of the files that were read, or, to go on, compare them; raises CaseError where some differ."""
    file = folder / INPUTS
    if not resumed:
        with write_whole(file) as part:
            part.write_text(json.dumps(inputs.marks(), indent=1), encoding="utf-8")
        return
    try:
        differences = inputs.differences(json.loads(read_text(file, "leave --resume away")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CaseError(f"{file} is damaged; leave --resume away") from None
    if differences:
        raise CaseError(
            f"{folder} holds the assimilation of other files ({describe_differences(differences)}); "
            "restore them, or omit --resume"
        )


def _problem(case: Case) -> str:
    """Return the case as a text, with the stop rules at their defaults."""
    section = case.assimilation
    fields = type(section).model_fields
    stops = {name: fields[name].default for name in _STOPS}
    return case.model_copy(update={"assimilation": section.model_copy(update=stops)}).to_toml(machine=False)


SHOWN_EVERY: Final = 1800.0
"""The model shows its fields at least so often within a mean [s]; between, they are taken as linear."""


@dataclass(frozen=True)
class StudyObservations:
    """The observations of a case: those that are assimilated, those that are withheld, and rejected rows.

    length  of the case [s]
    """

    observations: Observations
    withheld: Observations | None
    rejected: tuple[RejectedRow, ...]
    length: float = SHOWN_EVERY
    files: tuple[FileSummary, ...] = ()

    @classmethod
    def of_case(cls, case: Case) -> "StudyObservations":
        """Read them; raises CaseError for a case without 4D-Var, CaseError and DataError for what cannot be used."""
        check_case(case)
        grid = case.make_grid()
        observations, rejected, files = observations_of(case, grid)
        initial = any(control.target == "initial" for control in case.assimilation.control)
        if observations.end.max() == 0.0 and not initial and not case.time.spinup.value:
            raise CaseError(
                f"{observations.where[0]}: all observations are of the start, and emission changes nothing there; give "
                'later ones, or a control with target = "initial"'
            )
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
    """Result of an assimilation.

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

    def __init__(self, simulation: Simulation, seen: StudyObservations, model: AirFieldModel, domain: Domain) -> None:
        self.case: Any = simulation.case
        self.input_files = simulation.input_files
        self.observed, self._model, self._domain = seen, model, domain
        self.air_model: AirModel = simulation.model
        self.control: ControlVector = control_vector(self.case, domain.grid)
        self._sampled = Sampled(model, Operator(seen.observations, domain))

    def plan(self) -> Report:
        """What is to be done: observations, instants, and controls with their background deviations."""
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
        """Return what a run with these controls simulates of some observations, (p,)."""
        return Sampled(self._model, Operator(of, self._domain)).value_and_gradient(controls)[0]

    def run(self, file: Path | None = None, see: See | None = None) -> Outcome:
        """Minimise; with a file it goes on from there."""
        minimisation = fourdvar(self.case, self._sampled, self.observed.observations, file)
        minimisation.writes = self.air_model.subdomain.ranks.rank == 0
        analysis = minimisation.run(see)
        posterior, withheld = self._posterior(minimisation, analysis), self.observed.withheld
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


def check_case(case: object) -> None:
    """Raise CaseError for a case that is no assimilation."""
    if not isinstance(case, Case):
        raise CaseError("4D-Var is for the model air; this case is of another one")
    if case.assimilation.scheme == "none":
        raise CaseError('assimilation.scheme = "none": this case assimilates nothing; see docs/how-to/assimilation.md')


@contextmanager
def opened(case: Case, seen: StudyObservations, progress: Progress = lambda part, done: None) -> Iterator[Study]:
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

"""Run box models from conditions to a dataset, a file and a report."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.case.failure import ChemistryFailure
from airshed.case.sections import RunSection
from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, OutputError
from airshed.core.report import Cell, Report, Table
from airshed.core.text import suggestion
from airshed.core.version import __version__
from airshed.mechanism import ReactionNetwork, atom_counts, load_mechanism
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.model import BoxModel
from airshed.models.box.states import CellStates, load_states, states_from_dataset
from airshed.parallel.communicator import SingleRank
from airshed.runtime.clock import StepInfo
from airshed.runtime.progress import ProgressBar
from airshed.runtime.simulation import Simulation

MAIN: Final = ("O3", "NO", "NO2", "HNO3", "PAN", "N2O5", "H2O2", "OH", "HO2", "HCHO", "CO", "SO2")
"""Species in reports if the mechanism has them, unless others are requested."""
_MOST_ROWS: Final = 12
ANY_NUMBER: Final = 10**9  # no limit of the steps in a batch
_BALANCED: Final = 1e-9
_SUFFIXES: Final = (".nc", ".csv")
Observer = Callable[[float], None]
"""Callback for the completed fraction of the simulated time, 0 to 1."""

Conditions = BoxConditions | Mapping[str, Any] | str | Path
States = CellStates | xr.Dataset | str | Path


class BoxOutcome(NamedTuple):
    """Result of a run of boxes: time series, report, and the species in the report."""

    series: xr.Dataset
    report: Report
    species: tuple[str, ...]


class BoxRun:
    """Simulation of boxes in memory, with its time series.

    simulation  simulation on the runtime
    model       its model
    seconds     wall time of the integration
    allow_code  whether process files of the conditions may run
    """

    def __init__(
        self, network: ReactionNetwork, conditions: BoxConditions, *, states: CellStates | None = None,
        threads: int = 1, allow_code: bool = False,
    ) -> None:  # fmt: skip
        case = conditions.model_copy(update={"run": RunSection(threads=threads)})
        case = case.allowing_code() if allow_code else case
        self.simulation = Simulation(case, network, states, ranks=SingleRank())
        self.model: BoxModel = self.simulation.model
        self.seconds = 0.0

    def run(self, observer: Observer | None = None) -> xr.Dataset:
        """Integrate from the start to the end and return the time series, see :func:`box`.

        Raises CaseError for conditions that are not finite at some time, NumericalError, and KeyboardInterrupt after
        `simulation.request_stop()`.
        """
        began, model = time.perf_counter(), self.model
        times: list[float] = []
        values: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in model.fields}

        def record(info: StepInfo | None = None) -> None:
            if model.present.output:
                times.append(model.present.at)
                for name, each in model.shown().items():
                    values[name].append(each)
                if observer is not None:
                    observer(0.0 if info is None else info.fraction)

        with model.conditions.naming_file(model.source):
            record()
            self.simulation.run(observer=record, stride=ANY_NUMBER)
            if model.next_change() < np.inf:
                raise KeyboardInterrupt
            series = _dataset(model, times, values)
        self.simulation.close()
        self.seconds = time.perf_counter() - began
        return series


def box(
    mechanism: ReactionNetwork | str | Path,
    conditions: Conditions,
    states: States | None = None,
    *,
    threads: int = 1,
    allow_code: bool = False,
    observer: Observer | None = None,
) -> xr.Dataset:
    """Integrate a mechanism in one box of air, or in many boxes.

    The box solves dc/dt = P(c) - L(c) c + E - D c, see docs/how-to/box.md.

    Parameters
    ----------
    mechanism
        Name of a shipped mechanism, a reaction file, or a network.
    conditions
        A conditions file, or nested dictionaries with the same keys.
    states
        Initial states of many boxes along ``cell``: a netCDF or CSV file, or a Dataset. They have species
        [molecules/cm3 or mol/mol], and conditions that differ between boxes, such as temperature [K], pressure [Pa].
    threads
        Number of threads.
    allow_code
        Whether Python code of the mechanism or of the conditions may run, with the rights of the user.
    observer
        Function that receives the completed part, 0 to 1; by default a progress bar in IPython.

    Returns
    -------
    xarray.Dataset
        Time series (time [s since local midnight], cell) of species and M [molecules cm-3]. It also has temperature
        [K], pressure [Pa], SUN, sec_zenith and daylight [1] if available.

    Raises
    ------
    MechanismError, CaseError, DataError, KernelError
        If the mechanism, the conditions or the states are wrong, or if the code does not compile.
    NumericalError
        If the integration fails: a ChemistryFailure with cell, time and state, which writes conditions that replay it.

    Examples
    --------
    >>> series = airshed.box("emep", "cases/emep-box/conditions.toml")
    >>> series["O3"].plot()
    """
    run = prepare(mechanism, conditions, states, threads, allow_code=allow_code)
    with ProgressBar(enabled=observer is None) as bar:
        return run.run(observer or partial(bar, label="chemistry"))


def run_box(
    mechanism: str, conditions: Path, output: Path, *, states: Path | None = None, species: Sequence[str] = (),
    threads: int = 1, allow_code: bool = False, started: Callable[[BoxRun], object] = lambda run: None,
    observer: Observer | None = None,
) -> BoxOutcome:  # fmt: skip
    """Integrate a mechanism with the conditions of a file, and write the time series to a netCDF or CSV file.

    species  species in the report, by default the main ones
    started  callback for the run before its first step

    For other parameters see :func:`box`. The file is written atomically. If the chemistry of a cell fails, a conditions
    file that replays the failure is written to the same folder. Raises MechanismError, CaseError, DataError,
    KernelError, NumericalError, or OutputError.
    """
    output = Path(output)
    if output.suffix.lower() not in _SUFFIXES:
        raise OutputError(f"{output}: unknown format; the name must end in .nc (netCDF) or .csv")
    if not output.parent.is_dir():
        raise OutputError(f"cannot write {output}: there is no folder {output.parent}; create it, or choose another")
    run = prepare(mechanism, conditions, states, threads, allow_code=allow_code)
    chosen = _chosen_species(run.model.network, species)
    started(run)
    with write_whole(output) as part:
        part.touch()  # reports a read-only folder before the integration
        try:
            series = run.run(observer)
        except ChemistryFailure as failure:
            cell = "" if failure.cell is None else f"-cell-{failure.cell}"
            raise failure.write(output.with_name(f"{output.stem}-failed{cell}.toml"), mechanism) from None
        write_series(series, part, output.suffix.lower())
    return BoxOutcome(series, _report(run, series, output, chosen), chosen)


def _chosen_species(network: ReactionNetwork, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        main = tuple(name for name in MAIN if name in network.names)
        return main if main and len(network.names) > _MOST_ROWS else network.names[:_MOST_ROWS]
    known = {name.casefold(): name for name in network.names}
    chosen: dict[str, None] = {}
    for name in (part.strip() for text in names for part in text.split(",")):
        if name.casefold() not in known:
            raise CaseError(f"--species {name}: not a species of {network.name}; {suggestion(name, network.names)}")
        chosen[known[name.casefold()]] = None
    return tuple(chosen)


def write_series(series: xr.Dataset, path: Path, suffix: str) -> None:
    """Write a time series as netCDF or, for ".csv", as rows of numbers below a heading with units."""
    if suffix != ".csv":
        series.to_netcdf(path, engine="netcdf4")
        return
    units = {
        name: str(series[name].attrs["units"]).replace("molecules cm-3", "molecules/cm3") for name in series.data_vars
    }
    heads = {"time": "time [s]", **{name: f"{name} [{unit}]" for name, unit in units.items()}}
    series.to_dataframe().reset_index().rename(columns=heads).to_csv(path, index=False)


def prepare(
    mechanism: ReactionNetwork | str | Path, conditions: Conditions, states: States | None, threads: int, *,
    allow_code: bool,
) -> BoxRun:  # fmt: skip
    """Return a run of boxes before its first step, see :func:`box`."""
    network = mechanism if isinstance(mechanism, ReactionNetwork) else load_mechanism(mechanism, allow_code=allow_code)
    if isinstance(conditions, str | Path):
        conditions = BoxConditions.load(conditions)
    elif not isinstance(conditions, BoxConditions):
        conditions = BoxConditions.from_dict(conditions)
    if isinstance(states, str | Path):
        states = load_states(Path(states), network)
    elif isinstance(states, xr.Dataset):
        states = states_from_dataset(states, network)
    with conditions.naming_file(states.source if states else "states"):
        return BoxRun(network, conditions, states=states, threads=threads, allow_code=allow_code)


def _dataset(model: BoxModel, times: list[float], values: Mapping[str, Any]) -> xr.Dataset:
    """Return the time series of the fields of a model."""
    conditions, variables = model.conditions, {}
    for name, each in values.items():
        spec = model.fields[name]
        attributes = {"units": spec.unit, "long_name": spec.text}
        attributes |= {"standard_name": spec.standard_name} if spec.standard_name else {}
        series = np.array(each) if model.many else np.array(each)[:, 0]
        variables[name] = (("time", *spec.dims), series, attributes)
    clock = {"units": "s", "long_name": "local time since midnight of the first day"}
    attributes = {
        "title": conditions.title, "Conventions": "CF-1.11", "source": f"Airshed {__version__}",
        "mechanism": model.network.name, "precision": conditions.solver.precision,
        "airshed_conditions": conditions.conditions_file(),
    }  # fmt: skip
    notes = {"comment": "; ".join(model.notes)} if model.notes else {}
    return xr.Dataset(variables, {"time": ("time", np.array(times), clock)}, attributes | notes)


def _report(run: BoxRun, series: xr.Dataset, output: Path, chosen: Sequence[str]) -> Report:
    model = run.model
    network, length, start = model.network, model.conditions.time.length, model.conditions.time.start
    facts: dict[str, Cell] = {
        "mechanism": f"{network.name}, {len(network.species)} species, {len(network.reactions)} reactions",
        "simulated": f"{length.text} from {start.text}",
    }
    if network.renamed:
        facts["names that differ from the file"] = network.renaming
    if model.many:
        facts["cells"] = series.sizes["cell"]
    facts |= {**model.facts(run.seconds), "output": str(output)}
    tables = [_concentrations(series, chosen, many=model.many)]
    atoms = _atoms(model, series)
    return Report("Box of air", [*tables, *([atoms] if atoms.rows else [])], facts)


def _concentrations(series: xr.Dataset, chosen: Sequence[str], *, many: bool) -> Table:
    rows = []
    for name in chosen:
        values = series[name].values
        first, last = (float(np.mean(values[at])) for at in (0, -1))
        share = float(np.mean((1e9 * values / series["M"].values)[-1])) if "M" in series else None
        rows.append((name, first, last, share))
    columns = ("species", "start [molecules/cm3]", "end [molecules/cm3]", "end [ppb]")
    return Table(f"Concentrations{', mean of cells' if many else ''}", columns, rows)


def _atoms(model: BoxModel, series: xr.Dataset) -> Table:
    """Return the relative change of the atoms of each element, and the processes that change them."""
    network, rows = model.network, []
    air = series["M"].values[[0, -1]] if "M" in series else np.ones((2, 1))
    ends = np.stack([series.variables[name].values[[0, -1]] for name in network.names], axis=1).reshape(
        2, len(network.names), -1
    )
    parts: npt.NDArray[np.float64] = ends / air.reshape(2, 1, -1)
    for element in network.atoms:
        weights = np.array(atom_counts(network, element), float)
        if not weights.any():
            continue
        first, last = np.einsum("i,tic->tc", weights, parts)
        change = (last - first) / np.where(first > 0.0, first, 1.0)
        rows.append(
            (element, float(change[np.argmax(np.abs(change))]), _openings(network, weights, model.forcing.opened))
        )
    note = "Change of all atoms in variable species over the run; the largest of all cells."
    return Table("Atoms", ("element", "relative change", "changed by"), rows, note)


def _openings(
    network: ReactionNetwork, weights: npt.NDArray[np.float64], opened: Mapping[str, set[int]]
) -> str:  # fmt: skip
    """Return the causes of a change in the number of atoms; only rounding and clipping if all reactions conserve it.

    opened  description of a process other than chemistry -> numbers of the species that it changes
    """
    changes = [sum(weights[species] * change for species, change in net) for net in network.net_stoichiometry]
    labels = [
        reaction.label for reaction, change in zip(network.reactions, changes, strict=True) if abs(change) > _BALANCED
    ]
    found = [f"reactions {', '.join(labels[:4])}{' ...' * (len(labels) > 4)}"] if labels else []
    found += [process for process, touched in opened.items() if any(weights[species] for species in touched)]
    return "; ".join(found) or "only rounding and clipping"

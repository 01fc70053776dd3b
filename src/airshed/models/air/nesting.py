"""Nests in one program: each nest gets its boundary from the state of its outer run after every outer step."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airshed.core.alarm import INSTANT
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.files import note_input
from airshed.core.text import listed
from airshed.io.grid_file import FileGrid
from airshed.kernels.boundary import BoundaryForcing, FaceCells, PackedBoundary
from airshed.kernels.step.arguments import SIDES
from airshed.models.air.boundary.outer import OuterGrid, points_beyond
from airshed.parallel.communicator import world
from airshed.runtime.clock import Observer
from airshed.runtime.simulation import Simulation

if TYPE_CHECKING:
    import xarray as xr

    from airshed.core.report import Report
    from airshed.grid import Grid
    from airshed.models.air.case import Case
    from airshed.models.air.model import AirModel


def outer_grid(grid: "Grid", where: str) -> OuterGrid:
    """Return a model grid as that of an outer run."""
    return OuterGrid(FileGrid(grid.mapping, grid.x_faces, grid.y_faces), grid.level, where)


class LiveBoundary:
    """Boundary concentrations of a nest from the states of its outer simulation, linear in time between these.

    last  [s since the start of the nest] time of the newest state
    """

    def __init__(self, outer: Simulation, case: "Case") -> None:
        self._outer, self._case = outer, case
        where = f"boundary.run = {case.boundary.run!r}"
        self._grid = outer_grid(outer.model.whole, where)
        self._offset = float((outer.case.start - case.start) / np.timedelta64(1, "ms")) / 1e3
        names = outer.model.network.names
        self._mechanism = {name: number for number, name in enumerate(names)}
        self._states: list[PackedBoundary] = []
        self._pack: Callable[[float, Array], PackedBoundary] | None = None

    @property
    def last(self) -> float:
        """Time of the newest state [s since the start of the nest]."""
        return self._outer.seconds + self._offset

    def initial(self) -> "xr.Dataset":
        """Return the present state of the outer run in the cells of the nest."""
        import xarray as xr

        grid = self._case.make_grid()
        self._grid.check_inside(grid.lon, grid.lat)
        found = self._grid.to(grid.lon, grid.lat, grid.level)(self._state())
        dims = ("level", *grid.dims)
        return xr.Dataset({name: (dims, found[number]) for name, number in self._mechanism.items()})

    def attach(self, model: "AirModel") -> None:
        """Give a model these boundary concentrations; species that the outer run lacks have the profile."""
        grid, names = model.whole, model.network.names
        shared = [name for name in names if name in self._mechanism]
        if not shared:
            raise CaseError(f"boundary.run = {self._case.boundary.run!r}: its mechanism has no species of this one")
        rows = [names.index(name) for name in shared]
        of_outer = [self._mechanism[name] for name in shared]
        lon, lat = points_beyond(grid)
        self._grid.check_inside(lon[0], lat[0])
        interpolate, layout, window = self._grid.to(lon, lat, grid.level), model.layout, model.subdomain.window
        decomposition, rank = model.subdomain.decomposition, model.subdomain.tile.rank
        sides = [side for side in SIDES if decomposition.neighbour(rank, side) is None]
        cells = FaceCells(*grid.shape[1:])

        def pack(seconds: float, state: Array) -> PackedBoundary:
            values = np.repeat(model.constants.profile[:, :, None], 2 * cells.count, axis=-1)
            values = values.reshape(*model.constants.profile.shape, 2, cells.count)
            values[rows] = interpolate(state[of_outer])
            both = np.concatenate([values[:, :, 0], values[:, :, 1]])
            return PackedBoundary.of(layout, cells.part(both, window.rows, window.columns), seconds, sides)

        self._pack = pack
        lacking = [name for name in names if name not in self._mechanism]
        others = f"; from the profiles: {listed(lacking)}" if lacking else ""
        model.parts.notes.append(
            ("boundary", f"{len(shared)} species of the outer run {self._outer.case.name} in this program{others}")
        )
        model.forcing.boundary = self
        for path in (self._outer.case.file, *self._outer.input_files):  # the results of the nest depend on them
            if path is not None:
                note_input(path)
        self.record()

    def record(self) -> None:
        """Add the present state of the outer run; collective."""
        assert self._pack is not None
        self._states = [*self._states[-2:], self._pack(self.last, self._state())]

    def at(self, seconds: float) -> BoundaryForcing:
        """Return the concentrations around a time [s]: constant before the first and after the newest state."""
        later = next((n for n, each in enumerate(self._states) if each.seconds >= seconds), len(self._states) - 1)
        start, end = self._states[max(later - 1, 0)], self._states[later]
        span = end.seconds - start.seconds
        weight = 1.0 if span <= 0.0 else min(max((seconds - start.seconds) / span, 0.0), 1.0)
        return BoundaryForcing(start, end, weight)

    def _state(self) -> Array:
        model = self._outer.model
        return np.asarray(model.subdomain.whole(model.mixing_ratios()))


@dataclass
class NestedRun:
    """Case of a program with nests, its folder, and the runs that are nested in it."""

    case: "Case"
    folder: Path | None
    nests: "list[NestedRun]" = field(default_factory=list)
    simulation: Simulation | None = None
    boundary: LiveBoundary | None = None


def run_nested(
    cases: "Sequence[Case]", folders: Sequence[Path | None] | None = None, *, observer: Observer | None = None,
    stopped: Callable[[], bool] = lambda: False, **options: Any,
) -> "list[Report] | None":  # fmt: skip
    """Run cases of which each but the first is nested in an earlier one, on the same ranks, without files in between.

    Parameters
    ----------
    cases
        The outermost case first. ``boundary.run`` of a nest names the folder of its outer case, and so may
        ``initial.run``.
    folders
        Folders for the results, in the same order; None for no results.
    observer
        Function that is called with a StepInfo after each step of the outermost run.
    stopped
        Function that returns whether the program shall end early; collective.
    **options
        Further options of each :class:`airshed.Simulation`.

    Returns
    -------
    list of Report, or None
        The summaries in the order of the cases; None for a program that was stopped.

    Raises
    ------
    CaseError
        If a nest has none of the other cases as outer run, or extends beyond the period of it.

    Examples
    --------
    >>> run_nested([airshed.load_case("west-europe"), airshed.load_case("cologne")], ["runs/a", "runs/b"])
    """
    runs = _tree(cases, folders or [None] * len(cases))
    with ExitStack() as stack:
        first = runs[0]
        first.simulation = stack.enter_context(Simulation(first.case, output=first.folder, **options))
        _advance_nests(first, stack, options)
        while first.simulation.seconds < first.simulation.end:
            if stopped():
                return None
            info = _step(first)
            if info is not None and observer is not None:
                observer(info)
            _advance_nests(first, stack, options)
        summaries = []
        for each in runs:
            assert each.simulation is not None
            each.simulation.run(observer=lambda info: None)  # completes the files
            summaries.append(each.simulation.summary(brief=True))
        return summaries


def _tree(cases: "Sequence[Case]", folders: Sequence[Path | None]) -> list[NestedRun]:
    """Return the runs of cases, each nest in its outer run."""
    runs: list[NestedRun] = []
    for case, folder in zip(cases, folders, strict=True):
        run = NestedRun(case, folder)
        if runs:
            outer = _outer_of(case, runs)
            (start, end), (first, last) = ((each.case.start, _end(each.case)) for each in (run, outer))
            if start < first or end > last:
                raise CaseError(
                    f"{case.name} lasts from {start} to {end}, its outer run {outer.case.name} from {first} to {last}; "
                    "change [time] of one of them"
                )
            outer.nests.append(run)
        runs.append(run)
    return runs


def _outer_of(case: "Case", runs: Sequence[NestedRun]) -> NestedRun:
    """Return the run that `boundary.run` of a nest names."""
    names = " or ".join(str(run.case.base) for run in runs)
    if case.boundary.run is None:
        raise CaseError(f"{case.name} is no nest: set boundary.run to the folder of its outer case, {names}")
    named = case.path(case.boundary.run).resolve()
    for run in runs:
        if named in (run.case.base.resolve(), None if run.folder is None else run.folder.resolve()):
            return run
    raise CaseError(
        f"{case.name}: boundary.run = {case.boundary.run!r} is none of the outer cases before it; set it to the "
        f"folder of one, {names}"
    )


def _end(case: "Case") -> np.datetime64:
    return case.start + np.timedelta64(round(case.time.length.value * 1e3), "ms")


def _step(run: NestedRun) -> Any:
    """Advance a run by a step, or to the start of a nest within this step; return the StepInfo of a step."""
    assert run.simulation is not None
    end = run.simulation.seconds + run.simulation.next_step()
    starts = [_seconds(run, each.case.start) for each in run.nests if each.simulation is None]
    within = [start for start in starts if run.simulation.seconds + INSTANT < start < end - INSTANT]
    if not within:
        return run.simulation.step()
    run.simulation.run(until=min(within), observer=lambda info: None)
    return None


def _advance_nests(outer: NestedRun, stack: ExitStack, options: dict[str, Any]) -> None:
    """Begin the nests whose start an outer run has reached, and advance all up to its time."""
    assert outer.simulation is not None
    for nest in outer.nests:
        if nest.simulation is None:
            if outer.simulation.seconds + INSTANT < _seconds(outer, nest.case.start):
                continue
            nest.boundary = LiveBoundary(outer.simulation, nest.case)
            initial = nest.boundary.initial() if nest.case.initial.run is not None else None
            made = Simulation(nest.case, output=nest.folder, boundary=nest.boundary, initial=initial, **options)
            nest.simulation = stack.enter_context(made)
            _advance_nests(nest, stack, options)
        else:
            assert nest.boundary is not None
            nest.boundary.record()
        assert nest.boundary is not None
        simulation = nest.simulation
        while simulation.seconds < simulation.end:
            if simulation.seconds + simulation.next_step() > nest.boundary.last + INSTANT:
                break
            _step(nest)
            _advance_nests(nest, stack, options)


def _seconds(run: NestedRun, instant: np.datetime64) -> float:
    """Return a time as seconds since the start of a run."""
    return float((instant - run.case.start) / np.timedelta64(1, "ms")) / 1e3


def stop_requested(requested: bool) -> bool:
    """Return whether a stop is requested on any rank; collective."""
    return bool(world().largest(np.array([float(requested)]))[0] > 0.0)

"""The case of the air-quality model: immutable, validated settings from a file or a dictionary."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from airshed.case.case import RunCase
from airshed.case.process_files import ProcessSection
from airshed.case.sections import Due
from airshed.case.toml import KeyPath
from airshed.core.errors import CaseError, UnknownMechanismError
from airshed.core.settings import Section, refuse, setting, settings_of
from airshed.core.text import nearest, shown, suggestion
from airshed.grid import Grid
from airshed.io.grid_file import read_grid
from airshed.mechanism import inspect_mechanism, load_mechanism
from airshed.mechanism.load import check_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air import processes
from airshed.models.air.case import sections
from airshed.models.air.case.grid import GridSection
from airshed.models.air.case.inverse import AssimilationSection, ReceptorSection
from airshed.models.air.case.sections import TimeSection
from airshed.process.discovery import processes_of, sections_of
from airshed.program.integrators import integrator, with_updates
from airshed.program.placement import on_groups
from airshed.program.stage import Program


class _FixedCase(RunCase):
    """Settings of a run of the air-quality model: sections with the names of the case file, validated and immutable.

    ``load`` and ``from_dict`` make a case; ``patched``, ``rows``, ``to_toml`` and ``make_grid`` use it.

    Examples
    --------
    >>> case = airshed.Case.load("west-europe", time={"length": "6 h"})
    """

    insert_before = "output"
    fixed_settings = (
        *RunCase.fixed_settings, "grid", "time.spinup", "parallel", "initial", "meteorology.kind", "meteorology.files",
        "chemistry.mechanism", "chemistry.species_map", "chemistry.precision", "adjoint", "receptor", "assimilation",
    )  # fmt: skip

    model: Literal["air"] = setting("air", "Model that runs the case; other models have their own case files.")
    grid: GridSection
    time: TimeSection
    chemistry: sections.ChemistrySection
    transport: sections.TransportSection = Field(default_factory=sections.TransportSection)
    meteorology: sections.MeteorologySection = Field(default_factory=sections.MeteorologySection)
    emissions: sections.EmissionsSection = Field(default_factory=sections.EmissionsSection)
    deposition: sections.DepositionSection = Field(default_factory=sections.DepositionSection)
    boundary: sections.BoundarySection = Field(default_factory=sections.BoundarySection)
    initial: sections.InitialSection = Field(default_factory=sections.InitialSection)
    photolysis: sections.PhotolysisSection = Field(default_factory=sections.PhotolysisSection)
    assimilation: AssimilationSection = Field(default_factory=AssimilationSection)
    process: tuple[ProcessSection, ...] = Field(default_factory=tuple)
    output: tuple[sections.OutputSection, ...] = Field(default_factory=lambda: (sections.OutputSection(),))
    parallel: sections.ParallelSection = Field(default_factory=sections.ParallelSection)
    adjoint: sections.AdjointSection = Field(default_factory=sections.AdjointSection)
    receptor: ReceptorSection = Field(default_factory=ReceptorSection)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.transport.vertical == "with chemistry" and self.chemistry.integrator == "imex":
            raise refuse(
                'transport.vertical = "with chemistry" needs a splitting, such as chemistry.integrator = "strang"; '
                '"imex" has a single step'
            )
        layers = len(self.grid.layers)
        window = self.assimilation.window
        if window != "auto" and window.value > self.time.length.value:
            raise refuse(f"assimilation.window = {window.text!r} is longer than time.length")
        for index, output in enumerate(self.output):
            if isinstance(output.levels, tuple) and any(not 0 <= level < layers for level in output.levels):
                raise refuse(
                    f"output.{index}.levels = {list(output.levels)}: the layers are numbered 0 to {layers - 1}"
                )
        if self.grid.file is None and (fault := self._outside()):
            raise refuse(fault)
        return self

    def _outside(self) -> str:
        """Return which emission lies outside the grid, in words; "" where none does."""
        grid = self.make_grid()
        for index, point in enumerate(self.emissions.point):
            if not grid.contains(point.lon, point.lat):
                return f"emissions.point.{index} at {point.lon:g} E, {point.lat:g} N lies outside grid.area"
        for index, box in enumerate(self.emissions.area):
            if not grid.meets(box.lon, box.lat):
                return f"emissions.area.{index} lies outside grid.area"
        return ""

    def _due(self) -> Due:
        every = self.meteorology.every
        return [*super()._due(), *([] if every == "auto" else [("meteorology.every", every)])]

    def tables_by_species(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Return the tables by species of all sections: the section, the name of the setting, and its value."""
        return [(section, name, getattr(getattr(self, section), name)) for section, name in _tables_by_species()]

    @classmethod
    def _place_files(cls, data: dict[str, Any], changed: Sequence[KeyPath], base: Path) -> None:
        if ("chemistry", "mechanism") in changed:
            place_mechanism(data["chemistry"], base)

    def _check_names(self) -> None:
        if self.grid.file is not None and (fault := self._outside()):
            raise CaseError(fault)
        try:
            check_mechanism(self.mechanism)
        except UnknownMechanismError as error:
            raise UnknownMechanismError(f"chemistry.mechanism: {error}") from None
        for key, name, known in (
            ("chemistry.species_map", self.chemistry.species_map, ("auto", *_shipped("species"))),
            ("boundary.profiles", self.boundary.profiles, ("zero", *_shipped("boundary"))),
        ):
            if not Path(name).suffix and len(Path(name).parts) == 1 and name not in known:
                raise CaseError(f"{key} = {shown(name)}: no shipped file has that name; {suggestion(name, known)}")

    @property
    def moves_planes(self) -> bool:
        """True if horizontal transport is split from vertical transport and treats each level separately."""
        return self.transport.vertical == "with chemistry"

    def program(self, network: ReactionNetwork, *, updates: bool = False) -> Program:
        """Return the stages of a step and their placements; without reactions there is no stage of chemistry.

        updates  whether processes of the case have updates
        """
        program = integrator(self.chemistry.integrator, split_columns=self.moves_planes, reacts=bool(network.reactions))
        program = with_updates(program) if updates else program
        return on_groups(program) if self.has_groups else program

    @property
    def has_groups(self) -> bool:
        """True if the stages of a step run on two groups of ranks.

        Raises CaseError for an integrator with a single stage.
        """
        groups = self.parallel.groups
        wanted = (groups.transport, groups.chemistry) != (0, 0)
        if wanted and self.chemistry.integrator == "imex":
            raise CaseError(
                'parallel.groups needs a splitting, such as chemistry.integrator = "strang": "imex" has one stage'
            )
        if wanted and self.boundary.budget == "faces":
            raise CaseError('boundary.budget = "faces" does not work with groups of ranks: remove parallel.groups')
        return wanted

    def device_of(self, group: Literal["transport", "chemistry"]) -> str:
        """Return the setting of the device of a group of ranks; without groups all stages run on `run.device`."""
        groups = self.parallel.groups
        own = groups.transport_device if group == "transport" else groups.chemistry_device
        return own or self.run.device

    def without_groups(self) -> Self:
        """Return the case without groups of ranks; its results are bitwise identical on the same device."""
        alike = self.parallel.model_copy(update={"groups": sections.GroupsSection()})
        return self.model_copy(update={"parallel": alike})

    @property
    def mechanism(self) -> str:
        """Name of a shipped mechanism, or path of the reaction file if that exists or the setting is a path."""
        name = self.chemistry.mechanism
        file = self.path(name)
        return str(file) if file.is_file() or file.suffix or len(Path(name).parts) > 1 else name

    def network(self, *, looked_at: bool = False) -> ReactionNetwork:
        """Return the mechanism; with ``looked_at``, for display only, without running its code.

        Raises MechanismError.
        """
        try:
            if looked_at:
                return inspect_mechanism(self.mechanism)
            return load_mechanism(self.mechanism, allow_code=self.allow_code)
        except UnknownMechanismError as error:
            raise UnknownMechanismError(f"chemistry.mechanism: {error}") from None

    def make_grid(self) -> Grid:
        """Return the grid of the case.

        Returns
        -------
        Grid
            Coordinates, areas and layers of the cells.

        Raises
        ------
        CaseError, DataError
            For an impossible projection, and for a file without a regular grid.

        Examples
        --------
        >>> case.make_grid().shape
        (18, 40, 40)
        """
        layers = (0.0, *(top.value for top in self.grid.layers))
        file = self.grid.file
        mapping, x, y = self.grid.mapped() if file is None else read_grid(self.path(file), self.grid.margin)
        return Grid.mapped(mapping, x, y, layers)


if TYPE_CHECKING:

    class Case(_FixedCase):
        """A case with the sections that processes declare."""

        def __getattr__(self, section: str) -> Section: ...

else:
    Case = create_model(
        "Case", __base__=_FixedCase, __module__=__name__, __doc__=_FixedCase.__doc__,
        **sections_of(each for each in processes_of(processes) if each.section not in _FixedCase.model_fields),
    )  # fmt: skip


def place_mechanism(chemistry: dict[str, Any], base: Path) -> None:
    """Make a reaction file of `--set` relative to the case; search the working directory, then the case's folder.

    Raises CaseError if it is in neither.
    """
    name = chemistry["mechanism"]
    if not isinstance(name, str) or not (Path(name).suffix or len(Path(name).parts) > 1):
        return
    here = Path.cwd()
    if _exists(here / name):
        chemistry["mechanism"] = relpath((here / name).resolve(), base)
    elif not _exists(base / name):
        beside = [path.name for folder in (here, base) for path in (folder / name).parent.glob("*")]
        match = nearest(Path(name).name, beside)
        raise CaseError(
            f"--set chemistry.mechanism={name}: there is no such file in the working directory {here}, nor in the "
            f"folder of the case, {base}" + (f"; did you mean {match}?" if match else "")
        )


@cache
def _tables_by_species() -> list[list[str]]:
    return [each.key.split(".") for each in settings_of(Case) if each.keys == "species"]


@cache
def _shipped(what: str) -> tuple[str, ...]:
    """Return the names of the shipped files in a folder of data."""
    with as_file(files("airshed.models.air") / "data" / what) as folder:
        return tuple(sorted(path.stem for path in folder.iterdir() if path.suffix in (".toml", ".csv")))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file system accepts
        return False

"""The case: what to simulate, read from a file or a dictionary, checked, immutable."""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError, create_model, model_validator

from airshed.air import processes
from airshed.air.case import sections
from airshed.air.case.messages import dotted, explain, faults_in_words
from airshed.air.case.places import case_file, locator, place_mechanism
from airshed.air.case.toml import KeyPath, flatten, key_lines, override, read_toml, write_toml, write_value
from airshed.air.case.values import MOST_RECORDS
from airshed.core.errors import CaseError
from airshed.core.nearest import suggestion
from airshed.core.settings import Section, refuse, setting
from airshed.core.units import Quantity
from airshed.fields.air import WEATHER
from airshed.grid import Grid
from airshed.process.discovery import processes_of, section_of

MACHINE: Final = ("restart", "parallel", "run")
"""Sections that change no result, and may differ where a run is taken up again."""


WRITING: Final = ("strategy", "compression")
"""Settings of an output that change nothing in what it holds."""


class _FixedCase(Section):
    """Everything that a run of the air-quality model needs to know.

    Attributes are the sections of the case file, for example ``case.time.length.value`` in seconds; `docs/case-file.md`
    lists them. Two cases are equal when their settings are.
    """

    title: str = setting("Airshed case", "What the case is called on pictures and in files.")
    description: str = setting("", "What it is about.")
    grid: sections.GridSection
    time: sections.TimeSection
    chemistry: sections.ChemistrySection
    transport: sections.TransportSection = Field(default_factory=sections.TransportSection)
    meteorology: sections.MeteorologySection = Field(default_factory=sections.MeteorologySection)
    emissions: sections.EmissionsSection = Field(default_factory=sections.EmissionsSection)
    deposition: sections.DepositionSection = Field(default_factory=sections.DepositionSection)
    boundary: sections.BoundarySection = Field(default_factory=sections.BoundarySection)
    initial: sections.InitialSection = Field(default_factory=sections.InitialSection)
    photolysis: sections.PhotolysisSection = Field(default_factory=sections.PhotolysisSection)
    process: tuple[sections.ProcessSection, ...] = Field(default_factory=tuple)
    output: tuple[sections.OutputSection, ...] = Field(default_factory=lambda: (sections.OutputSection(),))
    restart: sections.RestartSection = Field(default_factory=sections.RestartSection)
    parallel: sections.ParallelSection = Field(default_factory=sections.ParallelSection)
    run: sections.RunSection = Field(default_factory=sections.RunSection)

    _name: str = PrivateAttr(default="case")
    _base: Path = PrivateAttr(default_factory=Path.cwd)
    _file: Path | None = PrivateAttr(default=None)
    _provenance: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _allow_code: bool = PrivateAttr(default=False)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a case from a TOML file, or from the ``case.toml`` of a folder, and apply ``key=value`` overrides.

        A name without a folder, such as "west-europe", that is not there is looked up among the shipped cases.
        Raises CaseError with file, line and key for everything that is wrong with it.
        """
        file = case_file(Path(path))
        data, text = read_toml(file)
        return cls._build(data, file.parent, overrides, file, key_lines(text))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], base: str | Path | None = None, overrides: Sequence[str] = ()) -> Self:
        """Build a case from nested dictionaries with the keys of a case file.

        Paths in it are relative to ``base``, by default the working folder. Raises CaseError.
        """
        return cls._build(
            copy.deepcopy(dict(data)), Path(base) if base is not None else Path.cwd(), overrides, None, {}
        )

    @classmethod
    def _build(
        cls, data: dict[str, Any], base: Path, overrides: Sequence[str], file: Path | None, lines: Mapping[KeyPath, int]
    ) -> Self:
        changed = [override(data, assignment) for assignment in overrides]
        if ("chemistry", "mechanism") in changed:
            place_mechanism(data["chemistry"], base.resolve())
        locate = locator(data, changed, file, lines)
        try:
            case = cls.model_validate(data)
        except ValidationError as error:
            raise CaseError(explain(error, cls, data, locate, file)) from error
        case._base, case._file = base.resolve(), file
        if file is not None:
            case._name = case._base.name if file.name == "case.toml" else file.stem
        case._provenance = {dotted(key): locate(key) or "default" for key in flatten(case.to_dict())}
        return case

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [output.name for output in self.output]
        if len(set(names)) < len(names):
            raise refuse(
                f'output: two [[output]] have the name {_repeated(names)!r}; give each its own, name = "ground"'
            )
        if self.transport.vertical == "with chemistry" and self.chemistry.integrator != "strang":
            raise refuse(
                'transport.vertical = "with chemistry" needs chemistry.integrator = "strang": "imex" splits nothing'
            )
        self._check_counts()
        layers = len(self.grid.layers)
        for index, output in enumerate(self.output):
            if isinstance(output.levels, tuple) and any(not 0 <= level < layers for level in output.levels):
                raise refuse(
                    f"output.{index}.levels = {list(output.levels)}: the layers are numbered 0 to {layers - 1}"
                )
        (west, east), (south, north) = self.grid.area.lon, self.grid.area.lat
        for index, point in enumerate(self.emissions.point):
            if not (west <= point.lon <= east and south <= point.lat <= north):
                raise refuse(f"emissions.point.{index} at {point.lon:g} E, {point.lat:g} N lies outside grid.area")
        for index, box in enumerate(self.emissions.area):
            if box.lon[1] <= west or box.lon[0] >= east or box.lat[1] <= south or box.lat[0] >= north:
                raise refuse(f"emissions.area.{index} lies outside grid.area")
        return self

    def _check_counts(self) -> None:
        """Refuse what would be due so often that no disk and no patience would do."""
        whole = self.time.length.value + self.time.spinup.value
        every: list[tuple[str, Quantity | str]] = [
            (f"output.{index}.every", output.every) for index, output in enumerate(self.output)
        ]
        every += [("restart.every", self.restart.every), ("meteorology.every", self.meteorology.every)]
        for key, each in every:
            if isinstance(each, Quantity) and whole / each.value > MOST_RECORDS:
                times = f"{whole / each.value:.3g} times in time.length and time.spinup"
                raise refuse(f"{key} = {each.text!r} is due {times}, more than {MOST_RECORDS}; take a longer one")

    def tables_by_species(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Return the tables by species that processes declare: their section, their name and what they hold."""
        return [
            (process.section, name, getattr(getattr(self, process.section), name))
            for process in processes_of(processes)
            for name, each in process.declaration.settings.items()
            if each.by_species
        ]

    @property
    def start(self) -> np.datetime64:
        """The start of the case, UTC."""
        return np.datetime64(self.time.start.replace(tzinfo=None), "s")

    @property
    def moves_planes(self) -> bool:
        """Whether horizontal transport is split from the vertical one, so that each level moves by itself."""
        return self.transport.vertical == "with chemistry"

    @property
    def name(self) -> str:
        """The name of the case's folder or file, after which its run folder is called; "case" without a file."""
        return self._name

    @property
    def base(self) -> Path:
        """The folder that paths in the case are relative to."""
        return self._base

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where each value comes from: "case.toml:12", "given", "--set" or "default", by dotted key."""
        return self._provenance

    @property
    def allow_code(self) -> bool:
        """Whether functions in Python that the mechanism brings may run: the user says so, never the case."""
        return self._allow_code

    def allowing_code(self) -> Self:
        """Return the case, with the permission to run functions in Python that its mechanism brings."""
        allowed = self.model_copy()
        allowed._allow_code = True
        return allowed

    def rows(self) -> list[tuple[str, str, str]]:
        """Return every setting as its dotted key, its value in TOML, and where the value comes from."""
        leaves = flatten(self.to_dict())
        return [(dotted(key), write_value(value), self._provenance[dotted(key)]) for key, value in leaves.items()]

    @cached_property
    def hash(self) -> str:
        """A fingerprint of all settings that bear on results: not of title, description and how the machine does it."""
        settings = {key: value for key, value in self._results().items() if key not in ("title", "description")}
        return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]

    @property
    def mechanism(self) -> str:
        """The mechanism's shipped name, or the path of its file when one lies there or the name is that of a file."""
        name = self.chemistry.mechanism
        file = self.path(name)
        return str(file) if file.is_file() or file.suffix or len(Path(name).parts) > 1 else name

    def path(self, name: str) -> Path:
        """Return a path of the case, which is relative to its folder unless absolute."""
        return self._base / name

    def files(self, patterns: Iterable[str], key: str) -> list[Path]:
        """Return the files that the patterns under ``key`` name, each once, in order; raises CaseError for none."""
        found: dict[Path, None] = {}
        for pattern in patterns:
            absolute = Path(pattern)
            root, relative = (
                (Path(absolute.anchor), str(absolute)[1:]) if absolute.is_absolute() else (self._base, pattern)
            )
            try:
                matches = sorted(path for path in root.glob(relative) if path.is_file())
            except (OSError, ValueError, IndexError, NotImplementedError) as error:  # all of them for what is no name
                raise CaseError(f"{key} = {pattern!r} is no name of a file") from error
            if not matches:
                raise CaseError(f"{key} = {pattern!r}: there is no such file in {root}")
            found |= dict.fromkeys(matches)
        return list(found)

    def make_grid(self) -> Grid:
        """Return the grid of the case."""
        area, spacing = self.grid.area, self.grid.spacing
        layers = [top.value for top in self.grid.layers]
        return Grid.regular(lon=area.lon, lat=area.lat, spacing=(spacing.lon.value, spacing.lat.value), layers=layers)

    def to_toml(self, *, machine: bool = True) -> str:
        """Return the resolved case, all defaults filled in, as the text of a case file.

        ``machine=False`` leaves out what changes no result: equal results then carry equal texts.
        """
        return write_toml(self.to_dict() if machine else self._results())

    def _results(self) -> dict[str, Any]:
        """The settings that bear on results: not how ranks and threads share the work, nor how files are written."""
        settings = {key: value for key, value in self.to_dict().items() if key not in MACHINE}
        outputs = [{key: each[key] for key in each if key not in WRITING} for each in settings["output"]]
        return settings | {"output": outputs}

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Case) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)


if TYPE_CHECKING:

    class Case(_FixedCase):
        """A case with the sections that processes declare."""

        def __getattr__(self, section: str) -> Section: ...

else:
    Case = create_model(
        "Case", __base__=_FixedCase, __module__=__name__, __doc__=_FixedCase.__doc__,
        **{
            process.section: (section, Field(default_factory=section))
            for process in processes_of(processes)
            if process.section not in _FixedCase.model_fields
            for section in [section_of(process)]
        },
    )  # fmt: skip


def check_species(case: Case, species: Iterable[str]) -> None:
    """Refuse a case that names species that the mechanism does not have; raises CaseError with the nearest ones.

    Output may name fields of the weather too.
    """
    known = set(species)
    weather = {spec.name for spec in WEATHER}
    named: list[tuple[str, Iterable[str]]] = [
        (f"output.{index}.fields", [] if output.fields == "all" else [n for n in output.fields if n not in weather])
        for index, output in enumerate(case.output)
    ]
    named += [(f"emissions.point.{i}.species", (point.species,)) for i, point in enumerate(case.emissions.point)]
    named += [(f"emissions.area.{i}.rates", box.rates) for i, box in enumerate(case.emissions.area)]
    named += [
        ("deposition.velocities", case.deposition.velocities),
        *((f"{section}.{name}", table) for section, name, table in case.tables_by_species()),
        ("boundary.scale", case.boundary.scale),
        ("boundary.values", case.boundary.values),
        ("initial.values", case.initial.values),
    ]
    faults = []
    for key, names in named:
        unknown = [name for name in names if name not in known]
        if unknown:
            place = case.provenance.get(key) or case.provenance.get(f"{key}.{unknown[0]}", "")
            faults.append((place, f"{key}: {_unknown_species(unknown, case.chemistry.mechanism, known)}"))
    if faults:
        raise CaseError(faults_in_words(faults, case._file))


def _unknown_species(names: Sequence[str], mechanism: str, known: Iterable[str]) -> str:
    if len(names) == 1:
        return f"{names[0]!r} is not a species of {mechanism}; {suggestion(names[0], known)}"
    listed = ", ".join(map(repr, names))
    advice = "name those that it has, or say under [names] of its species map what they are there, or `none`"
    return f"{listed} are not species of {mechanism}; {advice}"


def _repeated(names: Sequence[str]) -> str:
    return next(name for index, name in enumerate(names) if name in names[:index])

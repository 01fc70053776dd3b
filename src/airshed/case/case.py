"""Base class of the cases of all models: settings that are read from a file or a dictionary, checked and immutable."""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from airshed.case import sections
from airshed.case.display import CaseType, case_facts, case_html, case_text
from airshed.case.locations import case_file, locator
from airshed.case.messages import dotted, explain
from airshed.case.patch import Changes, patch_document, with_sections
from airshed.case.toml import KeyPath, flatten, key_lines, read_toml, write_toml, write_value
from airshed.case.values import MOST_RECORDS
from airshed.core.errors import CaseError
from airshed.core.report import markdown_table
from airshed.core.settings import Section, Setting, refuse, section_inside, setting, settings_of
from airshed.core.text import shown

MACHINE: Final = ("restart", "parallel", "run", "adjoint", "receptor")
"""Sections that change no result; a resumed run may have others."""

WRITING: Final = ("strategy", "compression")
"""Settings of an output that do not change its content."""


class RunCase(Section, metaclass=CaseType):
    """Sections that the cases of all models have; the case of a model adds its own.

    Attributes are the sections of the case file, for example ``case.time.length.value`` in seconds. Two cases are equal
    when their settings are.
    """

    insert_before = "time"
    fixed_settings: ClassVar[tuple[str, ...]] = (
        "title", "description", "model", "time.start", "time.length", "output", "restart", "run",
    )  # fmt: skip
    """Settings that cannot change while a model runs: the layout of the state, its time, or output depends on them."""

    label: ClassVar[str] = "the case"
    """Name of the document in messages."""

    title: str = setting("Airshed case", "Title of pictures and files.")
    description: str = setting("", "Description of the case.")
    model: str = setting(..., "The model that runs the case.")
    time: sections.TimeSection
    output: tuple[sections.OutputSection, ...] = Field(default_factory=lambda: (sections.OutputSection(),))
    restart: sections.RestartSection = Field(default_factory=sections.RestartSection)
    run: sections.RunSection = Field(default_factory=sections.RunSection)

    _name: str = PrivateAttr(default="case")
    _base: Path = PrivateAttr(default_factory=Path.cwd)
    _file: Path | None = PrivateAttr(default=None)
    _provenance: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _allow_code: bool = PrivateAttr(default=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Give the class a readable signature."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.__signature__ = Signature([Parameter("sections", Parameter.VAR_KEYWORD)])

    @classmethod
    def load(cls, path: str | Path, overrides: Changes = (), **sections: Any) -> Self:
        """Read a case from a file, and change some of its settings.

        Parameters
        ----------
        path
            A TOML file, a folder with a ``case.toml``, or the name of a shipped case such as ``"west-europe"``.
        overrides
            Changes by dotted keys: ``{"time.length": "6 h"}``, or texts as on the command line.
        **sections
            Changes by sections: ``time={"length": "6 h"}``. Settings that they do not name stay as in the file.

        Returns
        -------
        Case
            The case, which is immutable.

        Raises
        ------
        CaseError
            If a setting is wrong; the message names the file, the line and the key.

        Examples
        --------
        >>> case = airshed.Case.load("west-europe", time={"length": "6 h"})
        """
        file = case_file(Path(path))
        data, text = read_toml(file)
        return cls._build(data, file.parent, with_sections(overrides, sections), file, key_lines(text))

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], base: str | Path | None = None, overrides: Changes = (), *,
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """Build a case from nested dictionaries with the keys of a case file.

        Parameters
        ----------
        data
            Sections and settings: ``{"time": {"length": "6 h", ...}, ...}``.
        base
            Folder that paths in the case are relative to, by default the working folder.
        overrides
            Changes by dotted keys.
        name
            Name of the case, after which its run folder is called.

        Returns
        -------
        Case
            The case, which is immutable.

        Raises
        ------
        CaseError
            If a setting is wrong.

        Examples
        --------
        >>> case = airshed.Case.from_dict(settings, base="cases/west-europe")
        """
        if not isinstance(data, Mapping):
            raise CaseError(f"the case is {shown(data)}; give nested dictionaries, or a path to {cls.__name__}.load")
        case = cls._build(
            copy.deepcopy(dict(data)), Path(base) if base is not None else Path.cwd(), overrides, None, {}
        )
        case._name = name or case._name
        return case

    @classmethod
    def _build(
        cls, data: dict[str, Any], base: Path, overrides: Changes, file: Path | None, lines: Mapping[KeyPath, int]
    ) -> Self:
        changed = patch_document(data, overrides)
        cls._place_files(data, changed, base.resolve())
        by = "given" if isinstance(overrides, Mapping) else "--set"
        locate = locator(data, changed, file, lines, by)
        try:
            case = cls.model_validate(data)
        except ValidationError as error:
            raise CaseError(explain(error, cls, data, locate, file, cls.label)) from error
        case._base, case._file = base.resolve(), file
        if file is not None:
            case._name = case._base.name if file.name == "case.toml" else file.stem
        case._check_names()
        case._provenance = {dotted(key): locate(key) or "default" for key in flatten(case.to_dict())}
        return case

    def _check_names(self) -> None:
        """Raise AirshedError for an unknown name, such as that of a mechanism. Files are checked when a run starts."""

    @classmethod
    def _place_files(cls, data: dict[str, Any], changed: Sequence[KeyPath], base: Path) -> None:
        """Make the paths of files that `--set` names relative to the folder of the case; a model may override this."""

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        names = [output.name for output in self.output]
        for repeated in (name for index, name in enumerate(names) if name in names[:index]):
            raise refuse(f'output: two [[output]] have the name {repeated!r}; give each its own, name = "ground"')
        for key, every in self._due():
            if self.time.whole / every.value > MOST_RECORDS:
                times = f"{self.time.whole / every.value:.3g} times in {self.time.parts}"
                raise refuse(f"{key} = {every.text!r} is due {times}, more than {MOST_RECORDS}; take a longer one")
        return self

    def _due(self) -> sections.Due:
        """Return the settings of recurring events, whose number in a run is limited."""
        outputs = [(f"output.{index}.every", output.every) for index, output in enumerate(self.output)]
        return [*outputs, ("restart.every", self.restart.every)]

    @property
    def start(self) -> np.datetime64:
        """Start of the case, UTC."""
        return np.datetime64(self.time.start.replace(tzinfo=None), "s")

    @property
    def name(self) -> str:
        """Name of the folder or file of the case, which is that of its run folder; "case" without a file."""
        return self._name

    @property
    def file(self) -> Path | None:
        """The file of the case; None for a case from a dictionary."""
        return self._file

    @property
    def base(self) -> Path:
        """Folder to which the paths in the case are relative."""
        return self._base

    @property
    def provenance(self) -> Mapping[str, str]:
        """Origin of each value by dotted key: "case.toml:12", "given", "--set" or "default"."""
        return self._provenance

    @property
    def allow_code(self) -> bool:
        """Permission of the user, never of the case, to run Python functions of the mechanism."""
        return self._allow_code

    def allowing_code(self) -> Self:
        """Return the case with the permission to run Python functions of its mechanism."""
        allowed = self.model_copy()
        allowed._allow_code = True
        return allowed

    def patched(self, patch: Mapping[str, Any]) -> Self:
        """Return a copy of the case with some settings changed.

        Parameters
        ----------
        patch
            New values by dotted keys.

        Returns
        -------
        Case
            The changed case; this one is unchanged.

        Raises
        ------
        CaseError
            If a setting is wrong.

        Examples
        --------
        >>> case.patched({"emissions.scale.NOx": 0.5, "time.step": "120 s"})
        """
        case = type(self).from_dict(self.to_dict(), self._base, copy.deepcopy(dict(patch)), name=self._name)
        return case.allowing_code() if self._allow_code else case

    def with_section(self, name: str, section: Section) -> Self:
        """Return a copy of the case with another section, whose changed settings have the origin "given"."""
        before, after = self.to_dict()[name], section.to_dict()
        changed = self.model_copy(update={name: section})
        given = {f"{name}.{key}": "given" for key, value in after.items() if value != before.get(key)}
        changed._provenance = {**self._provenance, **given}
        return changed

    @classmethod
    def is_fixed(cls, path: str) -> bool:
        """Return whether a setting cannot change while a model runs."""
        return any(path == each or path.startswith(f"{each}.") for each in cls.fixed_settings)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the settings as rows: the dotted key, the value in TOML, and the origin of the value.

        Returns
        -------
        list of tuples
            One row for each setting, defaults included.

        Examples
        --------
        >>> [row for row in case.rows() if row[2] != "default"]
        """
        leaves = flatten(self.to_dict())
        return [(dotted(key), write_value(value), self._provenance[dotted(key)]) for key, value in leaves.items()]

    @cached_property
    def hash(self) -> str:
        """Fingerprint of the settings that affect results; title, description, threads and ranks do not."""
        settings = {key: value for key, value in self._results().items() if key not in ("title", "description")}
        return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def path(self, name: str) -> Path:
        """Return the absolute path of a file of the case."""
        return self._base / name

    def files(self, patterns: Iterable[str], key: str) -> list[Path]:
        """Return the files that match the patterns of the setting ``key``, in order and without repetition.

        Raises CaseError for a pattern without a match.
        """
        found: dict[Path, None] = {}
        for pattern in patterns:
            absolute = Path(pattern)
            root, relative = (
                (Path(absolute.anchor), str(absolute)[1:]) if absolute.is_absolute() else (self._base, pattern)
            )
            try:
                matches = sorted(path for path in root.glob(relative) if path.is_file())
            except (OSError, ValueError, IndexError, NotImplementedError) as error:  # all for invalid patterns
                raise CaseError(f"{key} = {pattern!r} is not a valid file name") from error
            if not matches:
                raise CaseError(f"{key} = {pattern!r}: there is no such file in {root}")
            found |= dict.fromkeys(matches)
        return list(found)

    def to_toml(self, *, machine: bool = True) -> str:
        """Return the text of a case file with all settings, defaults included.

        Parameters
        ----------
        machine
            Whether to include settings that change no result, such as the number of threads.

        Returns
        -------
        str
            The text in TOML.

        Examples
        --------
        >>> Path("case.toml").write_text(case.to_toml())
        """
        return write_toml(self.to_dict() if machine else self._results())

    def _results(self) -> dict[str, Any]:
        """Return the settings that affect results, without those of ranks, threads and the writing of files."""
        settings = {key: value for key, value in self.to_dict().items() if key not in MACHINE}
        outputs = [{key: each[key] for key in each if key not in WRITING} for each in settings["output"]]
        return settings | {"output": outputs}

    def __repr__(self) -> str:
        return case_text(self.title, case_facts(self), self.rows())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the case for notebooks."""
        return case_html(self.title, case_facts(self), self.rows())

    def __dir__(self) -> list[str]:
        return sorted([*type(self).model_fields, *dir(type(self))])

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, RunCase) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)


# Documentation of the sections of a case in Markdown, from the settings registry.


def sections_document(case: type[RunCase], introduction: str) -> str:
    """Return the page of a case file: an introduction, and a table of settings for each section."""
    parts = [introduction, "## At the top\n"]
    parts.append(_table([setting for setting in settings_of(case) if "." not in setting.key]))
    for name, field in case.model_fields.items():
        section, many = section_inside(field.annotation)
        if section is not None:
            parts += [f"## {'[[' if many else '['}{name}{']]' if many else ']'}\n", _section(section, many)]
    return "\n".join(parts)


def _section(section: type[Section], many: bool) -> str:
    text = cleandoc(section.__doc__ or "")  # Python 3.13 strips the indentation itself
    repeated = " May be repeated." if many else ""
    return f"{text}{repeated}\n\n{_table(list(settings_of(section)))}"


def _table(settings: list[Setting]) -> str:
    rows = []
    for each in settings:
        default = "" if each.default in (None, "", {}, []) else f"`{write_value(each.default)}`"
        default = "**required**" if each.required else default
        rows.append((f"`{each.key}`", each.kind, each.unit, each.range, default, each.text))
    return markdown_table(("Key", "Value", "Unit", "Range", "Default", "Meaning"), rows) + "\n"

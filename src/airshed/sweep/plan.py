"""Plan of a sweep: its members with their settings, the coordinates of its dataset, and the table of members."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.case.case import RunCase
from airshed.core.atomic import write_whole
from airshed.core.errors import OutputError
from airshed.core.settings import Setting, settings_of
from airshed.core.units import Quantity
from airshed.core.version import __version__
from airshed.io.run_state import MEMBER, SWEEP_PLAN
from airshed.runtime.registry import load_case
from airshed.sweep.dimensions import Dimension, check_dimensions, variable_name

if TYPE_CHECKING:
    import xarray as xr

TABLE: Final = "members.csv"

_WRITTEN: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(.*?)\s*")

_UNIT_IN_TEXT: Final = re.compile(r"\[([^\[\]]+)\]\.?$")


@dataclass(frozen=True)
class Member:
    """Single run of a sweep.

    number  counted from 0; its run folder is members/NNNN
    index   position along each dimension
    varied  its values of all varied settings, in the form of `--set`
    """

    number: int
    index: tuple[int, ...]
    varied: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of its run folder."""
        return f"{self.number:04d}"

    @property
    def text(self) -> str:
        """Number and settings of the member, for messages."""
        return f"member {self.name} ({', '.join(self.varied)})"


@dataclass(frozen=True)
class Plan:
    """Case, common settings and dimensions of a sweep; its members are all combinations.

    source  further facts for the attributes of the dataset, such as the seed and the table of uncertainties
    """

    case: str
    settings: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    allow_code: bool = False

    def __post_init__(self) -> None:
        check_dimensions(self.dimensions, self.settings)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of points of each dimension."""
        return tuple(len(dimension.points) for dimension in self.dimensions)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """All members; the last dimension varies fastest."""
        made = []
        for number, index in enumerate(product(*(range(size) for size in self.shape))):
            pairs = zip(self.dimensions, index, strict=True)
            varied = tuple(each for dimension, at in pairs for each in dimension.overrides(at))
            made.append(Member(number, index, varied))
        return tuple(made)

    @cached_property
    def cases(self) -> tuple[RunCase, ...]:
        """The checked case of each member; raises CaseError, with the message of `--set`, for a key or value."""
        cases = (load_case(self.case, [*self.settings, *member.varied]) for member in self.members)
        return tuple(case.allowing_code() if self.allow_code else case for case in cases)

    def coordinates(self) -> "xr.Dataset":
        """Return a dataset without variables that has the varied settings as coordinates."""
        import xarray as xr

        coords: dict[str, Any] = {}
        for axis, dimension in enumerate(self.dimensions):
            # The case of the member at each index of this dimension, and at index 0 of all others.
            step = int(np.prod(self.shape[axis + 1 :], dtype=int))
            cases = [self.cases[at * step] for at in range(len(dimension.points))]
            for column, key in enumerate(dimension.keys):
                texts = [point[column] for point in dimension.points]
                values, units = coordinate_values([value_of(case, key) for case in cases], texts)
                documented = _documented(cases[0], key)
                if documented is not None and units == "1":  # of the setting, or in brackets at the end of its text
                    in_text = _UNIT_IN_TEXT.search(documented.text)
                    units = in_text[1] if in_text and documented.unit in ("", "1") else documented.unit or "1"
                text = "" if documented is None else documented.text
                attributes = {"long_name": text, "units": units, "setting": key}
                present = {name: value for name, value in attributes.items() if value}
                coords[variable_name(key)] = (dimension.name, values, present)
            if dimension.name == MEMBER:
                numbers = np.arange(len(dimension.points))
                coords[MEMBER] = (MEMBER, numbers, {"standard_name": "realization", "units": "1"})
        return xr.Dataset(coords=coords)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of sweep.json."""
        dimensions = [{"name": each.name, "keys": each.keys, "points": each.points} for each in self.dimensions]
        content = {"airshed": __version__, "case": self.case, "settings": self.settings, "dimensions": dimensions}
        made: dict[str, Any] = json.loads(json.dumps(content | dict(self.source)))
        return made

    def write(self, folder: Path) -> None:
        """Write sweep.json, and the table of members."""
        with write_whole(folder / SWEEP_PLAN) as part:
            part.write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    def write_table(self, folder: Path, states: Mapping[int, tuple[str, str]]) -> None:
        """Write members.csv: number, settings, state and message of each member."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["member", *(key for each in self.dimensions for key in each.keys), "state", "message"])
        for member in self.members:
            values = [
                value for each, at in zip(self.dimensions, member.index, strict=True) for value in each.points[at]
            ]
            rows.writerow([member.name, *values, *states.get(member.number, ("waiting", ""))])
        with write_whole(folder / TABLE) as part:
            part.write_text(text.getvalue(), encoding="utf-8")


def check_same(folder: Path, plan: Plan) -> bool:
    """Return whether a folder holds this sweep; raises OutputError if it holds another one."""
    try:
        earlier = json.loads((folder / SWEEP_PLAN).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise OutputError(f"{folder / SWEEP_PLAN} cannot be read ({error}); give --force to start again") from error
    now = plan.to_dict()
    for key in now.keys() | (earlier.keys() if isinstance(earlier, dict) else ()):
        if key != "case" and (not isinstance(earlier, dict) or earlier.get(key) != now.get(key)):
            raise OutputError(
                f"{folder} holds a sweep with other {key}; repeat its command with --resume, choose another folder, or "
                "give --force to replace it"
            )
    return True


def value_of(case: RunCase, key: str) -> Any:
    """Return the value of a setting in a case, None if the case has no value of that key."""
    node: Any = case
    for part in key.split("."):
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, tuple | list):
            node = node[int(part)] if part.isdecimal() and int(part) < len(node) else None
        else:
            node = getattr(node, part, None)
    return node


def coordinate_values(values: Sequence[Any], texts: Sequence[str]) -> tuple[np.ndarray[Any, Any], str]:
    """Return the values of a setting as an array, and their unit; values of other types become text.

    Quantities keep their unit if all are written in one unit; otherwise they are in SI units.
    """
    if all(isinstance(value, Quantity) for value in values):
        written = [_WRITTEN.fullmatch(value.text) for value in values]
        units = {match[2] for match in written if match}
        if all(written) and len(units) == 1:
            return np.array([float(match[1]) for match in written if match]), units.pop() or "1"
        if len({value.unit for value in values}) == 1:
            return np.array([value.value for value in values]), values[0].unit
    elif all(isinstance(value, bool) for value in values):
        return np.array(values), ""
    elif all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values), "1"
    elif all(isinstance(value, datetime) for value in values):
        return np.array([value.replace(tzinfo=None) for value in values], "datetime64[ns]"), ""
    return np.array([text.strip("\"'") for text in texts], dtype=object), ""


def _documented(case: RunCase, key: str) -> Setting | None:
    """Return the documentation of a setting, or of the table that contains it."""
    pattern = re.sub(r"\.\d+\.", ".N.", key)
    settings = {each.key: each for each in settings_of(type(case))}
    while pattern and pattern not in settings:
        pattern = pattern.rpartition(".")[0]
    return settings.get(pattern)

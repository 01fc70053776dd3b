"""The registry of models: those of Airshed, of other packages, and of tests.

Another package registers a model by an entry point with the name that `model = "..."` of a case refers to:

    [project.entry-points."airshed.models"]
    pasture = "my_pasture.model:KIND"
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airshed.core.errors import CaseError
from airshed.core.report import Report, Table

if TYPE_CHECKING:
    import xarray as xr

    from airshed.case.case import RunCase
    from airshed.case.patch import Changes
    from airshed.case.sections import OutputSection
    from airshed.parallel.communicator import Communicator
    from airshed.runtime.model import Model

GROUP: Final = "airshed.models"


@dataclass(frozen=True)
class BuiltModel:
    """Model that is ready to run.

    notices  messages about the case: settings without effect, or with a harmful effect
    outputs  outputs with the names of the model, if they differ from those of the case
    """

    model: "Model"
    notices: Sequence[str] = ()
    outputs: "Sequence[OutputSection] | None" = None


@dataclass(frozen=True)
class Lever:
    """Setting that a scenario changes, in plain words.

    text    subject of the change, as in the name "Stocking rate +50 %"; {} is replaced by the words of a key
    keys    kind and words of the keys of a table: {"DE": ("country", "Germany")}
    hint    meaning of the change, in one sentence
    """

    text: str
    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    hint: str = ""


@dataclass(frozen=True)
class ModelInfo:
    """Processes of a model, groups of its fields, and keys of its tables of settings.

    processes  sections of the active processes, in their order
    groups     groups of fields: for a settable number the section of its process, else "species" or "weather"
    keys       possible keys of tables of settings, by setting: {"emissions.scale": ("NOx", ...)}
    shown      fields to display first, the most important one before the others
    air        field of the amount of air [mol/m3], which converts mixing ratios to masses; empty without one
    levers     settings that scenarios change, by their paths
    """

    processes: Sequence[str] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown: Sequence[str] = ()
    air: str = ""
    levers: Mapping[str, Lever] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelKind:
    """Kind of model: the class of its cases, and the functions of its models.

    case         class of the cases
    build        (case, ranks, check, *given, **given) -> BuiltModel; it calls `check` with the ranks of the
                 domain before costly work. `given` are further arguments of `Simulation`
    check_ranks  raises CaseError for a number of ranks that cannot run a case, before they are started
    helps        whether a rank has no part of the domain, and serves the other ranks by `help` until they end
    release      returns the patch of a case that adds a source from a time on
    budget       returns the budget of a model: sources, sinks and the change of the content
    info         returns the processes, groups and keys of a model
    cells        returns the number of cells of a case, before the model is built
    evidence     files that the model writes into the run folder when a run fails
    describe     returns the tables of `airshed show` in addition to the settings of a case
    placements   returns the times of a step on each device, from trial steps; None for models without devices
    gradients    module of the gradients, with `sensitivity` and `write_sensitivity`; empty without gradients
    """

    case: "type[RunCase]"
    build: Callable[..., BuiltModel]
    check_ranks: Callable[[Any, int], None] = lambda case, ranks: None
    helps: "Callable[[Any, Communicator], bool]" = lambda case, ranks: False
    help: "Callable[[Any, Communicator], None]" = lambda case, ranks: None
    release: "Callable[..., dict[str, Any]] | None" = None
    budget: "Callable[[Any], xr.Dataset] | None" = None
    info: Callable[[Any], ModelInfo] = lambda model: ModelInfo()
    cells: Callable[[Any], int] = lambda case: 0
    evidence: Sequence[str] = field(default=())
    describe: Callable[[Any], Report] = lambda case: Report(case.title)
    placements: Callable[[Any], Report] | None = None
    gradients: str = ""


_MODELS: dict[str, ModelKind | str] = {}
_DEFAULT: list[str] = []


def register(name: str, kind: ModelKind | str, *, default: bool = False) -> None:
    """Register a model under the name that cases use.

    kind     kind of the model, or its location "package.module:NAME", which is imported with the first case of it
    default  whether the model runs cases without a model
    """
    _MODELS[name] = kind
    if default:
        _DEFAULT[:] = [name]


def model_kind(name: str | None = None) -> ModelKind:
    """Return the kind of a model by its name, or the default kind; raises CaseError for an unknown name."""
    from importlib.metadata import entry_points  # a slow import

    from airshed.core.text import suggestion

    chosen = _DEFAULT[0] if name is None else name
    found = _MODELS.get(chosen)
    if found is None:
        brought = {entry.name: entry for entry in entry_points(group=GROUP)}
        if chosen not in brought:
            raise CaseError(f"model = {chosen!r}: there is no such model; {suggestion(chosen, [*_MODELS, *brought])}")
        found = brought[chosen].value
    if isinstance(found, str):
        module, _, attribute = found.partition(":")
        found = _MODELS[chosen] = getattr(import_module(module), attribute)
    assert isinstance(found, ModelKind), f"{chosen} is no ModelKind"
    return found


def gradients_of(name: str) -> Any:
    """Return the module of the gradients of a model; raises CaseError for a model without them."""
    module = model_kind(name).gradients
    if not module:
        raise CaseError(f"the model {name} has no gradients, as air and pasture have")
    return import_module(module)


def case_report(case: "RunCase", *, defaults: bool = True) -> Report:
    """Return the settings of a case with the origin of each, and the description by its model.

    defaults  whether settings with their default value are included
    """
    model, rows = model_kind(case.model).describe(case), case.rows()
    chosen = [row for row in rows if defaults or row[2] != "default"]
    note = f"{len(rows) - len(chosen)} more settings have their default" if len(chosen) < len(rows) else ""
    settings = Table("Settings", ("setting", "value", "from"), chosen, note)
    return Report(case.title, [settings, *model.tables], model.facts)


def placement_report(case: "RunCase") -> Report:
    """Return the times of a step on each device, from trial steps; raises CaseError for a model without devices."""
    report = model_kind(case.model).placements
    if report is None:
        raise CaseError(f"the model {case.model} runs on the CPU only, unlike air")
    return report(case)


def load_case(path: str | Path, overrides: "Changes" = (), **sections: Any) -> "RunCase":
    """Read a case of any model from a file, and change some of its settings.

    Parameters
    ----------
    path
        A TOML file, a folder with a ``case.toml``, or the name of a shipped case such as ``"queensland"``.
    overrides
        Changes by dotted keys: ``{"time.length": "6 h"}``, or texts as on the command line.
    **sections
        Changes by sections: ``time={"length": "6 h"}``. Settings that they do not name stay as in the file.

    Returns
    -------
    Case
        The case, of the class of its model.

    Raises
    ------
    CaseError
        If a setting is wrong; the message names the file, the line and the key.

    Examples
    --------
    >>> case = airshed.load_case("queensland", time={"length": "30 day"})
    """
    from airshed.case.locations import case_file
    from airshed.case.patch import patch_document, with_sections
    from airshed.case.toml import read_toml

    data, _ = read_toml(case_file(Path(path)))
    changes = with_sections(overrides, sections)
    patch_document(data, changes)
    name = data.get("model")
    if name is not None and not isinstance(name, str):
        raise CaseError(f"{path}: model = {name!r} must be the name of a model in quotes")
    return model_kind(name).case.load(path, changes)

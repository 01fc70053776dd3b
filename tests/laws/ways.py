"""Ways of running a case, which all give the same bits, and digests of all outputs of a run."""

import copy
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.laws.faults import Fault
from tests.laws.pairwise import Row
from tests.laws.server import served

import airshed
from airshed.grid.box import Box
from airshed.inverse.verify.recording import observing
from airshed.io.folder import RESTARTS
from airshed.io.restart import Restart
from airshed.io.strategies.states import find_states, open_state
from airshed.parallel.communicator import Communicator
from airshed.runtime import registry
from airshed.runtime.simulation import Simulation

FACTORS = {
    "model": ("imex", "strang", "means", "pasture", "row"),
    "ranks": ("1", "2: [2, 1]", "3: [1, 3]", "4: [2, 2]"),
    "observer": ("none", "fields", "records", "server"),
    "threads": ("1", "2"),
    "batch": ("1", "3", "64"),
    "restart": ("none", "same ranks", "other ranks"),
    "strategy": ("gather", "files", "mpiio", "zarr"),
    "writing": ("sync", "async"),
}
SERVED = ("server", "steering")
"""Observers that are clients of a session; by "steering" one changes the run."""

DECIDING = ("model", "ranks", "observer")
"""Factors that rule out levels of others, see `normal`."""

PLAIN = {name: levels[0] for name, levels in FACTORS.items()}
"""The row of which each other one must have the bits."""

INTEGRATORS = ("imex", "strang")
SCHEMES = {
    "split columns": ["transport.vertical=with chemistry"],
    "concurrent": ["transport.vertical=with chemistry", "chemistry.integrator=concurrent"],
}
"""Further settings of Strang splitting, by which groups of ranks can share out the work."""

MEANS = "means"
"""The model "imex" with means over time in its output, at times within steps, for which it makes single steps."""

UPDATES = "updates"
"""The model "strang" with the updates of `exposure.py`: a field of its own, and species that change."""

AIR = (*INTEGRATORS, MEANS, *SCHEMES, UPDATES)
COLUMNS = 20
"""Columns of air from west to east."""

CUT = dict.fromkeys(AIR, "15 min") | {"pasture": "25 day", "row": "2500 s"}
"""Where a run of each model is left, between two restarts."""

GROUPS = "2: groups"
"""A level of "ranks": one rank for transport and one for chemistry."""

NO_FAULT = Fault({}, frozenset())

TIMED = ("Wall time", "Two groups")
"""Tables of a summary that differ between runs."""

TOY_MODELS = Path(__file__).parents[1] / "runtime" / "any_model" / "models"


def normal(row: Row) -> Row:
    """Return a row without the levels that have no meaning for it."""
    fixed = {}
    if row["model"] == MEANS:
        fixed["batch"] = "1"
    if row["observer"] in SERVED:  # which writes no output
        fixed |= {"strategy": "none", "writing": "none"}
    return row | fixed


def size_of(row: Row) -> int:
    """Return the number of ranks of a row."""
    return int(row["ranks"].partition(":")[0])


def size_before(row: Row) -> int:
    """Return the number of ranks that begin the run of a row, where others end it."""
    return 1 + size_of(row) % 4 if row["restart"] == "other ranks" else size_of(row)


def cost_of(row: Row) -> float:
    """Return about how long a row takes."""
    return 1.0 + size_of(row) + (size_before(row) if row["restart"] != "none" else 0)


def make_cases(folder: Path) -> None:
    """Write a case of each model into a folder of its name."""
    from tests.laws.cases import small_case
    from tests.models.pasture.conftest import CASE, save_weather

    for model in (*FACTORS["model"], UPDATES):
        (folder / model).mkdir()
    means = [{"every": "7 min", "fields": ["O3", "NO2"], "statistic": "mean"}]
    records = {"restart": {"every": "30 min"}, "output": [{"every": "10 min", "fields": ["O3", "NO2"]}]}
    sections = {
        "grid": {"area": {"lon": [-30.0, -30.0 + 0.5 * COLUMNS], "lat": [40.0, 46.0]}},
        "time": {"start": "2022-06-21T09:40:00Z", "length": "40 min", "spinup": "10 min"},
    }
    for model in (*INTEGRATORS, MEANS, UPDATES):
        place, integrator = folder / model, "strang" if model in ("strang", UPDATES) else "imex"
        data = small_case(place, **sections, chemistry={"integrator": integrator}).to_dict() | records
        data |= {"output": means} if model == MEANS else {}
        if model == UPDATES:
            shutil.copy(Path(__file__).with_name("exposure.py"), place)
            data["process"] = [*data["process"], {"file": "exposure.py"}]
            data["output"] = [{"every": "10 min", "fields": ["O3", "dose", "HNO3"]}]
        (place / "case.toml").write_text(airshed.Case.from_dict(data, base=place).to_toml())
    save_weather(folder / "pasture" / "inputs")
    text = (
        CASE.format(days=40)
        + '[restart]\nevery = "30 day"\n[[output]]\nevery = "5 day"\nfields = ["growth", "green"]\n'
    )
    (folder / "pasture" / "case.toml").write_text(text)
    (folder / "row" / "case.toml").write_text(
        'title = "Ponds"\nmodel = "row"\nponds = 23\n[time]\nstart = 2022-08-31T00:00:00Z\nlength = "1 h"\n'
        '[restart]\nevery = "20 min"\n[[output]]\nevery = "10 min"\n'
    )


def run_briefly(folder: Path) -> None:
    """Make a step of each case, so that all their libraries are compiled."""
    make_cases(folder)
    for model in (*FACTORS["model"], *SCHEMES, UPDATES):
        with airshed.Simulation(case_of(PLAIN | {"model": model}, folder, 1)) as simulation:
            simulation.step()
            digests(simulation)


def case_of(row: Row, cases: Path, size: int) -> Any:
    """Return the case of a row for a number of ranks."""
    model = row["model"]
    if model == "row" and "row" not in registry._MODELS:
        sys.path.append(str(TOY_MODELS))
        registry.register("row", "row:KIND")
    settings = [f"run.threads={row['threads']}"]
    if row["strategy"] != "none":
        strategy = f"{row['strategy']}:{row['writing']}"
        settings += [f"output.0.strategy={strategy}", f"restart.strategy={strategy}"]
    settings += SCHEMES.get(model, [])
    if model in AIR:
        settings += settings_of_ranks(row, size)
    case = airshed.load_case(cases / ("strang" if model in SCHEMES else model), settings)
    if row["observer"] == "records":
        data = case.to_dict()
        more = {**data["output"][0], "name": "more", "compression": "zlib", "strategy": "gather"}
        more["statistic"] = "point"
        case = type(case).from_dict(data | {"output": [*data["output"], more]}, cases / model, name=case.name)
    return case.allowing_code()


def settings_of_ranks(row: Row, size: int) -> list[str]:
    """Return how a number of ranks shares the columns of a case of air."""
    if row["ranks"] == GROUPS:
        return ["parallel.groups.transport=1", "parallel.groups.chemistry=1"]
    server = row["observer"] in SERVED
    # Columns move to other ranks in each step; not under the server, which reads their number on the first rank only.
    settings = [] if row["model"] in ("imex", MEANS) else [f"parallel.balance={str(not server).lower()}"]
    if size > 1:
        other = row["restart"] == "other ranks" and (server or size != size_of(row))
        tiles = "auto" if other else row["ranks"].partition(": ")[2]
        settings.append(f"parallel.tiles={tiles}")
    return settings


@contextmanager
def observed(row: Row, simulation: Simulation) -> Iterator[Callable[[object], object]]:
    """Yield an observer of steps; recordings are made by the model itself."""
    model, seen = simulation.model, []

    def look(info: object) -> None:
        if row["observer"] == "fields":
            seen.append([simulation.values(name) for name in list(model.fields)[-3:]])
            seen.append(simulation.snapshot())

    with ExitStack() as stack:
        if row["observer"] == "records" and row["model"] in AIR:
            stack.enter_context(observing(model, lambda step: seen.append(step.detached()), lengths=True))
        if row["observer"] == "records" and row["model"] == "pasture":
            shape = (40, *model.domain.box.shape)
            model.record({name: np.empty(shape, np.float32) for name in ("water_1", "green_leaf")})
        yield look


def found_in(
    row: Row, cases: Path, folder: Path, groups: Callable[[int], Communicator | None], fault: Fault = NO_FAULT
) -> dict[str, str]:
    """Run a row and return the digests of its run, on its ranks; nothing on others.

    groups  returns the first ranks of all as a communicator, None on the others; all ranks call it
    fault   a planted error
    """
    parts = [(size_of(row), None)]
    if row["restart"] != "none":
        parts.insert(0, (size_before(row), CUT[row["model"]]))
    found: dict[str, str] = {}
    for number, (size, until) in enumerate(parts):
        ranks, found = groups(size), {}
        if ranks is None:
            continue
        run = served if row["observer"] in SERVED else written
        with fault.patch(ranks):
            found = run(row, case_of(row, cases, size), folder, ranks, until=until, resume=number > 0)
        if ranks.rank == 0:
            (fault.output if until is None else fault.restart)(folder)
            if until is None and row["observer"] not in SERVED:
                found |= {"output": output_digest(folder), "restart": digest(restart_arrays(folder))}
    return found


def written(
    row: Row, case: Any, folder: Path, ranks: Communicator, *, until: str | None, resume: bool
) -> dict[str, str]:
    """Run a case, or a part of it, that writes output and restarts into a folder; return the digests at the end."""
    if row["ranks"] == GROUPS and airshed.only_transports(case, ranks):
        airshed.transport_for_others(case, ranks=ranks)
        return {}
    with airshed.Simulation(case, output=folder, resume=resume, ranks=ranks) as simulation:
        with observed(row, simulation) as look:
            simulation.run(until, observer=look, stride=int(row["batch"]))
        return digests(simulation)


def digests(simulation: Simulation) -> dict[str, str]:
    """Return digests of the state, the budget and the summary; all ranks have the same."""
    model = simulation.model
    found = {"state": digest({name: simulation.values(name) for name in sorted(model.fields)})}
    if hasattr(model, "budget"):
        found["budget"] = digest({"amounts": model.budget.amounts, "now": model.amounts(), **model.budget.save()})
    report = simulation.summary()
    tables = [(each.title, [list(map(str, row)) for row in each.rows]) for each in report.tables]
    told = [[table for table in tables if table[0] not in TIMED], report.facts]
    found["summary"] = hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()[:12]
    everywhere = model.domain.ranks.gather_all(found)
    assert all(each == found for each in everywhere), "ranks have different values"
    return copy.copy(found)


def output_digest(folder: Path) -> str:
    """Return a digest of the values and the attributes of a result."""
    with airshed.open_run(folder, "output") as results:
        attributes = {name: results[name].attrs for name in results.variables}
        values = {name: results[name].values for name in sorted(map(str, results.variables))}
    return digest(values, json.dumps(attributes, sort_keys=True, default=str))


def restart_arrays(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of the newest restart, of the whole domain, whatever its parts."""
    parts = open_state(find_states(folder / RESTARTS)[-1])
    whole, metadata = parts.shared()
    restart = Restart(metadata["seconds"], whole, metadata, (), parts)
    ends = [[end for box in parts.boxes for end in box.ends[axis]] for axis in range(len(parts.boxes[0].ends))]
    box = Box(tuple((min(each), max(each)) for each in ends))
    numbers = {name: np.array([value]) for name, value in metadata.items() if isinstance(value, int | float)}
    tiled = {name: np.array(restart.part(name, box)) for name in parts.tiled}
    for array in tiled.values():
        if len(box.ends) == 2:  # rows and packs of columns, of which the last one has lanes without a column
            used = COLUMNS - (array.shape[1] - 1) * array.shape[-1]
            array[:, -1, ..., used:] = 0.0
    return {**tiled, **whole, **numbers}


def digest(arrays: Mapping[str, Any], text: str = "") -> str:
    """Return a hash of the names and bits of arrays."""
    found = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.shape} {array.dtype.newbyteorder('=')}".encode() + array.tobytes())
    return found.hexdigest()[:12]

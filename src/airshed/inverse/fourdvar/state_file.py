"""The state of a minimisation in a file, written whole after each iteration."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import write_whole
from airshed.core.errors import OutputError
from airshed.inverse.fourdvar.lbfgs import Memory

_MEMORY = ("v", "cost", "gradient", "steps", "changes", "iteration")


@dataclass(frozen=True)
class Record:
    """What is told of an iteration: the cost, its parts by name, the gradient's norm, and evaluations up to here."""

    iteration: int
    cost: float
    parts: Mapping[str, float]
    gradient_norm: float
    evaluations: int


@dataclass(frozen=True, eq=False)
class Saved:
    """All that a minimisation needs to go on.

    memory     of the minimiser;  history: a record of each iteration, that of the background first
    simulated  (p,) observations of the background, and those of the last iterate;  accepted  (p,)
    """

    memory: Memory
    history: tuple[Record, ...]
    background: npt.NDArray[np.float64]
    simulated: npt.NDArray[np.float64]
    accepted: npt.NDArray[np.bool_]


def digest(parts: Iterable[object]) -> str:
    """Return a fingerprint of a problem: of arrays by their bits, of anything else by its text."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        array = part if isinstance(part, np.ndarray) else np.array(str(part))
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def save(path: Path, saved: Saved, problem: str) -> None:
    """Write the state; a process that is killed meanwhile leaves the one before. Raises OutputError."""
    names = list(saved.history[0].parts)
    arrays: dict[str, Any] = {name: getattr(saved.memory, name) for name in _MEMORY}
    arrays |= {"problem": problem, "names": np.array(names, np.str_)}
    arrays |= {name: getattr(saved, name) for name in ("background", "simulated", "accepted")}
    arrays["history"] = [_row(record, names) for record in saved.history]
    with write_whole(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)


def load(path: Path, problem: str) -> Saved | None:
    """Return the state in a file, None where there is no file.

    raises  OutputError for a file that is damaged, or that belongs to another problem
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        names = held["names"].tolist()
        memory = {name: held[name] for name in _MEMORY} | {"cost": float(held["cost"])}
        memory["iteration"] = int(held["iteration"])
        history = tuple(_record(row, names) for row in held["history"].tolist())
        found = Saved(Memory(**memory), history, held["background"], held["simulated"], held["accepted"])
        whose = str(held["problem"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read ({error}); remove it to begin the assimilation anew") from None
    if whose != problem:
        raise OutputError(
            f"{path} belongs to an assimilation with other controls, observations or covariances; undo the change, "
            "or remove the file to start again"
        )
    return found


def _row(record: Record, names: Sequence[str]) -> list[float]:
    parts = [record.parts[name] for name in names]
    return [record.iteration, record.cost, record.gradient_norm, record.evaluations, *parts]


def _record(row: Sequence[float], names: Sequence[str]) -> Record:
    iteration, cost, norm, evaluations, *parts = row
    return Record(int(iteration), cost, dict(zip(names, parts, strict=True)), norm, int(evaluations))

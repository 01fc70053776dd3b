"""Members of a sweep as runs of one evaluation, and the statistics of an ensemble."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from airshed.core.errors import OutputError
from airshed.core.report import Table
from airshed.evaluate.ensemble import complete, rank_histogram, scores
from airshed.evaluate.pairing import Pairs
from airshed.io.run_state import MEMBER, SWEEP_DATASET, SWEEP_MEMBERS, SWEEP_PLAN, read_state, results

SHOWN: Final = ("N", "members", "RMSE", "spread", "ratio", "CRPS", "MAE")


def is_sweep(path: Path) -> bool:
    """Return whether a path is the folder or the dataset of a sweep."""
    return (_folder(path) / SWEEP_PLAN).is_file()


def is_ensemble(path: Path) -> bool:
    """Return whether a path is a sweep whose members are draws alone, so that ensemble statistics apply."""
    if not is_sweep(path):
        return False
    try:
        plan = json.loads((_folder(path) / SWEEP_PLAN).read_text(encoding="utf-8"))
        return [each["name"] for each in plan["dimensions"]] == [MEMBER]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{_folder(path) / SWEEP_PLAN} is damaged ({error}); run the sweep again") from None


def member_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the runs, each sweep replaced by its finished members; raises OutputError for fewer than two."""
    found: list[Path] = []
    for path in paths:
        if not is_sweep(path):
            found.append(path)
            continue
        runs = [each for each in sorted((_folder(path) / SWEEP_MEMBERS).glob("*")) if _is_finished(each)]
        if len(runs) < 2:
            raise OutputError(f"{path} has fewer than two finished members; complete it with: airshed sweep --resume")
        found += runs
    return found


def _folder(path: Path) -> Path:
    return path.parent if path.name == SWEEP_DATASET else path


def _is_finished(folder: Path) -> bool:
    state = read_state(folder) if folder.is_dir() else None
    return state is not None and state.state == "finished" and all(results(folder, name) for name in state.outputs)


def ensemble_tables(pairs: Pairs, unscored: frozenset[str]) -> list[Table]:
    """Return the ensemble statistics and rank histograms by species."""
    of, rows, ranks = pairs.observations, [], []
    pooled = ~np.isin(of.station, list(unscored))
    for species, unit in pairs.units.items():
        mine = pooled & (of.species == species)
        o, m = of.value[mine], pairs.modelled[:, mine]
        found = scores(o, m)
        rows.append((species, unit, *(_whole(name, found[name]) for name in SHOWN)))
        o, m = complete(o, m)
        if o.size:
            ranks.append((species, " ".join(f"{count:.3g}" for count in rank_histogram(o, m))))
    note = "RMSE of the ensemble mean; ratio of spread and error: 1 is reliable, less is underdispersive; fair CRPS"
    return [
        Table("Ensemble", ("species", "unit", *SHOWN), rows, note),
        Table("Rank histogram", ("species", "observed values with 0, 1, ... members below them"), ranks),
    ]


def _whole(name: str, value: float) -> float | int:
    return int(value) if name in ("N", "members") else value

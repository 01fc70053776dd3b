"""Computation of an origin in a process of its own: ``python -m airshed.serve.origin.worker FOLDER``.

It reads `request.json` in the folder, and prints its progress in lines of JSON. It writes the maps and then the
result into the folder. It ends when its standard input ends, so that it never outlives the server.
"""

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.atomic import write_whole
from airshed.core.errors import AirshedError
from airshed.inverse.backward import Adjoints
from airshed.inverse.gradient import Options, Watcher
from airshed.inverse.receptors.receptor import Receptor
from airshed.inverse.receptors.sensitivity import sensitivity
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.serve.model.store import case_from
from airshed.serve.origin.contributions import explained, origin_hours, origin_maps, origin_rows
from airshed.serve.origin.settings import receptor_of
from airshed.serve.protocol.origin import Origin, OriginRequest

if TYPE_CHECKING:
    import xarray as xr

REQUEST: Final = "request.json"
RESULT: Final = "result.json"
MAPS: Final = "maps.npz"

_NICE: Final = 10
"""Priority below that of the server, whose sessions go on."""

_BETWEEN: Final = 0.2
"""Seconds between two lines of progress."""


class _AirWatcher(Watcher):
    """Watcher that stores the amount of air at the receptor [mol m-3]."""

    def __init__(self, receptor: Receptor) -> None:
        self._receptor = receptor
        self.air: float | None = None

    def on_adjoints(self, model: AirModel, adjoints: Adjoints) -> None:
        """Read the air of the meteorology, while the model is open."""
        air = model.subdomain.whole(model.parts.meteorology.at(self._receptor.times[-1]).air_density)
        self.air = float(np.sum(self._receptor.weights(model.whole) * air))


class _Progress:
    """Callback that prints the completed part."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, part: str, done: float) -> None:
        now = time.monotonic()
        if now - self._last > _BETWEEN or done >= 1.0:
            self._last = now
            _say({"part": part, "done": min(max(done, 0.0), 1.0)})


def _say(line: Mapping[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def compute(folder: Path) -> None:
    """Compute the origin that a folder requests, and write it there."""
    begun = time.monotonic()
    document: dict[str, Any] = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    request, case = OriginRequest.model_validate(document["request"]), case_from(document["case"])
    assert isinstance(case, Case)
    receptor = receptor_of(request)
    watcher = _AirWatcher(Receptor.of(receptor, case.time.length.value))
    found = sensitivity(case, receptor, options=Options(reactions=False, watcher=watcher), progress=_Progress())
    maps = origin_maps(found)
    with write_whole(folder / MAPS) as part, part.open("wb") as file:
        named: dict[str, Any] = {name: each.astype("<f4") for name, each in maps.items()}
        np.savez(file, **named)
    origin = _origin(request, found, list(maps), watcher.air, time.monotonic() - begun)
    with write_whole(folder / RESULT) as part:
        part.write_text(origin.model_dump_json(), encoding="utf-8")


def _origin(
    request: OriginRequest, found: "xr.Dataset", pollutants: list[str], air: float | None, seconds: float
) -> Origin:  # fmt: skip
    attributes = found.attrs
    when = np.datetime64(str(attributes["start"]), "ms") + np.timedelta64(round(1e3 * request.at), "ms")
    lon, lat = (float(np.mean(attributes[f"receptor_{name}"])) for name in ("lon", "lat"))
    return Origin(
        request=request, place=request.name or str(attributes["receptor_place"]),
        time=f"{when}Z", lon=lon, lat=lat, value=float(found["value"]), air=air, explained=explained(found),
        rows=origin_rows(found), pollutants=pollutants, hours=origin_hours(found), steps=int(attributes["steps"]),
        seconds=seconds,
    )  # fmt: skip


def _end_with_server(folder: Path, ended: threading.Event) -> None:
    """Remove the folder, and end this process, when the server closes its standard input or has ended."""
    sys.stdin.read()
    ended.set()
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # it has results
        folder.parent.rmdir()
    os._exit(1)


def main(folder: Path) -> int:
    """Compute, and return the status of the process; an error is the last line."""
    ended = threading.Event()
    watch = threading.Thread(target=_end_with_server, args=(folder, ended), daemon=True)
    watch.start()
    os.nice(_NICE)
    try:
        compute(folder)
    except AirshedError as error:
        _say({"error": str(error)})
        return 1
    except OSError:
        if not ended.is_set():
            raise
        watch.join()  # the other thread removes the files
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Run Airshed on spoiled input, and count its responses.

python -m validation.fuzz --seed 1 --count 3000                    the table at the end; exit code 1 with any fault
python -m validation.fuzz --seed 1 --count 300 --area era5         one area
python -m validation.fuzz --replay 1:42 --keep FOLDER              repeat one trial and keep its input
PYTHONPATH=/other/checkout/src python -m validation.fuzz ...       the model of another checkout
"""

import argparse
import json
import shlex
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from validation.fuzz.areas import AREAS, area_of
from validation.fuzz.outcomes import FAULTS
from validation.fuzz.pool import HANGS, Pool
from validation.fuzz.table import groups_text, table_text


def main() -> int:
    """Run the command; return the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import airshed

    model = str(Path(airshed.__file__).parent)
    with tempfile.TemporaryDirectory(prefix="airshed-fuzz-") as made:
        if options.replay:
            return replay(options.replay, options.keep or Path(made), options.limit)
        print(f"the model is {model}", file=sys.stderr)
        begun = time.monotonic()
        found = fuzz(options.seed, options.count, options.area, Path(made), options.limit)
        seconds = time.monotonic() - begun
    print(groups_text(found))
    print(table_text(found))
    words = f"{len(found)} mutations of seed {options.seed} in {seconds:.0f} s"
    print(words)
    if options.readme:
        write_readme(f"{words}, by `python -m validation.fuzz --seed {options.seed} --count {options.count}`:", found)
    if options.json:
        Path(options.json).write_text(json.dumps({"seed": options.seed, "seconds": seconds, "trials": found}, indent=1))
    return int(any(reply["outcome"] in FAULTS for reply in found))


def fuzz(seed: int, count: int, area: str | None, folder: Path, limit: float) -> list[dict[str, Any]]:
    """Run ``count`` trials, and print each fault; return the replies, each with its seed, number and area."""
    found: list[dict[str, Any]] = []
    index = -1
    with Pool(folder, limit=limit) as pool, suppress(KeyboardInterrupt):  # results so far are shown
        while len(found) < count:
            index += 1
            if area is not None and area_of(index) != area:
                continue
            begun = time.monotonic()
            reply = {"seed": seed, "index": index, "area": area_of(index), **pool.ask(seed, index)}
            found.append(reply | {"seconds": round(time.monotonic() - begun, 2)})
            if reply["outcome"] in FAULTS:
                found[-1]["mutation"] = reply.get("mutation") or _mutation(seed, index, folder)
                words = f"{seed}:{index} {reply['area']}: {found[-1]['mutation']}"
                print(f"{reply['outcome']:10} {words}\n    {reply['detail']}", flush=True)
    return found


def _mutation(seed: int, index: int, folder: Path) -> str:
    """Return the mutation of a trial that has killed its worker."""
    from validation.fuzz.areas import trial_of

    place = Path(tempfile.mkdtemp(dir=folder))
    return trial_of(seed, index, place).mutation[:300]


def replay(which: str, folder: Path, limit: float) -> int:
    """Repeat one trial, and print all of its results; its input stays in ``folder``."""
    from validation.fuzz.areas import trial_of

    seed, index = map(int, which.split(":"))
    place = folder.resolve() / f"{seed}-{index}"
    shutil.rmtree(place, ignore_errors=True)  # of an earlier replay
    place.mkdir(parents=True)
    trial = trial_of(seed, index, place)
    print(f"area      {area_of(index)}\nmutation  {trial.mutation}\nfolder    {trial.folder}")
    print(f"command   airshed {shlex.join(trial.arguments)}" if trial.call is None else "command   (Python)")
    with Pool(folder.resolve() / "worker", limit=limit) as pool:
        reply = pool.ask(seed, index)
    print(f"outcome   {reply['outcome']}\ndetail    {reply['detail']}\ngroup     {reply.get('group', '')}")
    return int(reply["outcome"] in FAULTS)


def write_readme(words: str, found: list[dict[str, Any]]) -> None:
    """Replace the table at the end of README.md by that of a run."""
    path = Path(__file__).with_name("README.md")
    head, mark, _ = path.read_text(encoding="utf-8").partition("## A run\n")
    path.write_text(f"{head}{mark}\n{words}\n\n{table_text(found)}\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m validation.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--limit", type=float, default=HANGS, help="processor time [s] of one trial")
    parser.add_argument("--json", metavar="FILE", help="write all outcomes")
    parser.add_argument("--readme", action="store_true", help="write the table of this run into README.md")
    parser.add_argument("--replay", metavar="SEED:INDEX")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the input of --replay here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

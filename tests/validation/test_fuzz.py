"""The fuzz harness: a few mutations show no fault, and each of its detectors responds."""

import os
import random
import sys
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from validation.fuzz.areas import AREAS, area_of, tables, trial_of
from validation.fuzz.judge import MARK, judge
from validation.fuzz.outcomes import FAULTS, OUTCOMES
from validation.fuzz.pool import Pool
from validation.fuzz.table import groups_text, table_text
from validation.fuzz.trial import Answer, Trial
from validation.fuzz.worker import perform

SEED = 126


@pytest.mark.parametrize("area", AREAS)
def test_the_same_number_gives_the_same_mutation(area: str, tmp_path: Path) -> None:
    [index] = [number for number in range(len(AREAS)) if area_of(number) == area]
    made = []
    for place in (tmp_path / "first", tmp_path / "second"):
        place.mkdir()
        made.append(trial_of(SEED, index, place).mutation)
    assert made[0] == made[1]


@pytest.mark.parametrize(("number", "code", "base"), [(4, " ", ""), (5, "XX", "tables-plain")], ids=["blank", "code"])
def test_a_blank_in_an_empty_cell_is_the_same_input(tmp_path: Path, number: int, code: str, base: str) -> None:
    """A changed code with unchanged results and no message is a fault."""

    class Chosen(random.Random):
        picks = iter((
            lambda _: "power_plants.csv", lambda _: "fuel", lambda rows: next(row for row in rows if row[5] == ""),
            itemgetter(number),
        ))  # fmt: skip

        def choice(self, options: Any) -> Any:
            return next(Chosen.picks)(options)

    tables.inventory(tmp_path / "inv")
    made = tables._code(Chosen(), tmp_path)
    assert made.mutation == f"power_plants.csv: fuel '' is {code!r}"
    assert made.base == base


@pytest.mark.parametrize(
    "indices",
    [
        pytest.param((25, 26, 27, 28, 29, 30, 38), id="without compiling"),
        pytest.param(range(42), id="42", marks=[pytest.mark.thorough, pytest.mark.compiles]),
    ],
)
def test_mutations_show_no_fault(tmp_path: Path, indices: Iterable[int]) -> None:
    with Pool(tmp_path) as pool:
        replies = [{"seed": SEED, "index": index, "area": area_of(index), **pool.ask(SEED, index)} for index in indices]
    assert not [reply for reply in replies if reply["outcome"] in FAULTS], groups_text(replies)
    assert {reply["outcome"] for reply in replies} == {"accepted", "refused"}
    assert table_text(replies).splitlines()[-1].startswith("| all | ")


def results(path: Path, value: float = 1e-9, units: str = "mol mol-1") -> Path:
    """Write an output file in the form of a run's, and return it."""
    xr.Dataset({"O3": (("lat", "lon"), np.full((2, 2), value), {"units": units})}).to_netcdf(path)
    return path


def trial(folder: Path, **changes: Any) -> Trial:
    return Trial(folder, **{"mutation": "m", "kind": "k", "names": ("time.step",), **changes})


def outcome(made: Trial, answer: Answer, base: str = "") -> str:
    return judge(made, answer, base)[0].outcome


REFUSAL = "airshed: error: case.toml:3: time.step = 'x' is no time\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(2, "", REFUSAL), "refused"),
        (Answer(1, "", "", "IndexError: 3"), "traceback"),
        (Answer(1, "", "Traceback (most recent call last):\n  File x\nIndexError"), "traceback"),
        (Answer(1, "", "", "MemoryError: 1 PiB"), "memory"),
        (Answer(2, "", REFUSAL, peak=10**10), "memory"),
        (Answer(2, "", ""), "unclear"),
        (Answer(2, "", REFUSAL + "a line\n" * 3), "unclear"),
        (Answer(2, "", "airshed: error: 30 faults:\n" + "  time.step is wrong\n" * 30), "unclear"),
        (Answer(2, "", "airshed: error: 3 faults:\n" + "  time.step is wrong\n" * 3), "refused"),
        (Answer(2, "", f"airshed: error: time.step {'x' * 900}\n"), "unclear"),
        (Answer(2, "", "airshed: error: something is wrong\n"), "unclear"),
        (Answer(2, "", f"/lib/x.py:3: RuntimeWarning: overflow\n{REFUSAL}"), "noise"),
        (Answer(2, "", "airshed: error: time.step = '\x1b[31m'\n"), "leaked"),
        (Answer(2, "", "airshed: error: time.step = 'a\rb'\n"), "leaked"),
    ],
)
def test_messages_are_judged(answer: Answer, expected: str, tmp_path: Path) -> None:
    assert outcome(trial(tmp_path), answer) == expected


def test_interpreted_markup_is_detected(tmp_path: Path) -> None:
    made = trial(tmp_path, mutation=f"name {MARK}")
    assert outcome(made, Answer(2, "", "airshed: error: time.step = 'Qzx'\n")) == "leaked"
    assert outcome(made, Answer(2, "", f"airshed: error: time.step = {MARK!r}\n")) == "refused"
    renamed = "airshed: error: time.step names x_red_Qzx__red_\n"
    assert outcome(made, Answer(2, "", renamed)) == "refused"


@pytest.mark.parametrize(
    ("value", "units", "expected"),
    [(1e-9, "mol mol-1", "accepted"), (np.inf, "mol mol-1", "non-finite"), (np.nan, "", "non-finite"),
     (1.5, "mol mol-1", "insane"),
     (-1e-3, "mol mol-1", "insane"), (1.5, "m", "accepted")],
)  # fmt: skip
def test_results_are_judged(value: float, units: str, expected: str, tmp_path: Path) -> None:
    made = trial(tmp_path, output=results(tmp_path / "out.nc", value, units))
    assert outcome(made, Answer(0, "", "")) == expected


def test_damaged_missing_and_half_written_results_are_seen(tmp_path: Path) -> None:
    path = results(tmp_path / "out.nc")
    assert outcome(trial(tmp_path, output=tmp_path / "none.nc"), Answer(0, "", "")) == "unreadable"
    (tmp_path / ".x.part").touch()
    assert outcome(trial(tmp_path, output=path), Answer(0, "", "")) == "left over"
    path.write_bytes(path.read_bytes()[:100])
    assert outcome(trial(tmp_path, output=path), Answer(0, "", "")) == "unreadable"


def test_another_meaning_with_the_same_results_is_detected(tmp_path: Path) -> None:
    made = trial(tmp_path, output=results(tmp_path / "out.nc"))
    base = judge(made, Answer(0, "", ""))[1].digest()
    assert outcome(made, Answer(0, "", ""), base) == "silent"
    results(made.output, 2e-9)
    assert outcome(made, Answer(0, "", ""), base) == "accepted"
    made.mentions = "DEX"
    assert outcome(made, Answer(0, "nothing of it", ""), base) == "silent"
    assert outcome(made, Answer(0, "DEX is no country", ""), base) == "accepted"
    results(made.output)
    assert outcome(made, Answer(0, "nothing of it", ""), base) == "accepted"


def test_executed_code_is_detected(tmp_path: Path) -> None:
    made = trial(tmp_path, absent=(tmp_path / "RAN",))
    assert outcome(made, Answer(2, "", REFUSAL)) == "refused"
    assert outcome(made, Answer(2, "", "airshed: error: the generated code does not compile\n")) == "executed"
    (tmp_path / "RAN").touch()
    assert outcome(made, Answer(2, "", REFUSAL)) == "executed"


def test_output_and_errors_of_a_trial_are_captured(tmp_path: Path) -> None:
    def shout() -> None:
        os.write(1, b"out\n")
        os.write(2, b"err\n")
        raise IndexError("3")

    answer = perform(trial(tmp_path, call=shout), tmp_path)
    assert (answer.stdout, answer.stderr, answer.defect) == ("out\n", "err\n", "IndexError: 3")


WORKER = """
import json, os, sys, time
for line in sys.stdin:
    index = int(line.split()[1])
    if index == 1:
        os.kill(os.getpid(), 11)
    while index == 2:
        pass
    time.sleep(60 if index == 3 else 0)
    print(json.dumps({"outcome": "accepted", "detail": ""}), flush=True)
"""


def test_hangs_and_deaths_are_detected_and_a_new_worker_continues(tmp_path: Path) -> None:
    program = tmp_path / "worker.py"
    program.write_text(WORKER)
    with Pool(tmp_path, command=[sys.executable, str(program)], limit=0.2) as pool:
        found = [pool.ask(1, index)["outcome"] for index in range(5)]
    assert found == ["accepted", "killed", "hang", "hang", "accepted"]


def test_a_table_counts_all(tmp_path: Path) -> None:
    replies = [
        {"seed": 1, "index": n, "area": "box", "outcome": name, "group": "g", "mutation": "m", "detail": "d"}
        for n, name in enumerate(OUTCOMES)
    ]
    table = table_text(replies)
    assert table.splitlines()[-1] == f"| all | {' | '.join(['1'] * len(OUTCOMES))} | {len(FAULTS)} |"
    assert groups_text(replies).count(" x ") == len(FAULTS)

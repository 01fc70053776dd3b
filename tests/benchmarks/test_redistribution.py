"""`airshed bench redistribution`: all strategies and transports on real ranks, and failures of ranks."""

import json
import subprocess
import sys

import pytest
from benchmarks.__main__ import app
from benchmarks.redistribution import report, run
from typer.testing import CliRunner

from airshed.core.errors import AirshedError


@pytest.mark.thorough
def test_every_strategy_and_transport_is_predicted_and_measured():
    found = json.loads(json.dumps(run(2, {"small": (4, 3, 6, 8)}, span=0.0).to_dict(), allow_nan=False))
    trips, machine, costs = found["tables"]
    kinds = {(row["transport"], row["groups"], row["strategy"]) for row in trips["rows"]}
    places = [("MPI", "two"), ("MPI", "one"), ("shared memory", "two"), ("shared memory", "one"), ("TCP", "two")]
    ways = {(*where, how) for where in places for how in ("direct", "funnel")}
    assert kinds == ways | {(*where, "parallel funnel x2") for where in places if where[1] == "one"}
    assert all(row["predicted [ms]"] > 0.0 and row["least [ms]"] > 0.0 for row in trips["rows"])
    assert sum(row["picked"] for row in trips["rows"]) == len(places)
    assert [row["array [MB]"] for row in machine["rows"]] == [pytest.approx(4 * 3 * 6 * 8 * 8 / 1e6)]
    assert {row["transport"] for row in costs["rows"]} == {"MPI", "shared memory", "TCP"}
    assert found["facts"]["required round trip of the paper's array [s]"] == 0.67


def test_one_rank_is_no_two_groups():
    with pytest.raises(AirshedError, match="at least two ranks"):
        run(1)
    answer = CliRunner().invoke(app, ["redistribution", "-n", "1"])
    assert answer.exit_code == 2


def test_the_error_of_a_rank_is_reported():
    code = "import sys; sys.exit('airshed: error: the token is short')"
    failing = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
    with pytest.raises(AirshedError, match="ranks of the benchmark failed: the token is short"):
        report._answer([failing])

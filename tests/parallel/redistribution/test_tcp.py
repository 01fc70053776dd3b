"""Two jobs without a common MPI: agreement, transfers, and missing, wrong or lost partners."""

import os
import random
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from tests.started import python

from airshed.core.errors import LinkError
from airshed.parallel.redistribution import Distribution, Redistribution, make_plan
from airshed.parallel.redistribution.tcp import JobLink, Sockets, TwoJobs, new_token

PLAN = make_plan(Distribution((2,), {0: [slice(2)]}), Distribution((2,), {1: [slice(2)]}))

PROGRAM = """
import os, sys, time
sys.path[:0] = [path for path in os.environ["TEST_PATH"].split(os.pathsep)]
import numpy as np
from airshed.core.errors import AirshedError
from airshed.parallel.communicator import world
from airshed.parallel.redistribution import Distribution, Redistribution, possible_plans
from airshed.parallel.redistribution.tcp import JobLink, TwoJobs

job, port, token, task = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
sizes = tuple(map(int, os.environ["TEST_SIZES"].split(",")))
shape = (4, 3, 6, 5)
whole = np.arange(360.0).reshape(shape) / 7.0
planes = Distribution.spread(shape, range(sizes[0]), axes=(0, 1), dtype=">f8")
columns = Distribution.spread(shape, range(sizes[1]), axes=(2, 3), dtype="<f4", order=(2, 3, 0, 1)).numbered(sizes[0])
try:
    line = JobLink(port=port, timeout=float(os.environ["TEST_TIMEOUT"]))
    with TwoJobs(job, sizes, token, world(), line) as link:
        rank = link.rank
        for plan in possible_plans(planes, columns):
            there, back = Redistribution(link, plan), Redistribution(link, plan.inverse())
            local = planes.take(whole, rank) if job == 0 else None
            for turn in range(3):
                if task == "dies" and job == 1 and turn == 1:
                    os._exit(9)
                returned = back(there(local))
            expected = planes.take(whole.astype("f4"), rank) if job == 0 else None
            assert (returned is None) == (expected is None)
            np.testing.assert_array_equal(returned, expected)
        print("moved")
except AirshedError as error:
    print(error)
"""


def free_port() -> int:
    """Return the first of eight free ports, below the range of temporary ports."""
    while True:
        first = random.SystemRandom().randrange(20_000, 32_000, 8)
        with suppress(OSError), ExitStack() as probes:
            for port in range(first, first + 8):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


def start(job, port, token, task="moves", sizes=(1, 1), timeout=20.0):
    ranks = sizes[job]
    command = [python(), "-c", PROGRAM, str(job), str(port), token, task]
    if ranks > 1:
        command = [os.path.join(os.path.dirname(sys.executable), "mpiexec"), "-n", str(ranks), *command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "MPI_"))}
    environment |= {
        "TEST_PATH": os.pathsep.join(sys.path), "TEST_SIZES": ",".join(map(str, sizes)), "TEST_TIMEOUT": str(timeout),
    }  # fmt: skip
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def both(**options):
    """Return the output of two jobs."""
    port = free_port()
    jobs = [start(job, port, "t" * 40, **options) for job in (0, 1)]
    return [job.communicate(timeout=50)[0] for job in jobs]


def test_two_jobs_move_an_array_there_and_back():
    assert [said.count("moved") for said in both(sizes=(2, 3))] == [2, 3]


def test_a_job_that_dies_is_noticed():
    assert "the other job has gone" in both(task="dies")[0]


def in_threads(*tasks):
    """Return the errors with which two jobs in threads end, and close their connections."""

    def run(task):
        with pytest.raises(LinkError) as caught, task[0] as link:
            task[1](link)
        return str(caught.value)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, tasks))


def test_another_token_is_refused():
    port = free_port()
    jobs = [TwoJobs(job, (1, 1), str(job) * 40, line=JobLink(port=port, timeout=1.0)) for job in (0, 1)]
    first, second = in_threads(*((job, lambda link: Redistribution(link, PLAN)) for job in jobs))
    assert "a caller without its token was refused" in first
    assert "refused this one: give both the same token" in second


def test_another_plan_is_noticed_by_both():
    port, other = free_port(), replace(PLAN.target, dtype=">f4")
    jobs = [TwoJobs(job, (1, 1), "t" * 40, line=JobLink(port=port, timeout=10.0)) for job in (0, 1)]
    plans = [PLAN, make_plan(PLAN.source, other)]
    said = in_threads(
        (jobs[0], lambda link: Redistribution(link, plans[0])), (jobs[1], lambda link: Redistribution(link, plans[1]))
    )
    assert all("the other job has another plan" in each for each in said)


def test_a_job_that_stops_is_noticed_by_the_one_that_waits():
    port = free_port()
    jobs = [TwoJobs(job, (1, 1), "t" * 40, line=JobLink(port=port, timeout=10.0)) for job in (0, 1)]

    def stop(link):
        Redistribution(link, PLAN)
        raise LinkError("an error of its own")

    _, second = in_threads((jobs[0], stop), (jobs[1], lambda link: Redistribution(link, PLAN)(None)))
    assert "the other job has gone: its ranks [0] were to send" in second


@pytest.mark.parametrize(
    ("job", "complaint"), [(0, r"ranks \[1\] of the other job did not come"), (1, "no job listens")]
)
def test_a_missing_job_is_told(job, complaint):
    link = TwoJobs(job, (1, 1), new_token(), line=JobLink(port=free_port(), timeout=0.3))
    with link, pytest.raises(LinkError, match=complaint):
        Redistribution(link, PLAN)


def test_a_port_in_use_and_settings_that_cannot_be_are_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(LinkError, match=r"cannot listen at .* name another port"):
            Redistribution(TwoJobs(0, (1, 1), new_token(), line=JobLink(port=taken.getsockname()[1])), PLAN)
    with pytest.raises(LinkError, match="a token needs 32 random characters"):
        TwoJobs(0, (1, 1), "secret")
    with pytest.raises(LinkError, match="job 1 was to have 3 ranks"):
        TwoJobs(1, (1, 3), new_token())
    with pytest.raises(LinkError, match="name one, or one for each"):
        TwoJobs(1, (3, 1), new_token(), line=JobLink(hosts=("a", "b")))


# ---- unknown callers at the port of the listening job ----------------------------------------------------------------


def comes_and_goes(address):
    socket.create_connection(address).close()


def stays_silent(address):
    return socket.create_connection(address)


def talks_nonsense(address):
    stranger = socket.create_connection(address)
    stranger.sendall(b"GET / HTTP/1.1\r\nHost: airshed\r\n\r\n" + bytes(range(256)) * 8)
    return stranger


def has_another_token(address):
    caller = Sockets(new_token(), 1.0)
    caller.call(0, 1, f"tcp://{address[0]}:{address[1]}")
    caller.wait(lambda: caller.refused, (), 5.0)
    caller.close(linger=0.0)


STRANGERS = {"comes and goes": (comes_and_goes, 5), "stays silent": (stays_silent, 5),
             "talks nonsense": (talks_nonsense, 5), "has another token": (has_another_token, 1),
             "two hundred": (stays_silent, 200)}  # fmt: skip


def listening(port, seconds=10.0):
    """Return the address of a job once it listens there."""
    began, address = time.monotonic(), ("127.0.0.1", port)
    while time.monotonic() < began + seconds:
        with suppress(OSError):
            socket.create_connection(address).close()
            return address
        time.sleep(0.01)
    raise AssertionError("no job listens")


@pytest.mark.parametrize("kind", STRANGERS)
def test_strangers_do_not_keep_the_true_peer_away(kind):
    """Unknown callers connect before the peer, and again between its messages; their connections stay open."""
    port, token, data = free_port(), new_token(), np.array([1.0, 2.0])
    visit, times = STRANGERS[kind]

    def moved(job):
        with TwoJobs(job, (1, 1), token, line=JobLink(port=port, timeout=20.0)) as link:
            there = Redistribution(link, PLAN)
            received = [there(data if job == 0 else None)]
            met[job].set()
            assert visited.wait(20.0)
            return [*received, there(data if job == 0 else None)]

    met, visited = (Event(), Event()), Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(moved, 0)
        address = listening(port)
        held = [visit(address) for _ in range(times)]
        second = pool.submit(moved, 1)
        assert all(each.wait(20.0) for each in met)
        held += [visit(address) for _ in range(times)]
        visited.set()
        assert first.result(30.0) == [None, None]
        np.testing.assert_array_equal(second.result(30.0), [data, data])
    for each in held:
        if each is not None:
            each.close()

"""The launchers' own lines are removed from a stream, however it is divided, and no other lines."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.parallel.lost_ranks import Filter, LaunchReport

RULE, DASHES = b"=" * 83, b"-" * 74
HYDRA = (
    b"\n" + RULE + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 77 RUNNING AT node1\n"
    b"=   EXIT CODE: 9\n" + RULE + b"\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
    b"This typically refers to a problem with your application.\n"
    b"MPICH: Builtin communicator 44000000 has pending 1 references.\n"
)
OPENMPI = (
    DASHES + b"\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code.\n\nMore.\n" + DASHES
    + b"\n" + DASHES + b"\nmpirun noticed that process rank 2 with PID 0 on node vm exited on signal 11 (x).\n" + DASHES
    + b"\n"
)  # fmt: skip
OURS = b"airshed-rank 3 77 node1\n"
THEIRS = [
    b"plain\n", b"\n", RULE + b"\n", DASHES + b"\n", b"\r 10%", b"[a list]\n", b"mpiexec is a program\n",
    b"MPICH: no memory\n",
    b"Abort(1) mission\n", b"\x1b[1m\xff\n", b"=" * 20 + b"\n",
]  # fmt: skip


def passed(stream: bytes, cuts: list[int]) -> tuple[bytes, LaunchReport]:
    facts = LaunchReport()
    sieve = Filter(facts)
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    pieces = [stream[begin:end] for begin, end in pairwise(places)]
    return b"".join([*(sieve.feed(piece) for piece in pieces), sieve.end()]), facts


@given(st.lists(st.sampled_from(THEIRS), max_size=6), st.lists(st.integers(0, 10_000), max_size=8))
def test_other_text_passes_whole(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(lines)
    assert passed(stream, cuts)[0] == stream


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_hydras_words_are_taken_out_and_name_the_rank(cuts: list[int]) -> None:
    text, facts = passed(OURS + b"before\n" + HYDRA + b"after\n", cuts)
    assert (text, facts.lost(), facts.signal) == (b"before\nafter\n", 3, "9")


def test_the_first_to_end_counts_more_than_hydras_word_of_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, facts = passed(OURS + HYDRA, [])
    assert facts.lost(first=1) == 3
    monkeypatch.setattr("airshed.parallel.lost_ranks.socket.gethostname", lambda: "node1")
    assert (facts.lost(first=1), facts.lost()) == (1, 3)


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_openmpis_words_are_taken_out_and_name_the_rank(cuts: list[int]) -> None:
    text, facts = passed(b"before\n" + OPENMPI + b"after", cuts)
    assert (text, facts.lost(), facts.signal) == (b"before\nafter", 2, "11")


@pytest.mark.parametrize(
    "said",
    [
        b"Abort(2) on node 1 (rank 1 in comm 496): application called MPI_Abort(comm=0x84000001, 2) - process 1\n"
        + HYDRA,
        DASHES + b"\nMPI_ABORT was invoked on rank 1 in communicator MPI COMMUNICATOR 3 DUP FROM 0\n"
        b"with errorcode 2.\n" + DASHES + b"\n",
    ],
    ids=["hydra", "openmpi"],
)  # fmt: skip
def test_the_code_of_a_rank_that_ended_all_is_known(said: bytes) -> None:
    """Hydra may kill that rank with the others before it has ended itself, and then reports the signal."""
    text, facts = passed(said, [])
    assert (text, facts.aborted) == (b"", 2)
    assert passed(HYDRA, [])[1].aborted is None


def test_text_goes_on_before_its_line_ends() -> None:
    sieve = Filter(LaunchReport())
    assert sieve.feed(b" 50%") == b" 50%"
    assert sieve.feed(b"\r100%") == b"\r100%"
    assert sieve.feed(b"\nmpi") == b"\n"
    assert sieve.feed(b"rate") == b"mpirate"


def test_another_launchers_complaint_is_kept() -> None:
    slots = DASHES + b"\nThere are not enough slots available.\n" + DASHES + b"\n"
    assert passed(slots, [])[0] == slots

"""The local rank of each rank on its machine, and notices of shared GPUs; gathered answers stand in for ranks."""

import socket
from typing import Any

import pytest

from airshed.kernels.backend import Backend, backend
from airshed.models.air.case import Case
from airshed.models.air.kind import make_groups
from airshed.models.air.placements import shared_gpus
from airshed.parallel.binding import find_local_rank
from airshed.parallel.communicator import Communicator


class GatheringRank(Communicator):
    """A rank that gathers prepared values of all ranks, in place of its own."""

    def __init__(self, rank: int, *answers: list[Any]) -> None:
        self.rank, self.size, self._answers = rank, len(answers[0]), list(answers)

    def gather_all(self, value: Any) -> list[Any]:
        found = self._answers.pop(0)
        assert found[self.rank] == value
        return found


HOST = socket.gethostname()


@pytest.mark.parametrize(("rank", "local_rank"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)])
def test_ranks_are_counted_on_each_machine(rank: int, local_rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = ["a", "b", "a", "b", "a"]
    monkeypatch.setattr(socket, "gethostname", lambda: hosts[rank])
    ranks = GatheringRank(rank, hosts)
    assert ranks.local_rank == 0
    find_local_rank(ranks)
    assert ranks.local_rank == backend("cuda", ranks.local_rank).local_rank == local_rank


@pytest.mark.parametrize(("device", "local_rank"), [("cpu", 0), ("cuda", 1)])
def test_the_local_rank_is_found_where_a_device_needs_it(device: str, local_rank: int) -> None:
    ranks = GatheringRank(1, [HOST, HOST])
    assert make_groups(Case.load("west-europe", [f"run.device={device}"]), ranks) is None
    assert ranks.local_rank == local_rank


def test_the_step_and_the_chemistry_of_a_rank_use_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [object(), object()]
    monkeypatch.setattr("airshed.kernels.backends.cuda.backend.present_device", cards.__getitem__)
    for place, card in enumerate(cards):
        own: Any = backend("cuda", place)
        assert (
            own.device is own.compile_mechanism.keywords["device"] is own.compile_chemistry.keywords["device"] is card
        )


class Card(Backend):
    devices = ("cuda",)
    identity = "b"


def test_ranks_that_share_a_gpu_are_noted() -> None:
    def notices(*used: str) -> list[str]:
        return shared_gpus(Card(), GatheringRank(1, [(HOST, each) for each in used]))

    assert notices("a", "b") == []
    assert "3 ranks share 2 GPUs" in notices("a", "b", "a")[0]
    assert "2 ranks share 1 GPU," in notices("b", "b")[0]
    assert shared_gpus(Card(), GatheringRank(1, [("other", "b"), (HOST, "b")])) == []
    assert shared_gpus(backend(), GatheringRank(0, [])) == []

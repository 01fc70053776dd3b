"""A transport between two jobs without a common MPI: TCP between them, the MPI of each within."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

import numpy as np
from zmq import MessageTracker

from airshed.core.errors import LinkError
from airshed.parallel.communicator import Alone, Communicator
from airshed.parallel.redistribution.messages import Bytes, MessageHop
from airshed.parallel.redistribution.mpi import MpiMessages, OwnMessages
from airshed.parallel.redistribution.plan import Hop
from airshed.parallel.redistribution.sockets import Sockets

PORT: Final = 47470
_FAREWELL: Final = b"bye"
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True)
class Line:
    """The connections between two jobs.

    hosts     where the first job listens: one address, or one for each of its ranks
    port      of the first job's rank 0; its rank r listens at port + r
    timeout   how long to wait for the other job to connect and to agree to a plan [s]
    patience  how long a message may take that the other job has still to compute [s]
    """

    hosts: Sequence[str] = (LOOPBACK,)
    port: int = PORT
    timeout: float = 30.0
    patience: float = 3600.0


class TwoJobs:
    """The ranks of two jobs: those of the first are numbered from 0, those of the second from the first's size on.

    job    0 for the first, whose ranks listen; 1 for the second, whose ranks connect
    sizes  the numbers of ranks of both
    token  a secret of both jobs, see `new_token`
    ranks  this job's communicator

    Rank r of the first job binds a port when a plan first has it exchange with the second job.

    Raises LinkError if the other job does not come, has another token or another plan, or leaves.
    """

    name, one_sided = "TCP", False

    def __init__(
        self, job: int, sizes: tuple[int, int], token: str, ranks: Communicator | None = None, line: Line | None = None
    ) -> None:
        line = line or Line()
        ranks = ranks or Alone()
        if ranks.size != sizes[job]:
            raise LinkError(f"job {job} was to have {sizes[job]} ranks, but has {ranks.size}; mend sizes")
        if len(line.hosts) not in (1, sizes[0]):
            raise LinkError(f"{len(line.hosts)} hosts for {sizes[0]} ranks that listen; name one, or one for each")
        self._near = OwnMessages() if ranks.handle is None else MpiMessages(ranks.handle)
        self._first, self.sizes, self._listens = (0, sizes[0])[job], sizes, job == 0
        self.rank, self.size = self._first + ranks.rank, sum(sizes)
        self._line = line
        self._sockets = Sockets(token, line.timeout)
        self._bound = False
        self._met: set[int] = set()

    def hop(self, hop: Hop) -> MessageHop:
        """Return this rank's part of a hop, once the ranks that it exchanges with have agreed on it."""
        messages = [*hop.sends(self.rank), *hop.receives(self.rank)]
        others = {each.receiver if each.sender == self.rank else each.sender for each in messages}
        peers = sorted(other for other in others if self._far(other))
        if peers:
            self._agree(peers, sha256(repr(hop).encode()).digest())
        return MessageHop(self, hop)

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Receive into buffers while sending others; yield the numbers of the receives as they arrive."""
        near = [number for number, (sender, _) in enumerate(receives) if not self._far(sender)]
        far = {sender: number for number, (sender, _) in enumerate(receives) if self._far(sender)}
        leaving: dict[int, MessageTracker] = {}

        def near_sends() -> Iterator[tuple[int, Bytes]]:
            for receiver, buffer in sends:
                if self._far(receiver):
                    leaving[receiver] = self._sockets.send(receiver, buffer)
                else:
                    yield receiver - self._first, buffer

        here = [(receives[number][0] - self._first, receives[number][1]) for number in near]
        yield from (near[number] for number in self._near.exchange(here, near_sends()))
        waiting = set(far)
        while waiting:
            self._wait(waiting)
            for peer in self._sockets.arrived(sorted(waiting)):
                self._fill(receives[far[peer]][1], peer)
                waiting.discard(peer)
                yield far[peer]
        if not self._sockets.wait(lambda: all(each.done for each in leaving.values()), leaving, self._line.patience):
            raise self._lost(sorted(leaving), "take what it is sent")

    def close(self) -> None:
        """Close the connections when the other job does, or after its timeout; all ranks of both jobs call this.

        A job that closed first would lose what the other has not read yet.
        """
        for peer in self._met - self._sockets.gone:
            with suppress(LinkError):  # it has gone without a word
                self._sockets.send(peer, _FAREWELL)
        met = sorted(self._met)
        self._sockets.wait(
            lambda: {*self._sockets.arrived(met), *self._sockets.gone} >= self._met, (), self._line.timeout
        )
        self._sockets.close()
        self._near.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; after an error the connections alone and immediately, so that the other job notices it."""
        if kind is None:
            self.close()
        else:
            self._sockets.close(linger=0.0)

    def _far(self, rank: int) -> bool:
        return not self._first <= rank < self._first + self.sizes[not self._listens]

    def _address(self, rank: int) -> str:
        hosts = self._line.hosts
        return f"tcp://{hosts[rank if len(hosts) > 1 else 0]}:{self._line.port + rank}"

    def _agree(self, peers: list[int], digest: bytes) -> None:
        """Exchange the digest of a hop with the ranks of the other job; both sides compare it with their own."""
        if self._listens and not self._bound:
            self._sockets.listen(self._address(self.rank))
            self._bound = True
        for peer in [] if self._listens else peers:
            if not self._sockets.knows(peer):
                self._sockets.call(peer, self.rank, self._address(peer))
            self._sockets.send(peer, digest)
        answered = self._sockets.wait(
            lambda: len(self._sockets.arrived(peers)) == len(peers) or (self._sockets.refused and not self._listens),
            peers,
            self._line.timeout,
        )
        if not answered or len(self._sockets.arrived(peers)) < len(peers):
            raise self._missing(peers)
        self._met.update(peers)
        others = [bytes(self._sockets.take(peer)) for peer in peers]
        for peer in peers if self._listens else []:
            self._sockets.send(peer, digest).wait(self._line.timeout)
        if any(other != digest for other in others):
            raise LinkError("the other job has another plan: both need the same distributions, formats and strategy")

    def _missing(self, peers: list[int]) -> LinkError:
        refused, seconds = self._sockets.refused, f"{self._line.timeout:g} s"
        if self._listens:
            absent = sorted({*peers} - {*self._sockets.arrived(peers)})
            why = "somebody without its token was refused" if refused else "start it, or see that it has this address"
            return LinkError(
                f"ranks {absent} of the other job did not come to {self._address(self.rank)} in {seconds}; {why}"
            )
        where = self._address(peers[0])
        if refused:
            return LinkError(f"the job at {where} refused this one: give both the same token")
        if self._sockets.gone.intersection(peers):
            return self._lost(peers, "agree to a plan")
        if not self._sockets.connected:
            return LinkError(f"nobody listens at {where} for {seconds}; start the other job, or name its host and port")
        return LinkError(f"the job at {where} did not answer in {seconds}; is it one of Airshed's?")

    def _wait(self, waiting: set[int]) -> None:
        peers = sorted(waiting)
        if not self._sockets.wait(lambda: bool(self._sockets.arrived(peers)), peers, self._line.patience):
            raise self._lost(peers, "send")

    def _lost(self, peers: list[int], what: str) -> LinkError:
        how = "has gone" if self._sockets.gone.intersection(peers) else f"was silent for {self._line.patience:g} s"
        return LinkError(f"the other job {how}: its ranks {peers} were to {what}; see its own messages")

    def _fill(self, buffer: Bytes, peer: int) -> None:
        arrived = np.frombuffer(self._sockets.take(peer), np.uint8)
        if arrived.shape != buffer.shape:
            raise LinkError(f"rank {peer} of the other job sent {arrived.size} bytes where {buffer.size} were to come")
        np.copyto(buffer, arrived)

"""Transport between two jobs without a common MPI: TCP between the jobs, MPI within each.

Encrypted sockets connect ranks of two jobs with the same token; they notice when the other side ends.

ZeroMQ's CURVE is used with one key pair for each side, both derived from the token. The listening rank admits the key
of the calling side alone, and the calling rank accepts the key of the listening side alone. Other callers at the port
have no effect, whatever they send: only a caller that has sent a valid message is the peer.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b, sha256
from types import SimpleNamespace
from typing import Any, Final, Literal, Self

import numpy as np
import zmq
from zmq import MessageTracker
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from airshed.core.errors import LinkError
from airshed.parallel.communicator import Communicator, SingleRank
from airshed.parallel.redistribution.plan import Hop
from airshed.parallel.redistribution.redistribution import Bytes, MessageHop, MpiMessages, SingleRankMessages, Transport

SHORTEST_TOKEN: Final = 32
_BEAT: Final = 1.0
"""Heartbeat interval [s]."""
_DOUBT: Final = 3.0
"""Time [s] after the end of some connection during which missing peers are sought."""
_ASKED: Final = 0.1
"""Interval [s] of that search, however many unknown callers connect and disconnect."""
_HANDSHAKE: Final = 10.0
"""Time limit [s] for a caller to prove its token; until then it occupies one of the process's open files."""
_REFUSED: Final = (
    zmq.Event.HANDSHAKE_FAILED_AUTH,
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL,
    zmq.Event.HANDSHAKE_FAILED_PROTOCOL,
)


def new_token() -> str:
    """Return a random token for both jobs."""
    return secrets.token_hex(SHORTEST_TOKEN)


class Sockets:
    """Sockets of one rank to ranks of the other job; the rank either listens or calls.

    refused  a caller was refused (listening), or the listener refused this rank (calling)
    gone     former peers that have disconnected
    """

    def __init__(self, token: str, timeout: float) -> None:
        if len(token) < SHORTEST_TOKEN:
            raise LinkError(f"a token needs {SHORTEST_TOKEN} random characters; `new_token()` creates one")
        self._token, self._timeout = token, timeout
        self._context = zmq.Context()
        self._poller = zmq.Poller()
        self._sockets: dict[int | None, zmq.Socket[bytes]] = {}
        self._monitors: dict[zmq.Socket[bytes], int | None] = {}
        self._guard: ThreadAuthenticator | None = None
        self._inbox: dict[int, deque[zmq.Frame]] = {}  # of ranks that have sent a message and are therefore peers
        self._agreed: set[zmq.Socket[bytes]] = set()
        self._doubtful_until = self._asked = 0.0
        self.connected = self.refused = False
        self.gone: set[int] = set()

    def listen(self, address: str) -> None:
        """Wait for callers at an address, tcp://host:port."""
        self._guard = ThreadAuthenticator(self._context)
        self._guard.start()
        admitted = _public(self._token, "calling")
        only = SimpleNamespace(callback=lambda domain, key: secrets.compare_digest(key, admitted))
        self._guard.configure_curve_callback(credentials_provider=only)
        socket = self._made(zmq.ROUTER, None, "listening")
        socket.curve_server = True
        socket.router_mandatory = True
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            self.close()
            raise LinkError(f"cannot listen at {address}: {error.strerror.lower()}; name another port") from None

    def call(self, peer: int, me: int, address: str) -> None:
        """Connect to the peer that listens at an address."""
        socket = self._made(zmq.DEALER, peer, "calling")
        socket.curve_serverkey = _public(self._token, "listening")
        socket.identity = str(me).encode()
        socket.connect(address)

    def send(self, peer: int, payload: Any) -> zmq.MessageTracker:
        """Send a payload, which may be overwritten once the tracker is done."""
        direct = self._sockets.get(peer)
        try:
            if direct is not None:
                return direct.send(payload, copy=False, track=True)
            frames = [str(peer).encode(), payload]
            return self._sockets[None].send_multipart(frames, copy=False, track=True)  # type: ignore[return-value]
        except zmq.ZMQError as error:
            raise LinkError(f"rank {peer} of the other job has gone: {error.strerror.lower()}") from None

    def has_peer(self, peer: int) -> bool:
        """Return whether a peer has been called."""
        return peer in self._sockets

    def arrived(self, peers: Sequence[int]) -> list[int]:
        """Return the subset of peers from which a message has arrived."""
        return [peer for peer in peers if self._inbox.get(peer)]

    def take(self, peer: int) -> memoryview:
        """Return the first message of a peer that has not been returned before."""
        return self._inbox[peer].popleft().buffer

    def wait(self, done: Callable[[], bool], peers: Iterable[int], timeout: float) -> bool:
        """Receive until a condition holds; False after a timeout, or if one of the peers has disconnected."""
        needed = set(peers)
        deadline = time.monotonic() + timeout
        while not done():
            remaining = deadline - time.monotonic()
            if remaining <= 0.0:
                return False
            self._find_lost_peers()
            ended = bool(self.gone & needed)
            received = self._pump(int(1e3 * min(remaining, 0.1)) if not ended else 0)
            if ended and not received:
                return done()
        return True

    def close(self, linger: float | None = None) -> None:
        """Close all sockets when everything is sent or after some seconds; immediately without a peer."""
        wait = self._timeout if linger is None else linger
        milliseconds = int(1e3 * wait) if self._agreed and not self.gone else 0
        if self._guard is not None:
            self._guard.stop()
        for socket in self._sockets.values():
            socket.disable_monitor()
            socket.close(milliseconds)
        for monitor in self._monitors:
            monitor.close(0)
        self._sockets, self._monitors = {}, {}
        self._context.term()

    def _made(self, kind: int, peer: int | None, side: Literal["listening", "calling"]) -> "zmq.Socket[bytes]":
        socket = self._context.socket(kind)
        socket.curve_secretkey, socket.curve_publickey = _secret(self._token, side), _public(self._token, side)
        socket.sndhwm = socket.rcvhwm = 0  # the plan's buffers limit the size
        socket.handshake_ivl = int(1e3 * min(_HANDSHAKE, self._timeout))
        socket.heartbeat_ivl, socket.heartbeat_timeout = int(1e3 * _BEAT), int(1e3 * self._timeout)
        monitor = socket.get_monitor_socket()
        self._sockets[peer], self._monitors[monitor] = socket, peer
        self._poller.register(socket, zmq.POLLIN)
        self._poller.register(monitor, zmq.POLLIN)
        return socket

    def _pump(self, milliseconds: int) -> bool:
        """Receive messages for a limited time; return whether any arrived."""
        ready = [socket for socket, _ in self._poller.poll(milliseconds)]
        peers = {id(socket): peer for peer, socket in self._sockets.items()}
        for socket in ready:
            if socket in self._monitors:
                self._notice(socket)
                continue
            frames = socket.recv_multipart(copy=False)
            if len(frames[-1]):
                peer = peers[id(socket)]
                sender = int(frames[0].bytes) if peer is None else peer
                self._inbox.setdefault(sender, deque()).append(frames[-1])
        return bool(ready)

    def _notice(self, monitor: "zmq.Socket[bytes]") -> None:
        """Read changes of a connection from a socket's monitor."""
        kind, calls = recv_monitor_message(monitor)["event"], self._monitors[monitor]
        if kind in (zmq.Event.CONNECTED, zmq.Event.ACCEPTED):
            self.connected = True
        elif kind == zmq.Event.HANDSHAKE_SUCCEEDED:
            self._agreed.add(monitor)
        elif kind in _REFUSED:
            self.refused = True
        elif kind == zmq.Event.DISCONNECTED and calls is not None:
            if monitor in self._agreed:
                self.gone.add(calls)
            else:
                self.refused = True
        elif kind == zmq.Event.DISCONNECTED:
            self._doubtful_until = time.monotonic() + _DOUBT

    def _find_lost_peers(self) -> None:
        """Find the peers that have disconnected; a listening socket's monitor also reports the end of unknown
        callers.
        """
        now = time.monotonic()
        if not self._asked + _ASKED < now < self._doubtful_until:
            return
        self._asked = now
        for peer in [peer for peer in self._inbox if not self.has_peer(peer)]:
            try:
                self.send(peer, b"")
            except LinkError:
                self.gone.add(peer)


def _secret(token: str, side: str) -> bytes:
    return z85.encode(blake2b(token.encode(), digest_size=32, person=f"airshed {side[:7]}".encode()).digest())


def _public(token: str, side: str) -> bytes:
    return zmq.curve_public(_secret(token, side))


PORT: Final = 47470
_FAREWELL: Final = b"bye"
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True)
class JobLink:
    """Connections between two jobs.

    hosts     listening addresses of the first job: one address, or one for each of its ranks
    port      of the first job's rank 0; its rank r listens at port + r
    timeout   limit for the other job to connect and to agree to a plan [s]
    patience  limit for a message that the other job has still to compute [s]
    """

    hosts: Sequence[str] = (LOOPBACK,)
    port: int = PORT
    timeout: float = 30.0
    patience: float = 3600.0


class TwoJobs(Transport):
    """Ranks of two jobs: those of the second are numbered after those of the first.

    job    0 for the first, whose ranks listen; 1 for the second, whose ranks connect
    sizes  numbers of ranks of both
    token  common secret of both jobs, see `new_token`
    ranks  this job's communicator

    Rank r of the first job binds a port when a plan first has it exchange with the second job.

    Raises LinkError if the other job does not connect, has another token or another plan, or disconnects.
    """

    name = "TCP"

    def __init__(
        self,
        job: int,
        sizes: tuple[int, int],
        token: str,
        ranks: Communicator | None = None,
        line: JobLink | None = None,
    ) -> None:
        line = line or JobLink()
        ranks = ranks or SingleRank()
        if ranks.size != sizes[job]:
            raise LinkError(f"job {job} was to have {sizes[job]} ranks, but has {ranks.size}; mend sizes")
        if len(line.hosts) not in (1, sizes[0]):
            raise LinkError(f"{len(line.hosts)} hosts for {sizes[0]} ranks that listen; name one, or one for each")
        self._near = SingleRankMessages() if ranks.handle is None else MpiMessages(ranks.handle)
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
        """Receive into buffers while sending others; yield the indices of the receives as they arrive."""
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
            peers = sorted(waiting)
            if not self._sockets.wait(lambda: bool(self._sockets.arrived(peers)), peers, self._line.patience):  # noqa: B023
                raise self._lost(peers, "send")
            for peer in self._sockets.arrived(peers):
                buffer, arrived = receives[far[peer]][1], np.frombuffer(self._sockets.take(peer), np.uint8)
                if arrived.shape != buffer.shape:
                    raise LinkError(f"rank {peer} of the other job sent {arrived.size} bytes instead of {buffer.size}")
                np.copyto(buffer, arrived)
                waiting.discard(peer)
                yield far[peer]
        if not self._sockets.wait(lambda: all(each.done for each in leaving.values()), leaving, self._line.patience):
            raise self._lost(sorted(leaving), "receive data")

    def close(self) -> None:
        """Close the connections when the other job does, or after its timeout; collective over both jobs.

        If a job closed first, it would lose messages that the other has not read yet.
        """
        for peer in self._met - self._sockets.gone:
            with suppress(LinkError):  # the other job ended without notice
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
            if not self._sockets.has_peer(peer):
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
            why = "a caller without its token was refused" if refused else "start it, or see that it has this address"
            return LinkError(
                f"ranks {absent} of the other job did not come to {self._address(self.rank)} in {seconds}; {why}"
            )
        where = self._address(peers[0])
        if refused:
            return LinkError(f"the job at {where} refused this one: give both the same token")
        if self._sockets.gone.intersection(peers):
            return self._lost(peers, "agree to a plan")
        if not self._sockets.connected:
            return LinkError(f"no job listens at {where} for {seconds}; start the other job, or name its host and port")
        return LinkError(f"the job at {where} did not answer in {seconds}; is it one of Airshed's?")

    def _lost(self, peers: list[int], what: str) -> LinkError:
        how = "has gone" if self._sockets.gone.intersection(peers) else f"was silent for {self._line.patience:g} s"
        return LinkError(f"the other job {how}: its ranks {peers} were to {what}; see its own messages")

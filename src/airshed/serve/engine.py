"""The model's thread: takes what clients ask for between steps, advances sessions in turn, and publishes."""

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.core.errors import AirshedError, CaseError
from airshed.parallel.failure import catching_together
from airshed.runtime.using import quick_turns
from airshed.serve import types
from airshed.serve.asked import Asked, CommandTo, EndsError, FieldOf, InfoOf, as_told, telling_unkept
from airshed.serve.folders import MAIN, Began, SessionFolders
from airshed.serve.gathering import hand_out
from airshed.serve.goals import Goals
from airshed.serve.host import Apply, BranchOff, Close, Host, Open, Save, Stop, Summarise, Time
from airshed.serve.hosted import START, Hosted
from airshed.serve.keeping import SessionUse
from airshed.serve.lease import Lease
from airshed.serve.limits import Limits
from airshed.serve.opening import Made, Openings, resume_others
from airshed.serve.replays import Replays
from airshed.serve.session import Session
from airshed.serve.tell import info_of, shape_of, state_of, summary_of

_KEEP: Final = 30.0
"""Seconds of wall time after which the state of a session that runs is kept again."""

_LOOK: Final = 5.0
"""Seconds after which a server with nothing to do looks whether sessions are idle."""

Told = Callable[[types.Event], None]


class Engine:
    """Owns the models of all sessions, by :meth:`run` in one thread; other threads call the methods that ask.

    sessions  what requests read
    told      is called with what happened, from the model's thread
    """

    def __init__(self, host: Host, limits: Limits, folder: Path | None = None) -> None:
        self.host, self.limits, self._folders = host, limits, SessionFolders(folder)
        self.sessions: dict[str, Session] = {}
        self.told: Told = lambda event: None
        self._asked: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self._goals = Goals(host, self._view, self._change, self._keep)
        self._replays = Replays(host, self._view, self._replayed)
        self._fields: list[Asked] = []
        self._kept: dict[str, float] = {}
        self._openings = Openings(host, self._asked.put)
        self._branches = 0
        self._ends = self._left = self.began = False

    # what other threads call

    def open(
        self, case: RunCase, name: str | None = None, *, resume: bool = False, accept: bool = False
    ) -> "Future[types.SessionState]":
        """Ask for a session of a case; with `resume` it goes on from the newest state in its folder.

        With the main one all others come back that have a state there, unless somebody ended them.
        """
        return self._ask(Open(name or "", case, use=SessionUse(resume, accept)))

    def close(self, session: str) -> "Future[None]":
        """Ask for the end of a session."""
        return self._ask(Close(session))

    def command(self, session: str, command: types.Document, author: str) -> "Future[types.Result]":
        """Ask for what a command says."""
        return self._ask(CommandTo(session, command, author))

    def field(self, session: str, name: str) -> "Future[Any]":
        """Ask for a copy of a field at the end of the present step."""
        return self._ask(FieldOf(session, name))

    def info(self, session: str) -> "Future[types.ModelInfo]":
        """Ask for all there is to know about a session's model."""
        return self._ask(InfoOf(session))

    def summary(self, session: str) -> "Future[types.Summary]":
        """Ask for what happened so far."""
        return self._ask(Summarise(session))

    def stop(self) -> None:
        """Let :meth:`run` end after the present step; callable from a signal handler."""
        self._ends = True
        self._asked.put(Asked(None))

    def _ask(self, what: Any) -> "Future[Any]":
        asked = Asked(what)
        self._asked.put(asked)
        if self._left:  # nobody will take it
            self._refuse_all()
        return asked.reply

    # what the model's thread does

    def run(self) -> None:
        """Do what is asked for, and advance what runs, until :meth:`stop`."""
        try:
            with catching_together(self.host.ranks), quick_turns():
                while not self._ends:
                    self._take_all()
                    hand_out(self._fields, self.host, self.sessions)
                    self._fields.clear()
                    self._end_idle()
                    self._take_turns()
        finally:
            self._ends = True
            self._leave()
        self.host.give(Stop())

    def _take_turns(self) -> None:
        """Let each session that runs make a step, and each replay a batch of them."""
        for name in self._goals.sessions:
            if not self._ends:
                self._goals.advance(name)
        for name in self._replays.sessions:
            if not self._ends:
                self._replays.go_on(name)

    def _take_all(self) -> None:
        """Take all that was asked for; where nothing runs, wait for it."""
        wait = self._rest()
        while not self._ends:
            try:
                asked = self._asked.get(timeout=wait) if wait else self._asked.get_nowait()
            except queue.Empty:
                return
            wait = 0.0
            self._do(asked)

    def _rest(self) -> float:
        """Return how long [s] the next step can wait: none of a session that runs as fast as it can."""
        if self._fields or self._replays.sessions:
            return 0.0
        return self._goals.rest(_LOOK)

    def _end_idle(self) -> None:
        """End sessions that neither run nor have had a client for long; with the last of all the server."""
        if not self.limits.idle:
            return
        late = time.monotonic() - self.limits.idle
        busy = {*self._goals.sessions, *self._replays.sessions}
        idle = [name for name, each in self.sessions.items() if name not in busy and each.used < late]
        if idle and len(idle) == len(self.sessions) and not self._openings.names:
            self._ends = True
            return
        for name in idle:
            if name == MAIN:
                continue  # stays while others are of use
            with telling_unkept(self.told, name):
                self._close(name)  # its folder stays: it comes back with --resume

    def _do(self, asked: Asked) -> None:
        try:
            match asked.what:
                case FieldOf():
                    self._fields.append(asked)
                case Open():
                    self._open(asked)
                case Made():
                    self._made(asked)
                case Close():
                    self._session(asked.what.session)
                    self._folders.forget(asked.what.session)
                    self._close(asked.what.session)
                    self._folders.remove(asked.what.session)
                    asked.reply.set_result(None)
                case InfoOf():
                    asked.reply.set_result(self._info(asked.what.session))
                case Summarise():
                    state = self._session(asked.what.session).view()
                    asked.reply.set_result(summary_of(self.host.give(asked.what), state))
                case CommandTo():
                    self._command(asked.what, asked.reply)
        except Exception as error:
            asked.reply.set_exception(as_told(error))

    def _leave(self) -> None:
        """Answer all who still wait."""
        for name in self._goals.sessions:
            self._goals.end(name)
        for name in self._replays.sessions:
            self._replays.refuse(name, EndsError())
        for asked in self._fields:
            asked.reply.set_exception(EndsError())
        self._left = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        """Answer what is asked for when nobody does it any more; also from other threads."""
        with suppress(queue.Empty):
            while True:
                asked = self._asked.get_nowait()
                if isinstance(asked.what, Made) and isinstance(asked.what.result, Hosted):
                    self.host.sessions[asked.what.order.session] = asked.what.result  # all ranks close them together
                asked.reply.set_exception(EndsError())

    def _new_name(self) -> str:
        while True:
            self._branches += 1
            name = f"b{self._branches}"
            if not (name in self.sessions or name in self._openings.names or self._folders.is_taken(name)):
                return name

    def _check_room(self) -> None:
        there = len(self.sessions) + len(self._openings.names)
        if there >= self.limits.sessions:
            raise CaseError(f"there are {there} sessions, no more are allowed; end one")

    def _open(self, asked: Asked) -> None:
        self._check_room()
        name = asked.what.session or self._new_name()
        self._openings.start(replace(asked.what, session=name, folder=self._folders.of(name)), asked.reply)

    def _made(self, asked: Asked) -> None:
        """Let a session begin that is ready."""
        order, result = asked.what.order, asked.what.result
        self._openings.names.discard(order.session)
        if isinstance(result, AirshedError):
            raise result
        self.host.sessions[order.session] = result
        if order.use.resume and order.session == MAIN:
            resume_others(self._folders, result, order.use, self._ask)
        asked.reply.set_result(self._begin(order.session, result))

    def _begin(self, name: str, hosted: Hosted) -> types.SessionState:
        try:
            self._folders.note(Began(name, hosted.kept(START).case, hosted.parent))
        except BaseException:
            self.host.give(Close(name))  # nobody could ever ask for it
            raise
        state = state_of(name, hosted)
        self.sessions[name] = Session(shape_of(hosted), state, Lease(self.limits.lease), history=hosted.keeper.history)
        self.began = True
        self._renew(name)
        self._tell("opened", name)
        return self.sessions[name].view()

    def _close(self, name: str) -> None:
        self._goals.end(name)
        self._replays.refuse(name, CaseError(f"session {name} has ended"))
        del self.sessions[name]
        try:
            self.host.give(Close(name))
        finally:
            self._tell("closed", name)

    def _session(self, name: str) -> Session:
        if name not in self.sessions:
            raise CaseError(f"there is no session {name!r}; there are: {', '.join(self.sessions) or 'none'}")
        return self.sessions[name]

    def _view(self, name: str) -> types.SessionState:
        return self.sessions[name].view()

    def _info(self, name: str) -> types.ModelInfo:
        session = self._session(name)
        return info_of(self.host.sessions[name], session.shape, session.view(), self.host.give(Time(name)))

    def _command(self, asked: CommandTo, reply: "Future[types.Result]") -> None:
        session, command = self._session(asked.session), asked.command
        session.used = time.monotonic()
        match command:
            case types.Step() | types.Run():
                self._goals.set(asked.session, command, reply)
                return
            case types.Pause():
                self._goals.end(asked.session)
                made: dict[str, Any] = {}  # and the state is the one it was
            case types.Branch():
                made = {"branch": self._branch(asked.session, command, asked.author)}
            case types.Replay():
                self._replays.ask(asked.session, reply)
                return
            case _:
                made = self._apply(asked)
        reply.set_result(types.Result(state=session.view(), **made))

    def _branch(self, parent: str, command: types.Branch, author: str) -> types.SessionState:
        self._check_room()
        name = self._new_name()
        try:
            return self._begin(name, self.host.give(BranchOff(parent, name, command, author, self._folders.of(name))))
        except BaseException:
            self._folders.remove(name)
            raise

    def _apply(self, asked: CommandTo) -> dict[str, Any]:
        hosted = self.host.sessions[asked.session]
        if len(hosted.log) >= self.limits.log:
            raise CaseError(f"the log of {asked.session} holds {len(hosted.log)} commands and takes no more; end it")
        if hosted.log_bytes >= self.limits.log_bytes:
            raise CaseError(f"the log of {asked.session} has {hosted.log_bytes} bytes and takes no more; end it")
        if isinstance(asked.command, types.Snapshot):
            self._check_snapshots(hosted)
        before = hosted.simulation
        kept = self.host.give(Apply(asked.session, asked.command, asked.author))
        if hosted.simulation is not before:  # another model may have other fields
            self.sessions[asked.session].shape = shape_of(hosted)
        self._renew(asked.session)
        self.told(types.Event(event="log", session=asked.session, entry=hosted.log[-1]))
        self._change(asked.session, changed=not isinstance(asked.command, types.Snapshot | types.Forget))
        return {"snapshot": kept}

    def _check_snapshots(self, hosted: Hosted) -> None:
        held = {id(kept): kept.about.bytes for each in self.host.sessions.values() for kept in each.snapshots.values()}
        if len(hosted.snapshots) >= self.limits.snapshots or sum(held.values()) >= self.limits.snapshot_bytes:
            raise CaseError(f"{len(hosted.snapshots)} snapshots are kept, no more are allowed; forget one")

    def _replayed(self, name: str, step: int | None) -> None:
        """Tell the step that a replay has reached; None where none is under way."""
        session = self.sessions[name]
        session.state = session.state.model_copy(update={"replayed": step})
        self._tell("state", name)

    def _keep(self, name: str) -> None:
        """Keep the state of a session that runs on disk, every now and then: the clock of rank 0 decides."""
        now = time.monotonic()
        if self._folders.folder is not None and now - self._kept.setdefault(name, now) > _KEEP:
            self._kept[name] = now
            with telling_unkept(self.told, name):  # a full disk is no reason to lose the run
                self.host.give(Save(name))

    def _change(self, name: str, *, changed: bool = True, error: str | None = None) -> None:
        """Publish the state of a session, of a new version if it changed; one that failed stays so until then."""
        session = self.sessions[name]
        error = error if changed else session.state.error
        version = session.state.version + (1 if changed else 0)
        goal = self._goals.of(name)
        state = state_of(name, self.host.sessions[name], goal, version=version, error=error)
        session.state = state.model_copy(update={"replayed": session.state.replayed})
        self._tell("state", name)

    def _renew(self, name: str) -> None:
        hosted, session = self.host.sessions[name], self.sessions[name]
        session.log = list(hosted.log)
        session.snapshots = [each.about for each in hosted.snapshots.values()]

    def _tell(self, event: Any, name: str) -> None:
        session = self.sessions.get(name)
        self.told(types.Event(event=event, session=name, state=None if session is None else session.view()))

"""The model's thread: handles requests between steps, advances the sessions, and publishes their states."""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.core.errors import AirshedError, CaseError
from airshed.core.stages import observing_stages
from airshed.parallel.failure import catching_together
from airshed.runtime.locking import quick_turns
from airshed.serve.access.lease import Lease
from airshed.serve.access.limits import Limits
from airshed.serve.fields.published import Session
from airshed.serve.model.advance import Goals, Replays
from airshed.serve.model.allowance import check_count, check_log, states_before
from airshed.serve.model.copies import FieldRequests
from airshed.serve.model.description import air_of, info_of, shape_of, state_of, summary_of
from airshed.serve.model.host import Host
from airshed.serve.model.requests import Request
from airshed.serve.model.sessions import AUTHOR, DAY, START, HostedSession
from airshed.serve.model.store import MAIN, SessionFolders, SessionRequest
from airshed.serve.protocol import messages, types
from airshed.serve.protocol.errors import EndsError, as_airshed_error
from airshed.serve.records.recording import SessionRecords, recorded_fields
from airshed.serve.scenarios.branches import branch_name, opened_name
from airshed.serve.scenarios.names import unique_name
from airshed.serve.stations.comparison import case_observations

_SAVE: Final = 30.0
"""Least seconds of wall time between two stored states of a session; snapshots are stored at once."""

_IDLE_CHECK: Final = 5.0
"""Seconds between checks for idle sessions while the server has no work."""

Reply = Future[Any]


class Engine:
    """Owner of the models of all sessions: :meth:`run` uses them in one thread; other methods queue requests to it.

    sessions  published states, which HTTP and WebSockets read
    on_event  callback for each event, called in the model's thread
    """

    def __init__(self, host: Host, limits: Limits, folder: Path | None = None) -> None:
        self.host, self.limits, self._folders = host, limits, SessionFolders(folder)
        self.sessions: dict[str, Session] = {}
        self.on_event: Callable[[messages.Event], None] = lambda event: None
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._goals = Goals(host, self._view, self._publish, self._save)
        self._replays = Replays(host, self._view, self._publish_replay)
        self._fields = FieldRequests(host, self.sessions)
        self._saved: dict[str, tuple[float, int]] = {}
        self.openings: dict[str, str] = {}
        self._offered: Callable[[], Future[types.SessionState]] | None = None
        self.offered_case: RunCase | None = None
        self._opened: Future[types.SessionState] | None = None
        self._branches = 0
        self._ends = self._left = self.began = False

    # Requests of other threads.

    def open(
        self, case: RunCase, name: str | None = None, *, resume: bool = False, accept: bool = False,
        scenario: str = "", changes: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Future[types.SessionState]":  # fmt: skip
        """Request a session of a case; with `resume` it continues from the newest state in its folder.

        With the main session, all other sessions with a stored state are resumed, unless a client ended them.
        """
        request = SessionRequest(name or "", case, resume=resume, accept=accept, scenario=scenario, changes=changes)
        return self._request(self._open, request)

    def show(self, session: Session) -> None:
        """Publish a session without a model, before :meth:`run`."""
        self.sessions[session.name] = session
        self.began = True

    def offer(self, case: RunCase, on_begin: Callable[[], None] = lambda: None) -> None:
        """Set up the main session of a case when it is requested first, see :meth:`begin_offered`.

        on_begin  called before the set-up begins
        """

        def begin() -> "Future[types.SessionState]":
            on_begin()
            return self.open(case, MAIN)

        self._offered, self.offered_case = begin, case

    @property
    def offers(self) -> bool:
        """Return whether a main session is set up on request."""
        return self._offered is not None

    def begin_offered(self, name: str = MAIN) -> "Future[types.SessionState] | None":
        """Request the offered session, after a failure again; None if no session of this name is offered."""
        if self._offered is None or name != MAIN:
            return None
        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            self._opened = self._offered()
        return self._opened

    def close(self, session: str) -> "Future[None]":
        """Request the end of a session."""
        return self._request(self._end, session)

    def command(self, session: str, command: types.Document, author: str) -> "Future[types.Result]":
        """Request the execution of a command."""
        handlers: dict[type, Callable[..., None]] = {
            types.Step: self._set_goal, types.Run: self._set_goal, types.Pause: self._pause, types.Branch: self._branch,
            types.Replay: self._replay, types.RenameScenario: self._rename,
        }  # fmt: skip
        request = Request(partial(handlers.get(type(command), self._apply), session, command, author))
        self._requests.put(request)
        if self._left:  # the model's thread has ended
            self._refuse_all()
        return request.reply

    def field(self, session: str, name: str) -> "Future[Any]":
        """Request a copy of a field at the end of the present step."""
        return self._request(self._fields.add, session, name)

    def info(self, session: str) -> "Future[types.ModelInfo]":
        """Request the description of a session's model."""
        return self._request(self._info, session)

    def summary(self, session: str) -> "Future[types.Summary]":
        """Request the summary of the run so far."""
        return self._request(self._summary, session)

    def stop(self) -> None:
        """End :meth:`run` after the present step; callable from a signal handler."""
        self._ends = True
        self._requests.put(Request(lambda reply: None))

    def _request(self, handler: Callable[..., None], *arguments: Any) -> "Future[Any]":
        """Queue a call of a handler in the model's thread, with the arguments and then the reply."""
        request = Request(partial(handler, *arguments))
        self._requests.put(request)
        if self._left:  # the model's thread has ended
            self._refuse_all()
        return request.reply

    # The loop of the model's thread.

    def run(self) -> None:
        """Handle requests and advance sessions that run, until :meth:`stop`."""
        try:
            with catching_together(self.host.ranks), quick_turns():
                while not self._ends:
                    wait = 0.0 if self._fields.waiting or self._replays.replies else self._goals.wait_time(_IDLE_CHECK)
                    while not self._ends and (request := self._next_request(wait)) is not None:
                        wait = 0.0
                        try:
                            request.handle(request.reply)
                        except Exception as error:
                            request.reply.set_exception(as_airshed_error(error))
                    self._fields.copy()
                    for name in self.sessions.keys() & (self.host.sessions.keys() - self._goals.goals.keys()):
                        self._save_changed(name)
                    self._end_idle()
                    # Each running session makes a step, and each replay a batch of steps.
                    for work, names in ((self._goals, self._goals.goals), (self._replays, self._replays.replies)):
                        for name in list(names):
                            if not self._ends:
                                work.advance(name)
        finally:
            self._ends = True
            for each in self.sessions.values():
                if isinstance(each.recorded, SessionRecords):
                    each.recorded.close()
            self._leave()
        self.host.stop()

    def _next_request(self, wait: float) -> Request | None:
        try:
            return self._requests.get(timeout=wait) if wait else self._requests.get_nowait()
        except queue.Empty:
            return None

    def _end_idle(self) -> None:
        """End sessions that do not run and have had no client for long; the server ends with the last one."""
        if not self.limits.idle:
            return
        late = time.monotonic() - self.limits.idle
        busy = {*self._goals.goals, *self._replays.replies}
        idle = [name for name, each in self.sessions.items() if name not in busy and each.used < late]
        if idle and len(idle) == len(self.sessions) and not self.openings:
            self._ends = True
            return
        for name in idle:
            if name != MAIN and self.sessions[name].finished is None:  # these stay while others are in use
                with self._reporting_unsaved(name):
                    self._close(name)  # its folder stays, for --resume

    def _leave(self) -> None:
        """Reply to all requests that still wait."""
        for name in list(self._goals.goals):
            self._goals.end(name)
        for name in list(self._replays.replies):
            self._replays.refuse(name, EndsError())
        self._fields.refuse(EndsError())
        self._left = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        """Refuse requests that arrived after the end; also called by other threads."""
        while (request := self._next_request(0.0)) is not None:
            if request.prepared is not None:  # for the collective close
                self.host.sessions[request.prepared[0]] = request.prepared[1]
            request.reply.set_exception(EndsError())

    # Start and end of sessions.

    def _open(self, opening: SessionRequest, reply: Reply) -> None:
        """Prepare a session: on one rank in a worker thread; several ranks prepare it together, between steps."""
        check_count(self.sessions.values(), len(self.openings), self.limits)
        name = opening.session or self._new_name()
        opening = replace(opening, session=name, folder=self._folders.of(name))
        self._begin_stage(name, "preparing")
        if self.host.ranks.handle is None:
            prepare = partial(self.host.prepare, opening)
            threading.Thread(target=self._prepare, args=(prepare, opening, reply), daemon=True).start()
        else:
            self._prepare(partial(self.host.give, "open", name, opening), opening, reply)

    def _prepare(self, prepare: Callable[[], HostedSession], opening: SessionRequest, reply: Reply) -> None:
        try:
            with observing_stages(partial(self._begin_stage, opening.session)):
                result: HostedSession | AirshedError = prepare()
        except Exception as error:
            result = as_airshed_error(error)
        prepared = (opening.session, result) if isinstance(result, HostedSession) else None
        self._requests.put(Request(partial(self._begin_prepared, opening, result), reply, prepared))
        if self._left:
            self._refuse_all()

    def _begin_prepared(self, opening: SessionRequest, result: HostedSession | AirshedError, reply: Reply) -> None:
        """Begin a prepared session; with a resumed main session, request all other sessions that were stored."""
        if isinstance(result, AirshedError):
            self._end_stages(opening.session)
            raise result
        self.host.sessions[opening.session] = result
        if opening.resume:
            result.scenario = self._folders.scenario_of(opening.session)
        else:
            result.scenario = self._unique(opening.scenario or opened_name(result, opening.changes))
        if opening.resume and opening.session == MAIN:
            for other in self._folders.others(result.snapshot(START).case):
                if isinstance(other, str):
                    result.notices.append(other)
                    continue
                opened = self._request(self._open, replace(other, resume=True, accept=opening.accept))
                opened.add_done_callback(partial(_note_failure, result, other.session))
        reply.set_result(self._begin(opening.session, result))

    def _begin_stage(self, name: str, stage: str) -> None:
        """Publish the stage of the set-up of a session."""
        self.openings[name] = stage
        self.on_event(messages.Event(event="opening", session=name, stage=stage))

    def _end_stages(self, name: str) -> None:
        """Publish that the set-up of a session has ended."""
        if self.openings.pop(name, None) is not None:
            self.on_event(messages.Event(event="opening", session=name, stage=""))

    def _begin(self, name: str, hosted: HostedSession) -> types.SessionState:
        try:
            self._note(name, hosted)
        except BaseException:
            self.host.give("close", name)  # no client could reach it
            raise
        history = () if hosted.store is None else hosted.store.history
        self.sessions[name] = Session(
            shape_of(hosted), state_of(name, hosted), Lease(self.limits.lease), history=history,
            observations=case_observations(hosted.simulation.case),
        )  # fmt: skip
        self.began = True
        self._begin_recording(name, hosted)
        self._publish_log(name)
        self._event("opened", name)
        self._end_stages(name)
        return self.sessions[name].view()

    def _begin_recording(self, name: str, hosted: HostedSession) -> None:
        """Begin the recording of a session; it continues that of its folder, or has that of its parent so far."""
        session = self.sessions[name]
        names, every = recorded_fields(hosted.simulation.case, session.shape, air_of(hosted))
        if not names:
            return
        seconds, store = hosted.simulation.seconds, hosted.store

        def on_record(moment: types.Moment) -> None:
            self.on_event(messages.Event(event="record", session=name, moment=moment))

        recording = SessionRecords(
            session.shape, names, every, self._folders.of(name),
            seconds if store is not None and store.resumed is not None else None, on_record=on_record,
            on_failure=partial(self._report, name),
        )  # fmt: skip
        parent = self.sessions.get(hosted.parent or "")
        if parent is not None and isinstance(parent.recorded, SessionRecords) and not recording.moments:
            recording.copy(parent.recorded, min(seconds, hosted.shared))
        session.recorded = recording
        self._record(name)

    def _record(self, name: str) -> None:
        """Record the fields of the present state of a session if a record is due."""
        session = self.sessions[name]
        recording = session.recorded
        if not isinstance(recording, SessionRecords) or not recording.is_due(session.state.seconds):
            return
        there = [each for each in recording.names if each in session.shape.variables]
        needed = tuple(each for each in there if session.present(each) is None)
        if needed:
            session.publish(self.host.give("values", name, needed))
        recording.add(session.state, {each: session.copies[each] for each in there})

    def _end(self, name: str, reply: Reply) -> None:
        self._session(name)
        self._folders.forget(name)
        self._close(name)
        self._folders.remove(name)
        reply.set_result(None)

    def _close(self, name: str) -> None:
        self._goals.end(name)
        self._replays.refuse(name, CaseError(f"session {name} has ended"))
        recorded = self.sessions.pop(name).recorded
        try:
            if isinstance(recorded, SessionRecords):
                recorded.close()
            self.host.give("close", name)
        finally:
            self._event("closed", name)

    def _new_name(self) -> str:
        while True:
            self._branches += 1
            name = f"b{self._branches}"
            if not (name in self.sessions or name in self.openings or self._folders.is_taken(name)):
                return name

    def _session(self, name: str) -> Session:
        if name not in self.sessions:
            raise CaseError(f"there is no session {name!r}; there are: {', '.join(self.sessions) or 'none'}")
        return self.sessions[name]

    # Handlers of commands and queries.

    def _info(self, name: str, reply: Reply) -> None:
        session = self._session(name)
        timings = self.host.give("timings", name)
        reply.set_result(info_of(self.host.sessions[name], session.shape, session.view(), timings))

    def _summary(self, name: str, reply: Reply) -> None:
        state = self._session(name).view()
        reply.set_result(summary_of(self.host.give("summary", name), state))

    def _set_goal(self, name: str, command: types.Step | types.Run, author: str, reply: Reply) -> None:
        self._session(name).used = time.monotonic()
        self._goals.set(name, command, reply)

    def _pause(self, name: str, command: types.Pause, author: str, reply: Reply) -> None:
        self._session(name).used = time.monotonic()
        self._goals.end(name)
        reply.set_result(types.Result(state=self._view(name)))

    def _replay(self, name: str, command: types.Replay, author: str, reply: Reply) -> None:
        self._session(name).used = time.monotonic()
        self._replays.replies.setdefault(name, []).append(reply)

    def _branch(self, parent: str, command: types.Branch, author: str, reply: Reply) -> None:
        self._session(parent).used = time.monotonic()
        check_count(self.sessions.values(), len(self.openings), self.limits)
        name = self._new_name()
        scenario = self._unique(command.scenario or branch_name(self.host.sessions[parent], command))
        command = command.model_copy(update={"scenario": scenario})
        try:
            hosted = self.host.give("branch", name, parent, command, author, self._folders.of(name))
            branch = self._begin(name, hosted)
        except BaseException:
            self._folders.remove(name)
            raise
        reply.set_result(types.Result(state=self._view(parent), branch=branch))

    def _rename(self, name: str, command: types.RenameScenario, author: str, reply: Reply) -> None:
        """Give the scenario of a session another name."""
        hosted = self.host.sessions[self._session(name).name]
        hosted.scenario = self._unique(command.scenario, name)
        self._note(name, hosted)
        self._publish(name, changed=False)
        reply.set_result(types.Result(state=self._view(name)))

    def _note(self, name: str, hosted: HostedSession) -> None:
        """Store the initial case and the name of a session."""
        self._folders.note(name, hosted.snapshot(START).case, hosted.parent, hosted.scenario)

    def _unique(self, scenario: str, session: str = "") -> str:
        """Return the name of a scenario that no other session has."""
        return unique_name(scenario, [each.state.scenario for name, each in self.sessions.items() if name != session])

    def _apply(self, name: str, command: types.Document, author: str, reply: Reply) -> None:
        """Apply a command that changes the state or its snapshots, and publish the result."""
        session = self._session(name)
        session.used = time.monotonic()
        hosted = self.host.sessions[name]
        check_log(self.host, self.limits, name, command)
        model = hosted.simulation.model
        taken = self.host.give("apply", name, command, author, states_before(self.host, self.limits, command))
        if hosted.simulation.model is not model:  # another model may have other fields
            session.shape = shape_of(hosted)
        if isinstance(session.recorded, SessionRecords) and isinstance(command, types.Restart | types.Restore):
            session.recorded.rewind(hosted.snapshot(getattr(command, "snapshot", START)).reach)
        self._publish_log(name)
        self.on_event(messages.Event(event="log", session=name, entry=hosted.log[-1]))
        self._publish(name, changed=not isinstance(command, types.Snapshot | types.Forget))
        reply.set_result(types.Result(state=session.view(), snapshot=taken))

    # Publication of states, logs and events.

    def _view(self, name: str) -> types.SessionState:
        return self.sessions[name].view()

    def _publish(self, name: str, *, changed: bool = True, error: str | None = None) -> None:
        """Publish the state of a session, as a new version if it changed; a failed session stays failed until then."""
        session = self.sessions[name]
        error = error if changed else session.state.error
        version = session.state.version + (1 if changed else 0)
        state = state_of(name, self.host.sessions[name], self._goals.goals.get(name), version=version, error=error)
        session.state = state.model_copy(update={"replayed": session.state.replayed})
        if changed and error is None:
            self._record(name)
        self._event("state", name)

    def _publish_replay(self, name: str, step: int | None) -> None:
        """Publish the step that a replay has reached; None where none is running."""
        session = self.sessions[name]
        session.state = session.state.model_copy(update={"replayed": step})
        self._event("state", name)

    def _publish_log(self, name: str) -> None:
        hosted, session = self.host.sessions[name], self.sessions[name]
        session.log = list(hosted.log)
        session.snapshots = [each.about for each in hosted.snapshots.values()]

    def _event(self, event: Any, name: str) -> None:
        session = self.sessions.get(name)
        self.on_event(messages.Event(event=event, session=name, state=None if session is None else session.view()))

    def _save(self, name: str) -> None:
        """Store the state of a session that runs: at the start of the day after a spin-up, and every `_SAVE` seconds.

        The clock of rank 0 decides.
        """
        if self.sessions[name].state.seconds < 0.0 <= self.host.sessions[name].simulation.seconds:
            with self._reporting_unsaved(name):
                self.host.give("apply", name, types.Snapshot(text=DAY), AUTHOR)
                self._publish_log(name)
        self._save_changed(name)

    def _save_changed(self, name: str) -> None:
        """Store the state of a session if it has changed, `_SAVE` seconds after it was last stored."""
        now, version = time.monotonic(), self.sessions[name].state.version
        last, stored = self._saved.setdefault(name, (now, 0))
        if self._folders.folder is not None and version != stored and now - last > _SAVE:
            self._saved[name] = now, version
            with self._reporting_unsaved(name):  # a full disk must not end the run
                self.host.give("save", name)

    @contextmanager
    def _reporting_unsaved(self, name: str) -> Any:
        """Publish an error within the block as a problem: the state of the session was not stored."""
        try:
            yield
        except Exception as error:
            self._report(name, as_airshed_error(error))

    def _report(self, name: str, error: AirshedError) -> None:
        """Publish that a session was not stored."""
        problem = types.Problem(error=type(error).__name__, message=f"session {name} was not stored: {error}")
        self.on_event(messages.Event(event="problem", session=name, problem=problem))


def _note_failure(main: HostedSession, name: str, opened: "Future[Any]") -> None:
    if opened.exception() is not None:
        main.notices.append(f"session {name} cannot be resumed: {opened.exception()}")

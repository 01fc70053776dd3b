"""All orders in which two ranks can look at their boards, one look after the other, where a board has two places.

Ranks are threads that take turns. An order is tried by playing it from the beginning; from a state that was met before
no further orders are tried, as each word has one writer, and what ranks have done so far says what all words are.
"""

import threading

import numpy as np
import pytest

from airshed.parallel import boards
from airshed.parallel.boards import _READ, _WRITTEN, Boards

from .test_boards import Memory

BEGIN = -1
PROGRAMS = {  # of each rank: notices that it begins, and asks for by their number
    "at once": ([BEGIN, 0, BEGIN, 1, BEGIN, 2, BEGIN, 3],) * 2,
    "one late": ([BEGIN, BEGIN, 0, BEGIN, 1, BEGIN, 2, 3],) * 2,
    "one never": ([BEGIN, BEGIN, 1, BEGIN, 2, BEGIN, 3],) * 2,
    "at once, and last of all": ([BEGIN, 0, BEGIN, 1, BEGIN, 2, BEGIN, 3], [BEGIN] * 4 + [3, 0, 2, 1]),
}


class Careless(Boards):
    """Writes without waiting for who has not read yet."""

    def _have_come(self, word, place, number):
        return word == _READ or super()._have_come(word, place, number)


class HastyWriter(Boards):
    """Says that it has written before it has."""

    def _content(self, number, like):
        if number not in self._unread:
            self._tell(_WRITTEN, number)
        return super()._content(number, like)


class HastyReader(Boards):
    """Says that it has read before it has."""

    def _content(self, number, like):
        if number in self._unread:
            self._tell(_READ, number)
        return super()._content(number, like)


class Forgetful(Boards):
    """Leaves unread, also where its place is needed, what nobody has asked for."""

    def begin(self, values, combine):
        unread, self._unread = self._unread, {}
        notice = super().begin(values, combine)
        self._unread |= unread
        return notice


class Stopped(BaseException):
    """The game is over."""


class Game:
    """One order of turns: those that are given, and then the first rank's that can do something."""

    def __init__(self, kind, programs, order, monkeypatch):
        self.order, self.trace, self.found = order, [], [{} for _ in programs]
        self._parked, self._go = threading.Semaphore(0), [threading.Semaphore(0) for _ in programs]
        self._done, self._changes, self._over = [False] * len(programs), 0, False
        self._place, self._idle_since = [0] * len(programs), [-1] * len(programs)
        self._own, memory = threading.local(), Memory(len(programs))
        monkeypatch.setattr(boards, "show", self._in_turn(boards.show, changes=True))
        monkeypatch.setattr(boards, "shown", self._in_turn(boards.shown))
        self._boards = [kind(memory, rank, self._until) for rank in range(len(programs))]
        for each in self._boards:
            monkeypatch.setattr(each, "_content", self._before_a_turn(each._content))
        self._threads = [threading.Thread(target=self._play, args=each) for each in enumerate(programs)]

    def play(self):
        """Play to the end; return whether it was reached."""
        for thread in self._threads:
            thread.start()
            self._parked.acquire()
        ready = self._ready()
        while ready:
            count = len(self.trace)
            rank = self.order[count] if count < len(self.order) else ready[0]
            idle = tuple(since == self._changes for since in self._idle_since)
            self.trace.append(((*self._place, *idle), rank, ready))
            self._go[rank].release()
            self._parked.acquire()
            ready = self._ready()
        finished, self._over = all(self._done), True
        for go, thread in zip(self._go, self._threads, strict=True):
            go.release()
            thread.join()
        return finished

    def _ready(self):
        return [r for r, done in enumerate(self._done) if not done and self._idle_since[r] != self._changes]

    def _play(self, rank, program):
        self._own.rank, own, notices = rank, self._boards[rank], []
        try:
            self._turn()
            for what in program:
                if what == BEGIN:
                    notices.append(own.begin(np.array([10 ** (2 * len(notices) + rank)]), np.add))
                else:
                    self._until(notices[what].arrived)
                    self.found[rank][what] = int(notices[what].result()[0])
        except Stopped:
            return
        self._done[rank] = True
        self._parked.release()

    def _turn(self):
        self._place[self._own.rank] += 1
        self._parked.release()
        self._go[self._own.rank].acquire()
        if self._over:
            raise Stopped

    def _until(self, arrived):
        """Wait: who has looked in vain can do nothing until another rank has changed something."""
        rank = self._own.rank
        before = self._place[rank]
        while not arrived():
            self._place[rank], self._idle_since[rank] = before, self._changes

    def _in_turn(self, look, *, changes=False):
        def turn(*given):
            self._turn()
            self._changes += changes
            return look(*given)

        return turn

    def _before_a_turn(self, find):
        """Others may have their turn before what was found is written or read."""

        def turn(*given):
            found = find(*given)
            self._turn()
            return found

        return turn


def games(kind, programs):
    """Play one order after the other; yield of each whether all ranks got what was written."""
    seen, untried = set(), [()]
    right = [{what: 11 * 100**what for what in program if what != BEGIN} for program in programs]
    while untried:
        order = untried.pop()
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(boards, "PLACES", 2)
            game = Game(kind, programs, order, monkeypatch)
            yield game.play() and game.found == right
        turns = [rank for _, rank, _ in game.trace]
        for count, (state, rank, ready) in list(enumerate(game.trace))[len(order) :]:
            if state in seen:
                break
            seen.add(state)
            untried += [(*turns[:count], other) for other in ready if other != rank]


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_no_order_of_turns_does_a_rank_miss_or_mistake_what_was_written(name):
    right = list(games(Boards, PROGRAMS[name]))
    assert all(right)
    assert len(right) > 100


@pytest.mark.parametrize("kind", [Careless, HastyWriter, HastyReader, Forgetful])
def test_what_ranks_must_not_do_goes_wrong_in_some_order(kind):
    """The control."""
    assert not all(right for programs in PROGRAMS.values() for right in games(kind, programs))

"""One thread that writes behind the computation, in the order in which it is told."""

import queue
import threading
from collections.abc import Callable


class BackgroundWriter:
    """Runs jobs one after the other on its own thread, at most ``capacity`` of them waiting.

    The order is part of the contract: a restart is published after the records that were submitted before it. The
    first error of a job stops all later ones and is raised in the caller by every following call.
    """

    def __init__(self, capacity: int = 4) -> None:
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(capacity)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="airshed-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        """Queue a job, and wait while the queue is full; raises the error of an earlier job."""
        self._raise_error()
        self._jobs.put(job)

    def wait(self) -> None:
        """Return when all jobs are done; raises the error of one that failed."""
        self._jobs.join()
        self._raise_error()

    def close(self) -> None:
        """Finish the waiting jobs and end the thread; errors stay unraised, as a run that failed closes too."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if self._error is None:
                    job()
            except BaseException as error:  # it belongs to the caller's thread, whatever it is
                self._error = error
            finally:
                self._jobs.task_done()
        self._jobs.task_done()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

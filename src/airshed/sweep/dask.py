"""The executor of a Dask cluster, for members of a sweep on other machines that share the file system."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Final

from airshed.core.errors import AirshedError

_TIMEOUT: Final = 30.0
"""Seconds to wait for a scheduler."""


def _threads(client: Any) -> int:
    """Return the number of threads of all workers; 0 if the scheduler does not respond."""
    try:
        return sum(client.nthreads().values())
    except Exception:  # a lost scheduler leads to many kinds of errors
        return 0


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Yield an executor that runs functions on the workers of a Dask scheduler, and a count of their threads.

    Raises AirshedError without the package `distributed`, and where there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise AirshedError(
            "--scheduler needs the package distributed: pip install 'airshed[dask]', on the workers too"
        ) from error
    try:
        client = Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise AirshedError(
            f"there is no Dask scheduler at {address} ({' '.join(str(error).split())}); give the address that it "
            "prints when it starts, such as tcp://10.0.0.1:8786"
        ) from error
    with client:
        yield client.get_executor(pure=False, retries=0), lambda: _threads(client)

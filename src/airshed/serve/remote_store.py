"""The Zarr store of a live session, for xarray."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype


class RemoteStore(Store):
    """Keys that are fetched when they are read.

    fetch  returns what a key holds, or None
    """

    supports_writes = supports_deletes = supports_partial_writes = supports_listing = False

    def __init__(self, fetch: Callable[[str], bytes | None]) -> None:
        super().__init__(read_only=True)
        self._fetch = fetch

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return what a key holds, always whole."""
        assert byte_range is None, "arrays are one chunk each"
        content = await asyncio.to_thread(self._fetch, key)
        return None if content is None else prototype.buffer.from_bytes(content)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return what keys hold."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Return whether a key is there."""
        return await asyncio.to_thread(self._fetch, key) is not None

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse: set fields by commands."""
        raise NotImplementedError("a live session is changed by commands")

    async def delete(self, key: str) -> None:
        """Refuse: set fields by commands."""
        raise NotImplementedError("a live session is changed by commands")

    async def list(self) -> AsyncIterator[Any]:
        """Yield nothing: the metadata hold all names."""
        return
        yield

    async def list_prefix(self, prefix: str) -> AsyncIterator[Any]:
        """Yield nothing: the metadata hold all names."""
        return
        yield

    async def list_dir(self, prefix: str) -> AsyncIterator[Any]:
        """Yield nothing: the metadata hold all names."""
        return
        yield

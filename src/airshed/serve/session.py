"""A session as requests see it: its state, copies of fields at a version, who controls it. No model is touched here."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.serve import types
from airshed.serve.frames import Payload, encode, window_of
from airshed.serve.lease import Lease
from airshed.serve.shape import Shape

Array = npt.NDArray[Any]

_PAYLOADS: Final = 64
"""Encoded values that are kept for further clients who ask for the same."""


@dataclass(frozen=True)
class Copy:
    """A field as it was at a version of the state, on the map; of a difference, at two versions."""

    variable: types.Variable
    state: types.SessionState
    values: Array
    other: int = 0

    @property
    def version(self) -> int:
        """What grows with every change of either state."""
        return self.state.version + self.other

    def less(self, other: "Copy") -> "Copy":
        """Return the difference to another copy; raises CaseError for a field of another shape."""
        if other.values.shape != self.values.shape or other.variable.unit != self.variable.unit:
            raise CaseError(
                f"{self.variable.name} of {other.state.session} lies on other cells, and cannot be compared"
            )
        return Copy(self.variable, self.state, self.values - other.values, other.state.version)


@dataclass(frozen=True)
class Selection:
    """What of a field a client wants, and how."""

    level: int | None = None
    window: types.Window | None = None
    stride: int = 1
    encoding: types.Encoding = "float32"
    range: tuple[float, float] | None = None
    compress: bool = False
    less: str | None = None


@dataclass
class Session:
    """What the server knows of a session.

    state    replaced as a whole by the model's thread at the end of steps
    history  what happened to it besides commands that its results must say
    """

    shape: Shape
    state: types.SessionState
    lease: Lease
    copies: dict[str, Copy] = field(default_factory=dict)
    log: list[types.LogEntry] = field(default_factory=list)
    snapshots: list[types.SnapshotInfo] = field(default_factory=list)
    history: tuple[str, ...] = ()
    used: float = field(default_factory=time.monotonic)
    _payloads: OrderedDict[Any, tuple[Array, Payload]] = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        """The name of the session."""
        return self.state.session

    def view(self) -> types.SessionState:
        """Return the state, with who controls it now."""
        holder, asking = self.lease.held_by(), self.lease.asking
        return self.state.model_copy(
            update={"controller": holder and holder.author, "asking": asking and asking.author}
        )

    def present(self, variable: str) -> Copy | None:
        """Return the copy of a field if it is that of the present state."""
        copy = self.copies.get(variable)
        return copy if copy is not None and copy.state.version == self.state.version else None

    def publish(self, values: dict[str, Array], state: types.SessionState) -> None:
        """Keep copies of fields, as they come from the model, of the present state."""
        for name, each in values.items():
            variable = self.shape.variable(name)
            self.copies[name] = Copy(variable, state, self.shape.on_map(variable, np.asarray(each, np.float32)))

    def frame(
        self, copy: Copy, chosen: Selection, subscription: str | None = None, dropped: int = 0
    ) -> tuple[dict[str, Any], bytes]:
        """Return the header and the bytes of a part of a copy; raises CaseError for a part that is not there."""
        self.shape.check(copy.variable, chosen.level, chosen.window)
        if chosen.range is not None and chosen.range[0] > chosen.range[1]:
            raise CaseError(f"range = {list(chosen.range)} is none; give two rising numbers")
        values, payload = self._payload(copy, chosen)
        state = copy.state
        return {
            "variable": copy.variable.name, "unit": copy.variable.unit,
            "dims": copy.variable.dims[len(copy.variable.dims) - values.ndim :], "shape": values.shape,
            "dtype": payload.dtype, "encoding": payload.encoding, "range": payload.range,
            "missing": 255 if payload.encoding == "byte" else "NaN", "compression": payload.compression,
            "length": len(payload.data), "session": state.session, "version": state.version, "step": state.step,
            "seconds": state.seconds, "time": state.time, "level": chosen.level, "window": chosen.window,
            "stride": chosen.stride, "less": chosen.less, "subscription": subscription, "dropped": dropped,
        }, payload.data  # fmt: skip

    def _payload(self, copy: Copy, chosen: Selection) -> tuple[Array, Payload]:
        key = copy.variable.name, copy.state.version, copy.other, chosen
        if key not in self._payloads:
            values = window_of(copy.values, chosen.level, chosen.window, chosen.stride)
            self._payloads[key] = values, encode(values, chosen.encoding, chosen.range, compress=chosen.compress)
            if len(self._payloads) > _PAYLOADS:
                self._payloads.popitem(last=False)
        return self._payloads[key]

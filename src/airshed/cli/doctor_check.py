"""What `airshed doctor` says of one thing."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "missing"]


@dataclass(frozen=True)
class Check:
    """One thing looked at: how it is, what was found, and, unless all is well, what to do."""

    name: str
    status: Status
    detail: str
    advice: str = ""

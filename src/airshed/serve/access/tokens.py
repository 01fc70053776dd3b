"""Tokens of a server: one to control, one to watch, and the tokens of clients with granted access."""

import hmac
import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from airshed.core.atomic import write_whole
from airshed.serve.protocol.access import Role

FILE: Final = ".tokens"
"""Name of the file of tokens in the folder of a server's sessions."""

_MOST_GRANTS: Final = 64
_OF_OTHERS: Final = 0o077


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Grant:
    """Access of a client: its role, and the name that it gave."""

    role: Role
    name: str


@dataclass
class Tokens:
    """Tokens and their roles.

    The tokens are independent: `watch` gives no information about `control`, which may be short.

    granted  by token
    file     in which they are stored for their owner alone; None stores nothing
    """

    control: str = field(default_factory=new_token)
    watch: str = field(default_factory=new_token)
    granted: dict[str, Grant] = field(default_factory=dict)
    file: Path | None = None

    def role_of(self, given: str) -> Role | None:
        """Return the role of a token, None for a wrong one. All tokens are compared, each in constant time."""
        sent = given.encode("utf-8", "surrogatepass")
        roles: dict[str, Role] = {self.watch: "watch", self.control: "control"}
        roles |= {token: each.role for token, each in self.granted.items()}
        found: Role | None = None
        for token, role in roles.items():
            if hmac.compare_digest(sent, token.encode()):
                found = role
        return found

    def grant(self, role: Role, name: str) -> str:
        """Return a new token with a role; the oldest of too many grants ends."""
        token = new_token()
        self.granted[token] = Grant(role, name)
        while len(self.granted) > _MOST_GRANTS:
            del self.granted[next(iter(self.granted))]
        self.store()
        return token

    def store(self) -> None:
        """Write the file whole, readable by its owner alone, as soon as its folder exists."""
        if self.file is None or not self.file.parent.is_dir():  # no session has a folder yet
            return
        content = {"control": self.control, "watch": self.watch, "granted": self.granted}
        with write_whole(self.file) as part:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file, default=asdict)


def stored_tokens(file: Path) -> Tokens | None:
    """Return the tokens in a file; None where it is missing or damaged, or where other users may read or write it."""
    try:
        if file.stat().st_mode & _OF_OTHERS or file.stat().st_uid != os.getuid():
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
        tokens = Tokens(found["control"], found["watch"], _grants(found["granted"]), file)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    sound = all(isinstance(each, str) and len(each) >= 16 for each in (tokens.control, tokens.watch, *tokens.granted))
    return tokens if sound and tokens.control != tokens.watch else None


def _grants(found: dict[str, dict[str, str]]) -> dict[str, Grant]:
    grants = {token: Grant(**each) for token, each in found.items()}  # type: ignore[arg-type]
    if any(each.role not in ("control", "watch") for each in grants.values()):
        raise ValueError("a role is unknown")
    return grants

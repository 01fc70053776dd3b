"""The people who are present: clients with a WebSocket, each with a name that no other client has."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from airshed.serve.access.lease import Client
from airshed.serve.protocol.access import Person, Role

LONGEST_NAME: Final = 40
ANONYMOUS: Final = ("", "anonymous")


def plain_name(name: str) -> str:
    """Return a name on one line without control characters, marks of direction and surplus spaces."""
    printable = "".join(each if each.isprintable() else " " for each in name)
    return " ".join(printable.split())[:LONGEST_NAME].strip()


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: "Anna", "Anna (2)", and without a name "Guest 1", "Guest 2"."""
    name = plain_name(wanted)
    nameless = name in ANONYMOUS
    if not nameless and name not in taken:
        return name
    numbered = (f"Guest {k}" if nameless else f"{name} ({k})" for k in count(1 if nameless else 2))
    return next(each for each in numbered if each not in taken)


@dataclass
class People:
    """Clients by the key of their connection; a client may have several."""

    _present: dict[object, tuple[Client, Role]] = field(default_factory=dict)

    def add(self, key: object, client: Client, role: Role) -> Client:
        """Add a connection, and return its client with the name that it gets."""
        named = Client(client.identity, unique_name(client.author, self._names_of_others(client)))
        self._present[key] = named, role
        return named

    def rename(self, key: object, wanted: str) -> Client:
        """Give the client of a connection another name, and return it."""
        client, role = self._present[key]
        return self.add(key, Client(client.identity, wanted), role)

    def remove(self, key: object) -> bool:
        """Remove a connection; return whether it was the last one of its client."""
        gone = self._present.pop(key, None)
        return gone is not None and all(each.identity != gone[0].identity for each, _ in self._present.values())

    def listed(self) -> list[Person]:
        """Return the name and role of each client, in the order of their arrival."""
        found = {client.identity: Person(name=client.author, role=role) for client, role in self._present.values()}
        return list(found.values())

    def _names_of_others(self, client: Client) -> set[str]:
        return {each.author for each, _ in self._present.values() if each.identity != client.identity}

"""The OpenAPI document of all types, for those who generate clients: `python -m airshed.serve.document`."""

import json
import sys

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from airshed.serve import types

_REFERENCE = "#/components/schemas/{model}"


def schemas() -> dict[str, object]:
    """Return the JSON schemas of all documents and messages by name, also of those that only a WebSocket carries."""
    documents = [each for each in vars(types).values() if isinstance(each, type) and issubclass(each, types.Document)]
    made = models_json_schema([(each, "validation") for each in documents], ref_template=_REFERENCE)[1]
    found: dict[str, object] = dict(made["$defs"])
    for name in ("Command", "ClientMessage", "ServerMessage"):
        schema = TypeAdapter(getattr(types, name)).json_schema(ref_template=_REFERENCE)
        found[name] = {key: value for key, value in schema.items() if key != "$defs"}
    return found


def main() -> None:
    """Print the document."""
    from airshed.core.version import __version__

    about = {"title": "Airshed live", "version": __version__}
    document = {"openapi": "3.1.0", "info": about, "paths": {}, "components": {"schemas": schemas()}}
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

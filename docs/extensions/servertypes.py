"""The directive ``server-types``: documents and messages of the live server with their members."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from airshed.serve.protocol.schema import schemas


def types_page() -> str:
    """Return a table of members for each type as Markdown."""
    return "\n".join(line for name, schema in sorted(schemas().items()) for line in _of_type(name, schema))


def _of_type(name: str, schema: Any) -> Iterator[str]:
    """Yield the lines of a type."""
    members = schema.get("properties", {})
    yield from (f"## {name}", "", _escaped(schema.get("description", "")), "")
    if not members:
        yield from (f"One of {_words(schema)}.", "")
        return
    yield from ("| member | type | default |", "|---|---|---|")
    required = schema.get("required", ())
    for member, each in members.items():
        default = "required" if member in required else f"`{each['default']}`" if "default" in each else ""
        yield f"| `{member}` | {_words(each)} | {default} |"
    yield ""


def _words(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema in words."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return ", ".join(dict.fromkeys(_words(each) for each in schema[key]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array of {_words(schema['items'])}" if "items" in schema else "array"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_words(schema['additionalProperties'])}"
    return kind if isinstance(kind, str) else ", ".join(kind)


def _escaped(text: str) -> str:
    """Return a docstring as one paragraph of Markdown."""
    return re.sub(r"([<>*_\[\]|])", r"\\\1", " ".join(text.split()))


class ServerTypes(SphinxDirective):
    """Directive that inserts the types."""

    def run(self) -> list[nodes.Node]:
        """Parse the generated Markdown at the directive."""
        return self.parse_text_to_nodes(types_page(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("server-types", ServerTypes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

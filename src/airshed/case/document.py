"""Every section of a model's case with its settings, in Markdown, from the settings registry."""

from inspect import cleandoc

from airshed.case.case import RunCase
from airshed.case.toml import write_value
from airshed.core.report import markdown_table
from airshed.core.settings import Section, Setting, section_inside, settings_of


def sections_document(case: type[RunCase], introduction: str) -> str:
    """Return an introduction, and a table of settings for each section of the case of a model."""
    parts = [introduction, "## At the top\n"]
    parts.append(_table([setting for setting in settings_of(case) if "." not in setting.key]))
    for name, field in case.model_fields.items():
        section, many = section_inside(field.annotation)
        if section is not None:
            parts += [f"## {'[[' if many else '['}{name}{']]' if many else ']'}\n", _section(section, many)]
    return "\n".join(parts)


def _section(section: type[Section], many: bool) -> str:
    text = cleandoc(section.__doc__ or "")  # Python 3.13 strips the indentation itself
    repeated = " May be repeated." if many else ""
    return f"{text}{repeated}\n\n{_table(list(settings_of(section)))}"


def _table(settings: list[Setting]) -> str:
    rows = [
        (
            f"`{each.key}`",
            each.kind,
            each.unit,
            each.range,
            "**required**" if each.required else _default(each.default),
            each.text,
        )
        for each in settings
    ]
    return markdown_table(("Key", "Value", "Unit", "Range", "Default", "Meaning"), rows) + "\n"


def _default(value: object) -> str:
    return "" if value in (None, "", {}, []) else f"`{write_value(value)}`"

"""Words of messages: numbers of things, and texts of others."""

from airshed.core.plain import printable


def counted(number: int, what: str) -> str:
    """Return a number of things: "1 rank", "2 ranks"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def there_are(number: int) -> str:
    """Return that there are so many: "there is 1", "there are 2"."""
    return "there is 1" if number == 1 else f"there are {number}"


def quoted(text: str, most: int = 60) -> str:
    """Return somebody's text in quotes, on one line and in short."""
    shown = printable(text)
    return f'"{shown}"' if len(shown) <= most else f'"{shown[: most - 3]}...'


def shown(value: object, most: int = 60) -> str:
    """Return somebody's value as Python writes it, on one line and in short."""
    try:
        text = printable(repr(value))
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shortened(text: str, most: int = 1200) -> str:
    """Return a text without its middle where it is longer than a screen takes, and how much that was."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} ... [{len(text) - most} characters] ... {text[-most // 2 :]}"

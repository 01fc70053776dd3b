"""Words of messages: numbers of things, and texts of others."""


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


def printable(text: str) -> str:
    """Return a text with control characters, line ends and the like as their escapes."""
    return text if text.isprintable() else repr(text)[1:-1]

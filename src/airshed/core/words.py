"""Words of messages that follow numbers."""


def counted(number: int, what: str) -> str:
    """Return a number of things: "1 rank", "2 ranks"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

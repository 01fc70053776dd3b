"""Words of messages that follow numbers."""


def counted(number: int, what: str) -> str:
    """Return a number of things: "1 rank", "2 ranks"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def there_are(number: int) -> str:
    """Return that there are so many: "there is 1", "there are 2"."""
    return "there is 1" if number == 1 else f"there are {number}"

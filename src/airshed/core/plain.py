"""Text of files as it may be shown: nothing in it moves a cursor, ends a line or turns the direction of reading."""


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text with an escape, such as ``\\x1b``, for each character that does not print.

    lines  whether ends of lines stay what they are
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or (lines and each == "\n") else each.encode("unicode_escape").decode("ascii")
        for each in text
    )

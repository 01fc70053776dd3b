"""The numbers of generated code, each once, in a table."""


class Coefficients:
    """Numbers by their place in the table ``c``.

    The compiler would spread every number over a whole pack of its own, and those of a large mechanism would fill the
    first-level cache; from a table it broadcasts them as it loads them.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[float, int] = {}

    def __call__(self, value: float) -> str:
        """Return the text of a number."""
        if value not in self._places:
            self._places[value] = len(self.values)
            self.values.append(value)
        return f"c[{self._places[value]}]"

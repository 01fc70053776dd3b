"""The outcomes of a trial."""

from typing import Final

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"

FAULTS: Final = {
    "broken": "this harness itself failed",
    "traceback": "ended in a traceback",
    "hang": "came to no end",
    "killed": "ended the process",
    "memory": "took more memory than there is need for",
    "executed": "ran code of the input",
    "non-finite": "results that are not finite, at exit code 0",
    "unreadable": "results that cannot be read, at exit code 0",
    "insane": "results that cannot be, at exit code 0: fractions of the air beyond 0 and 1, a sun of 10,000 K",
    "silent": "no or another meaning of the input, and nobody tells",
    "noise": "warnings of Python or its libraries between the words of the program",
    "unclear": "refused by a message that is long, or does not name the place",
    "leaked": "control characters or markup of the input in what is printed",
    "left over": "half-written files",
}
"""The faults, the gravest first where a trial shows several."""

OUTCOMES: Final = (ACCEPTED, REFUSED, *FAULTS)

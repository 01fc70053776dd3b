"""The outcomes of a trial."""

from typing import Final

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"

FAULTS: Final = {
    "broken": "this harness itself failed",
    "traceback": "ended in a traceback",
    "hang": "did not end",
    "killed": "ended the process",
    "memory": "took more memory than needed",
    "executed": "ran code of the input",
    "non-finite": "results that are not finite, at exit code 0",
    "unreadable": "results that cannot be read, at exit code 0",
    "insane": "impossible results, at exit code 0: fractions of air outside 0 to 1, a temperature of 10,000 K",
    "silent": "no or another meaning of the input, without a message",
    "noise": "warnings of Python or its libraries in the output of the program",
    "unclear": "refused by a message that is long, or does not name the place",
    "leaked": "control characters or markup of the input in the output",
    "left over": "half-written files",
}
"""The faults, the most severe first where a trial has several."""

OUTCOMES: Final = (ACCEPTED, REFUSED, *FAULTS)

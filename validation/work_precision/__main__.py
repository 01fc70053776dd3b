"""Run the study and write figures (JSON), a picture (PNG) and README.md.

python -m validation.work_precision [report]   half an hour on one core; `report` writes only text and picture
"""

import json
import sys

from airshed.core.atomic import write_whole

from . import report, runs


def main(words: list[str]) -> None:
    """Run the command."""
    if words not in ([], ["report"]):
        sys.exit("usage: python -m validation.work_precision [report]")
    if not words:
        figures = report.rounded(runs.run())
        with write_whole(report.FIGURES) as part:
            part.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    report.write()


if __name__ == "__main__":
    main(sys.argv[1:])

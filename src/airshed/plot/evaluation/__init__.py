"""Pictures and page of an evaluation."""

from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.folder import write_tables
from airshed.io.folder import SOFTWARE
from airshed.plot.evaluation.bias_map import draw_bias
from airshed.plot.evaluation.diagrams import draw_scatter, draw_target, draw_taylor
from airshed.plot.evaluation.report_page import DPI, report_page
from airshed.plot.evaluation.series import draw_cycle, draw_series
from airshed.plot.style import look

PAGE: Final = "evaluation.html"

PICTURES: Final[Mapping[str, Callable[[Evaluation, str], Figure | None]]] = {
    "series": draw_series, "cycle": draw_cycle, "scatter": draw_scatter, "taylor": draw_taylor, "target": draw_target,
    "bias": draw_bias,
}  # fmt: skip
"""Kind of picture, as its file is named -> function that draws it for a species, or returns None."""


def write_evaluation(
    evaluation: Evaluation, folder: Path, on_progress: Callable[[str], None] = lambda what: None
) -> None:
    """Write tables, pairs, pictures (PNG and PDF) and the page into an existing folder."""
    on_progress("tables")
    write_tables(evaluation, folder)
    pictures = {}
    for species, kind, figure in drawn(evaluation):
        on_progress(f"{species} {kind}")
        name = f"{species.replace('.', '')}_{kind}"
        buffer = BytesIO()
        with look():
            figure.savefig(folder / f"{name}.pdf", format="pdf", metadata={"Creator": SOFTWARE, "CreationDate": None})
            figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": SOFTWARE})
        pictures[species, kind] = buffer.getvalue()
        (folder / f"{name}.png").write_bytes(buffer.getvalue())
    (folder / PAGE).write_text(report_page(evaluation, pictures), encoding="utf-8")


def drawn(evaluation: Evaluation) -> Iterator[tuple[str, str, Figure]]:
    """Yield species, kind and figure of each picture that the evaluation has data for."""
    for species in evaluation.matched.units:
        for kind, draw in PICTURES.items():
            with look():
                figure = draw(evaluation, species)
            if figure is not None:
                yield species, kind, figure

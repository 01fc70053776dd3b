"""Self-contained page of an evaluation: conclusion, tables, pictures, rejected rows, method."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from airshed.core.report import Cell, Table, shown
from airshed.core.version import __version__
from airshed.evaluate.evaluation import Evaluation
from airshed.plot.evaluation.frame import formula, unit_of
from airshed.plot.evaluation.words import conclusion

CAPTIONS: Final = {
    "series": "Observed (dots), modelled (line), and the range of the station's cell and its eight neighbours (band).",
    "cycle": "Mean by hour of day. The grey band holds the middle half of the observed values.",
    "scatter": "Each pair of a modelled and an observed value.",
    "taylor": "The nearer a station lies to “observed”, the better the run follows the course in time.",
    "target": "Error relative to the uncertainty of the measurements, as FAIRMODE defines it.",
    "bias": "Mean bias at each station (dots) over the mean field of each run.",
}
"""Explanation of each kind of figure."""

DPI: Final = 200.0
"""Dots per inch of pictures, which the page shows at 96."""

FILES: Final = "Files of observations"
"""Title of the table of :func:`airshed.observations.reading.files_table`."""

_MOST_ROWS: Final = 500
_STYLE: Final = """
:root { color-scheme: light; --ink: #1c1f26; --grey: #5d6470; --pale: #dfe3e8; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 72rem; color: var(--ink); background: #fff;
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; } .sub { color: var(--grey); margin: 0 0 1.4rem; }
.conclusion { font-size: 1.15rem; border-left: 4px solid #2a6fad; padding: .2rem 0 .2rem 1rem; margin: 1.2rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: left; border-bottom: 1px solid var(--pale); white-space: nowrap; }
th { color: var(--grey); font-weight: 600; } td.n, th.n { text-align: right; } tr.pooled td { font-weight: 600; }
td.wrap { white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
.note, figcaption { color: var(--grey); font-size: .86rem; } figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.pair figure { flex: 1 1 22rem; max-width: 32rem; margin: .4rem 0; }
dt { color: var(--grey); } dd { margin: 0 0 .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; } summary { cursor: pointer; }
@media (max-width: 40rem) { dl { display: block; } }
@media print { body { padding: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""
_METHOD: Final = (
    ("MB, RMSE", "mean of modelled less observed; root of the mean squared difference; in the unit of the values"),
    ("NMB, FB, FE", "normalised mean bias, fractional bias and fractional error, in percent"),
    ("R, IOA", "Pearson's correlation; index of agreement of Willmott (1981); 1 is perfect"),
    ("FAC2", "share of values within a factor of two of the observed ones"),
    ("MO, MP, N", "mean observed, mean modelled, number of pairs"),
    ("MQI", "RMSE over twice the root-mean-square uncertainty of the measurements (FAIRMODE guidance 3.3, "
            "doi:10.2760/41988); of several stations the 90th percentile. It is computed from "
            "hourly NO₂, daily maxima of 8-hour means of O₃ and daily means of PM. The objective of 1 is defined for a "
            "year of data"),
)  # fmt: skip

Pictures = Mapping[tuple[str, str], bytes]


def report_page(evaluation: Evaluation, pictures: Pictures) -> str:
    """Return the page as HTML without external references; ``pictures`` are PNG files by (species, kind)."""
    report = evaluation.report()
    labels = ", ".join(run.label for run in evaluation.runs)
    title = f"{evaluation.runs[0].title}: compared with observations"
    species = list(evaluation.matched.units)
    tables = {name: table for table in report.tables for name in species if table.title.startswith(f"{name} [")}
    changes = [table for table in report.tables if table.title.startswith("Change from ")]
    others = [table for table in report.tables if table not in [*tables.values(), *changes]]
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="sub">{escape(labels)} · {escape(str(report.facts["period"]))} · '
        f"{escape(str(report.facts['observations']))}</p>",
        f'<p class="conclusion">{" ".join(map(escape, conclusion(evaluation)))}</p>',
        *map(_table, changes),
        *(_table(tables[name], f"{formula(name)} [{unit_of(evaluation, name)}]") for name in species),
        *(_species(name, pictures) for name in species),
        "<h2>Rows that were not used</h2>",
        *(_table(table) for table in others if table.title != FILES),
        _rejected(evaluation),
        "<h2>Times, places and units</h2>",
        _facts({name: value for name, value in report.facts.items() if name != "observations"}),
        *(_table(table, "Files") for table in others if table.title == FILES),
        "<h2>Method</h2>",
        _facts(dict(_METHOD)),
        f'<p class="note">Made by Airshed {escape(__version__)}. statistics.csv and statistics.json beside this page '
        "hold all statistics, also by hour; pairs_*.nc the pairs in the layout of MELODIES-MONET; each picture is "
        "there as PNG and as PDF.</p>",
    ]  # fmt: skip
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    content = f"<head>{head}<style>{_STYLE}</style></head>\n<body>{''.join(body)}</body>"
    return f'<!doctype html>\n<html lang="en">{content}</html>\n'


def _species(name: str, pictures: Pictures) -> str:
    mine = {kind: content for (species, kind), content in pictures.items() if species == name}
    wide = [_figure(name, kind, mine[kind]) for kind in ("series", "bias") if kind in mine]
    small = [_figure(name, kind, mine[kind]) for kind in ("cycle", "scatter", "taylor", "target") if kind in mine]
    first, last = wide[:1], wide[1:]
    return f'<h2>{escape(formula(name))}</h2>{"".join(first)}<div class="pair">{"".join(small)}</div>{"".join(last)}'


def _figure(species: str, kind: str, content: bytes) -> str:
    source = f"data:image/png;base64,{b64encode(content).decode('ascii')}"
    caption = escape(CAPTIONS[kind])
    inches = int.from_bytes(content[16:20], "big") / DPI  # the width in the head of a PNG file
    size = f' width="{round(96.0 * inches)}"' if inches else ""
    image = f'<img src="{source}"{size} alt="{escape(formula(species))}: {caption}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table, title: str = "") -> str:
    numeric = [any(isinstance(row[i], int | float) for row in table.rows) for i in range(len(table.columns))]
    head = "".join(
        f"<th{' class=n' * right}>{escape(name)}</th>" for name, right in zip(table.columns, numeric, strict=True)
    )
    rows = "".join(
        f"<tr{' class=pooled' * str(row[0]).startswith('all')}>{_cells(row, numeric)}</tr>" for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' * bool(table.note)
    return (
        f'<h3>{escape(title or table.title)}</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}"
    )


def _cells(row: Sequence[Cell], numeric: Sequence[bool]) -> str:
    def one(value: Cell, right: bool) -> str:
        text = shown(value)
        kind = "n" if right else "wrap" if len(text) > 30 else ""
        return f"<td{f' class={kind}' * bool(kind)}>{escape(text.replace('-', '−') if right else text)}</td>"

    return "".join(one(value, right) for value, right in zip(row, numeric, strict=True))


def _rejected(evaluation: Evaluation) -> str:
    """Return the rejected rows in a foldable block, limited in number."""
    rows = evaluation.rejected
    if not rows:
        return "<p>All rows were used.</p>"
    cells = [(row.file, row.place, row.station, row.value, row.reason) for row in rows[:_MOST_ROWS]]
    more = f" (the first {_MOST_ROWS} of {len(rows)}; rejected.csv has all)" if len(rows) > _MOST_ROWS else ""
    table = _table(Table(f"Rejected rows{more}", ("file", "place", "station", "value", "reason"), cells))
    return f"<details><summary>All {len(rows)} rows</summary>{table}</details>"


def _facts(facts: Mapping[str, Cell]) -> str:
    items = (f"<dt>{escape(name)}</dt><dd>{escape(shown(value))}</dd>" for name, value in facts.items())
    return f"<dl>{''.join(items)}</dl>"

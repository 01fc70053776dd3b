"""Self-contained page of an evaluation: conclusion in two sentences, tables, pictures, rejected rows, method."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import numpy as np

from airshed.core.report import Cell, Table, cell_text
from airshed.core.version import __version__
from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.score_table import Score
from airshed.plot.evaluation.frame import formula, unit_of
from airshed.plot.limits import format_number

_CLOSELY: Final = ((0.8, "closely"), (0.6, "fairly well"), (0.4, "loosely"))
_ON_AVERAGE: Final = 5.0
"""A bias below this share [%] counts as none."""
_YEAR: Final = np.timedelta64(365, "D")


def conclusion(evaluation: Evaluation) -> list[str]:
    """Return two sentences: the bias, or the change of the error between two runs; the course in time and the MQI."""
    pooled = {(each.run, each.species): each for each in evaluation.scores if each.group == "pooled"}
    labels = [run.label for run in evaluation.runs]
    of_first = [each for (run, _), each in pooled.items() if run == labels[0] and each.values["N"]]
    if not of_first:
        return ["All stations with pairs are shown but not scored: there is no pooled statistic."]
    if len(labels) == 1:
        biases = _listed([_bias(each) for each in of_first])
        first = f"At {_stations(evaluation)} the model simulates on average {biases}."
    else:
        changes = _listed([_change(each, pooled[labels[-1], each.species]) for each in of_first])
        first = f"At {_stations(evaluation)}, from {labels[0]} to {labels[-1]} the error (RMSE) {changes}."
    last = [pooled[labels[-1], each.species] for each in of_first]
    is_year = bool(evaluation.matched.end - evaluation.matched.start >= _YEAR)
    return [first, _course(last, "The model" if len(labels) == 1 else f"Run {labels[-1]}", is_year=is_year)]


def _stations(evaluation: Evaluation) -> str:
    """Return the number of scored stations, the greatest one where species differ."""
    of = evaluation.matched.observations
    counts = {
        len(set(of.station[of.species == name].tolist()) - evaluation.unscored) for name in set(of.species.tolist())
    }
    most = max(counts)
    return "one station" if most == 1 else f"{'up to ' if len(counts) > 1 else ''}{most} stations"


def _bias(each: Score) -> str:
    bias, share = each.values["MB"], each.values["NMB"]
    name = formula(each.species)
    if abs(share) < _ON_AVERAGE:
        return f"{name} within {max(round(abs(share)), 1)} % of the observations"
    unit = each.unit.replace("ug/m3", "µg/m³")
    return f"{format_number(abs(bias), 2)} {unit} ({abs(share):.0f} %) too {'much' if bias > 0 else 'little'} {name}"


def _change(before: Score, after: Score) -> str:
    first, second = before.values["RMSE"], after.values["RMSE"]
    unit = before.unit.replace("ug/m3", "µg/m³")
    verb = "falls" if second < first else "rises" if second > first else "stays"
    return f"of {formula(before.species)} {verb} from {format_number(first)} to {format_number(second)} {unit}"


def _course(scores: Sequence[Score], run: str, *, is_year: bool) -> str:
    """Return how the observed changes in time are followed, and whether FAIRMODE's objective is met."""
    correlations = [
        f"{formula(each.species)} {_closely(each.values['R'])} (R {each.values['R']:.2f})"
        for each in scores
        if np.isfinite(each.values["R"])
    ]
    sentence = (
        f"{run} follows the observed course of {_listed(correlations)}"
        if correlations
        else f"{run} has no variation in time"
    )
    indicators = [each for each in scores if np.isfinite(each.values["MQI"])]
    met, missed = ([each for each in indicators if (each.values["MQI"] <= 1.0) is good] for good in (True, False))
    verbs, note = (("meets", "misses"), "") if is_year else (("would meet", "would miss"), " (defined for a year)")
    parts = [
        f"{verb} FAIRMODE's quality objective{note} for {_listed([_indicator(each) for each in of])}"
        for verb, of in zip(verbs, (met, missed), strict=True)
        if of
    ]
    return "; it ".join([sentence, " and ".join(parts)] if parts else [sentence]) + "."


def _indicator(each: Score) -> str:
    return f"{formula(each.species)} (MQI {each.values['MQI']:.2f})"


def _closely(r: float) -> str:
    return next((word for least, word in _CLOSELY if r >= least), "poorly")


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# The page.


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
        f'<p class="note">Made by Airshed {escape(__version__)}. statistics.csv and statistics.json in the same folder '
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
        text = cell_text(value)
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
    items = (f"<dt>{escape(name)}</dt><dd>{escape(cell_text(value))}</dd>" for name, value in facts.items())
    return f"<dl>{''.join(items)}</dl>"

// Stations: how the model compares with observations of the displayed field, so far and in total.
import { useSignal } from "@preact/signals";
import { bounds, Chart, extentOf, type Curve } from "../../charts/Chart";
import { number } from "../../maths/format";
import { nights } from "../../maths/sun";
import type { StationInfo, StationScore } from "../../protocol/types";
import { timeText, zoneName } from "../../state/clock";
import { fieldText, formulaOf } from "../../state/fields";
import { chooseStation, inShownUnit, noVerdict, pairs, pollutant, scores, shownUnit, stationList, stations } from "../../state/stations";
import { variable, variables } from "../../state/store";
import { displayedMoment, momentOf, showNearest } from "../../state/times";
import { look, view } from "../../state/view";
import { StationTable, type Row } from "./StationTable";

const MODEL = "var(--accent)";
const OBSERVED = "var(--warm)";

export function StationsPanel() {
  const kind = useSignal("");
  const list = stationList.value;
  if (!list) return <p class="empty">Looking for observations …</p>;
  if (!list.stations.length) return <section><h2>Stations</h2><p class="empty">{list.problem ?? "This run has no observations."}</p></section>;
  const of = stations.value.filter((each) => each.pollutants.includes(variable.value?.name ?? ""));
  const chosen = of.find((each) => each.id === view.value.station) ?? null;
  return (
    <>
      <section>
        <h2>Model and measurement</h2>
        <Pollutants />
      </section>
      {pollutant.value && <Summary kind={kind.value} of={of} onKind={(next) => (kind.value = next)} />}
      {chosen && <StationSeries of={chosen} />}
      {pollutant.value && <StationTable rows={rowsOf(of, kind.value)} />}
      {pollutant.value && <Scatter ids={of.filter((each) => fits(each, kind.value)).map((each) => each.id)} />}
      <p class="empty">
        Observed and modelled values are means over the same hours, in {shownUnit.value || "the unit of the map"}. Gases in µg/m³ are at 20 °C and 1013 hPa, as
        European networks report them. The model is not adjusted to the observations. Files: {list.files.join(", ")}.
      </p>
    </>
  );
}

const kindOf = (each: StationInfo): string => `${each.area} ${each.type}`.trim() || "unknown kind";

/** Return whether a station is of a kind; without a kind, whether it is scored. */
const fits = (each: StationInfo, kind: string): boolean => (kind ? kindOf(each) === kind : each.scored);

/** Buttons of the observed fields. */
function Pollutants() {
  const shown = (stationList.value?.pollutants ?? []).flatMap(({ name }) => variables.value.filter((each) => each.name === name));
  const missing = variable.value && !pollutant.value;
  return (
    <>
      {missing && <p class="empty">No station here measures {fieldText(variable.value!)}. Choose a measured field:</p>}
      <div class="actions" role="group" aria-label="Measured fields">
        {shown.map((each) => (
          <button key={each.name} type="button" aria-pressed={each.name === variable.value?.name} onClick={() => look({ variable: each.name })}>
            {formulaOf(each) || fieldText(each)}
          </button>
        ))}
      </div>
    </>
  );
}

function scoreOf(of: readonly StationInfo[], kind: string): StationScore | null {
  if (scores.value?.variable !== pollutant.value?.name) return null;
  if (of.some((each) => fits(each, kind) && !each.scored)) return null;
  return scores.value?.scores.find((each) => each.group === (kind ? "class" : "pooled") && (!kind || each.name === kind)) ?? null;
}

function Summary({ kind, of, onKind }: { kind: string; of: readonly StationInfo[]; onKind: (kind: string) => void }) {
  const kinds = [...new Set(of.map(kindOf))].sort();
  const found = scoreOf(of, kind);
  return (
    <section aria-label="Agreement so far">
      <label class="field">Stations
        <select value={kind} onChange={(event) => onKind(event.currentTarget.value)}>
          <option value="">all except at roads ({of.filter((each) => each.scored).length})</option>
          {kinds.map((each) => <option key={each} value={each}>{each} ({of.filter((station) => kindOf(station) === each).length})</option>)}
        </select>
      </label>
      {found && found.hours > 0 ? <Numbers of={found} ids={of.filter((each) => fits(each, kind)).map((each) => each.id)} /> : <p class="empty">{whyNone(of, kind)}</p>}
    </section>
  );
}

function whyNone(of: readonly StationInfo[], kind: string): string {
  if (of.some((each) => fits(each, kind) && !each.scored)) return "Stations at roads are shown, but not scored: cells of the model are much larger than a road.";
  return "There are no common hours yet. Run the model, or choose a later hour.";
}

function Numbers({ of, ids }: { of: StationScore; ids: readonly string[] }) {
  const bias = inShownUnit(of.bias);
  const unit = shownUnit.value;
  const until = scores.value?.until ?? Infinity;
  const why = noVerdict((pairs.value?.series ?? []).filter((each) => ids.includes(each.station)), until);
  return (
    <>
      <p class="verdict">
        {why ? <b title="A verdict needs at least 5 stations and 10 days">{why}.</b> : (
          <>On average the model is <b>{number(Math.abs(bias))} {unit} too {bias < 0 ? "low" : "high"}</b>. A single hour is typically off by {number(inShownUnit(of.rmse))} {unit}.</>
        )}
      </p>
      <dl class="scores">
        <div title="Mean of model minus observation"><dt>Bias</dt><dd>{number(bias, 3)} {unit}</dd></div>
        <div title="Pearson's correlation: 1 where model and observation rise and fall together"><dt>Correlation r</dt><dd>{of.r === null ? "–" : number(of.r, 2)}</dd></div>
        <div title="Root of the mean squared difference"><dt>RMSE</dt><dd>{number(inShownUnit(of.rmse), 3)} {unit}</dd></div>
        <div title="Pairs of an observation and a modelled mean, over all stations"><dt>Hours{scores.value && ` to ${timeText(momentOf(until), "clock")}`}</dt><dd>{of.hours}</dd></div>
      </dl>
    </>
  );
}

function StationSeries({ of }: { of: StationInfo }) {
  const series = pairs.value?.series.find((each) => each.station === of.id);
  if (!series) return null;
  const middle = (k: number) => momentOf((series.begin[k]! + series.end[k]!) / 2);
  const points = (values: readonly (number | null)[]) => values.map((value, k): [number, number] => [middle(k), inShownUnit(value)]);
  const curves: Curve[] = [
    { name: "model", colour: MODEL, points: points(series.modelled) }, { name: "observed", colour: OBSERVED, dots: true, points: points(series.observed) },
  ];
  const span = extentOf(curves, 0) ?? [0, 1];
  const score = scores.value?.scores.find((each) => each.group === "station" && each.name === of.id);
  return (
    <section aria-label={of.name}>
      <div class="row">
        <h2>{of.name}</h2>
        <button type="button" class="quiet" onClick={() => chooseStation(null)}>Close</button>
      </div>
      <p class="empty">{[kindOf(of), of.altitude === null ? "" : `${Math.round(of.altitude)} m above the sea`, of.network].filter(Boolean).join(" · ")}</p>
      <Chart label={`${fieldText(variable.value!)} at ${of.name}, model and observation`} x={{ domain: span, kind: "time", label: zoneName(span[0]) }}
        y={{ domain: bounds(curves, 1), label: shownUnit.value }} curves={curves} mark={displayedMoment.value} onMark={showNearest} spans={nights(span, [of.lon, of.lat])} />
      {score && score.hours > 0 && <p class="empty">Here: bias {number(inShownUnit(score.bias))} {shownUnit.value}, r {score.r === null ? "–" : number(score.r, 2)}, RMSE {number(inShownUnit(score.rmse))} {shownUnit.value}.</p>}
    </section>
  );
}

function rowsOf(of: readonly StationInfo[], kind: string): Row[] {
  return of.filter((each) => (kind ? fits(each, kind) : true)).map((station) => {
    const score = scores.value?.variable === pollutant.value?.name ? scores.value?.scores.find((each) => each.group === "station" && each.name === station.id) : null;
    return {
      id: station.id, name: station.name, kind: kindOf(station), hours: score?.hours ?? 0, bias: inShownUnit(score?.bias ?? null), r: score?.r ?? NaN,
      rmse: inShownUnit(score?.rmse ?? null),
    };
  });
}

/** Modelled against observed values of all hours until the displayed one. */
function Scatter({ ids }: { ids: string[] }) {
  const last = scores.value?.until ?? Infinity;
  const points = (pairs.value?.series ?? []).filter((each) => ids.includes(each.station)).flatMap((each) =>
    each.observed.map((value, k): [number, number] => [inShownUnit(value), each.end[k]! <= last ? inShownUnit(each.modelled[k] ?? null) : NaN]),
  ).filter((point) => point.every(Number.isFinite));
  if (points.length < 2) return null;
  const top = Math.max(...points.flat()) * 1.05;
  const curves: Curve[] = [
    { name: "model = observation", colour: "var(--soft)", dashed: true, points: [[0, 0], [top, top]] }, { name: "hours", colour: MODEL, dots: true, points },
  ];
  return (
    <section>
      <h3>Model against observation</h3>
      <Chart label="Modelled against observed values" height={240} bare x={{ domain: [0, top], label: `observed, ${shownUnit.value}` }}
        y={{ domain: [0, top], label: `model, ${shownUnit.value}` }} curves={curves} />
    </section>
  );
}

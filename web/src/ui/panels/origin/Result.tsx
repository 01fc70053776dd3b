// The sources of a concentration: the sum, the map, the ranking, and the hours of emission.
import { useSignal } from "@preact/signals";
import { Chart } from "../../../charts/Chart";
import { number, quantity } from "../../../maths/format";
import { GROUPINGS, ranking, reach, sums, type Grouping, type Ranked, type Row } from "../../../maths/sources";
import type { Origin } from "../../../protocol/types";
import { timeText } from "../../../state/clock";
import { isReader } from "../../../state/people";
import { amountUnit, mapShown, pollutant } from "../../../state/origin";
import { FACTOR, showEffect, trialOf, tryCut } from "../../../state/trials";
import { nameOfCountry, nameOfPollutant } from "./names";

export function Result({ of }: { of: Origin }) {
  return (
    <>
      <Explained of={of} />
      <MapChoice of={of} />
      <Ranking of={of} />
      <Hours of={of} />
    </>
  );
}

/** Return a contribution [mol/mol] as text with its sign. */
function signed(value: number, of: Origin): string {
  const { factor, label } = amountUnit(of.value);
  return `${value > 0 ? "+" : ""}${number(value * factor, 3)} ${label}`;
}

function Explained({ of }: { of: Origin }) {
  const { factor, label } = amountUnit(of.value);
  const by = sums(of.rows as Row[]);
  const outside = by.side + by.top;
  return (
    <section aria-label="Sum">
      <h2>{nameOfPollutant(of.request.species)} in {of.place}, {timeText(of.time, "moment")}: {quantity(of.value * factor, label)}</h2>
      <dl class="sums">
        <dt>Emission in the map</dt><dd>{signed(by.emission, of)}</dd>
        <dt>Air from outside</dt><dd>{signed(outside, of)}</dd>
        <dt>Air at the start of the run</dt><dd>{signed(by.initial, of)}</dd>
        <dt>Together</dt><dd>{signed(of.explained, of)}</dd>
        <dt>Not proportional to any source</dt><dd>{signed(of.value - of.explained, of)}</dd>
      </dl>
      <p class="empty">
        Each number holds for small changes. With 10 % less of a source, the value falls by a tenth of the number, or rises where it is
        negative. The response of chemistry is not linear, so the sum differs from the value. Deposition takes away {number(-by.deposition * factor, 3)} {label}.
      </p>
    </section>
  );
}

function MapChoice({ of }: { of: Origin }) {
  return (
    <section aria-label="Map of sources">
      <h2>Map of sources</h2>
      <label class="check">
        <input type="checkbox" checked={mapShown.value} onChange={(event) => (mapShown.value = event.currentTarget.checked)} />
        Show the contribution of the emission of each cell
      </label>
      <label class="field">Emission of
        <select value={pollutant.value} onChange={(event) => (pollutant.value = event.currentTarget.value)}>
          <option value="">all pollutants</option>
          {of.pollutants.map((each) => <option key={each} value={each}>{nameOfPollutant(each)}</option>)}
        </select>
      </label>
    </section>
  );
}

const MOST = 14;

function Ranking({ of }: { of: Origin }) {
  const by = useSignal<Grouping>("source");
  const all = useSignal(false);
  const rows = of.rows as Row[];
  const groups = (Object.keys(GROUPINGS) as Grouping[]).filter((each) => each === "source" || distinct(rows, each) > 1);
  const found = ranking(rows, by.value, (name, kind) => (kind === "country" ? nameOfCountry(name) : nameOfPollutant(name)));
  const most = Math.max(...found.map((each) => Math.abs(each.value)), 1e-30);
  return (
    <section aria-label="Ranking">
      <h2>Ranking</h2>
      <div class="actions" role="group" aria-label="Ranking by">
        {groups.map((each) => (
          <button key={each} type="button" aria-pressed={by.value === each} onClick={() => (by.value = each)}>{GROUPINGS[each]}</button>
        ))}
      </div>
      <ol class="ranking">
        {found.slice(0, all.value ? undefined : MOST).map((each) => <Line key={each.id} line={each} most={most} of={of} />)}
      </ol>
      {found.length > MOST && (
        <div class="actions"><button type="button" class="quiet" onClick={() => (all.value = !all.value)}>{all.value ? "Show fewer" : `Show all ${found.length}`}</button></div>
      )}
    </section>
  );
}

const distinct = (rows: readonly Row[], by: Grouping): number =>
  by === "source" ? rows.length : new Set(rows.map((row) => row[by]).filter(Boolean)).size;

function Line({ line, most, of }: { line: Ranked; most: number; of: Origin }) {
  const trial = trialOf(of, line.id);
  const width = `${Math.max((100 * Math.abs(line.value)) / most, 0.5)}%`;
  return (
    <li data-source={line.id}>
      <span class="name">{line.name}</span>
      <b>{signed(line.value, of)}</b>
      {line.scale && !isReader.value && (
        <button type="button" class="quiet" disabled={trial !== undefined && trial.measured === null} onClick={() => void tryCut(line, of)}
          title={`Run again from the start with 20 % less, and compare`} aria-label={`Try 20 % less: ${line.name}`}>Try −20 %</button>
      )}
      <i class={line.value < 0 ? "lowers" : "raises"} style={{ width }} aria-hidden="true" />
      {trial && (
        <small role="status">
          {Math.round(100 * (1 - FACTOR))} % less: predicted {signed(trial.predicted, of)}, {trial.measured === null ? "measuring in a new run …" : `measured ${signed(trial.measured, of)}`}
          {" "}<button type="button" class="quiet" onClick={() => showEffect(trial)}>Effect on the map</button>
        </small>
      )}
    </li>
  );
}

function Hours({ of }: { of: Origin }) {
  const largest = Math.max(...of.hours.map((each) => Math.abs(each.value)), 0);
  if (!largest) return null;
  const { factor, label } = amountUnit(largest);
  const points = of.hours.map((each): [number, number] => [-each.hours + 0.5, each.value * factor]);
  const values = points.map(([, value]) => value);
  const [low, high] = [Math.min(...values, 0), Math.max(...values, 0)];
  const margin = 0.06 * (high - low) || 1;
  return (
    <section aria-label="Hours of emission">
      <h2>When was it emitted?</h2>
      <Chart label="Contribution of the emission of each hour before" x={{ domain: [-Math.max(...of.hours.map((each) => each.hours)), 0], label: "hours before" }}
        y={{ domain: [low - margin, high + margin], label: `${label} per hour` }} curves={[{ name: "emission", colour: "var(--accent)", points }]} />
      <p class="empty">Nine tenths of the effect of emission come from the last {number(reach(of.hours), 2)} hours.</p>
    </section>
  );
}

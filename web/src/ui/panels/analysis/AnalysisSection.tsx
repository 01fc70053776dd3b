// The panel of stations, after the results of an assimilation where the runs are those before and after it.
import { Chart } from "../../../charts/Chart";
import { number } from "../../../maths/format";
import type { Analysis, AnalysisControl } from "../../../protocol/types";
import { AFTER, analysis, BEFORE, changeOf, hasAnalysis, shownMap, spread } from "../../../state/analysis";
import { look, view } from "../../../state/view";
import { nameOfCountry } from "../origin/names";
import { StationsPanel } from "../StationsPanel";

export function StationsAndAnalysis() {
  return (
    <>
      {hasAnalysis.value && analysis.value && <AnalysisSection of={analysis.value} />}
      <StationsPanel />
    </>
  );
}

function AnalysisSection({ of }: { of: Analysis }) {
  return (
    <section aria-label="Assimilation">
      <h2>Assimilation, before and after</h2>
      <Runs />
      <Fit of={of} />
      <Cost of={of} />
      {of.controls.map((each) => <Control key={each.name} of={each} />)}
    </section>
  );
}

function Runs() {
  const { session, other, compare } = view.value;
  const one = (name: string) => session === name && !other;
  const both = (way: "beside" | "difference") => other !== null && compare === way;
  return (
    <div class="actions" role="group" aria-label="Displayed run">
      <button type="button" aria-pressed={one(BEFORE)} onClick={() => look({ session: BEFORE, other: null })}>Before</button>
      <button type="button" aria-pressed={one(AFTER)} onClick={() => look({ session: AFTER, other: null })}>After</button>
      <button type="button" aria-pressed={both("beside")} onClick={() => look({ session: BEFORE, other: AFTER, compare: "beside" })}>Side by side</button>
      <button type="button" aria-pressed={both("difference")} onClick={() => look({ session: BEFORE, other: AFTER, compare: "difference" })}>Difference</button>
    </div>
  );
}

function Fit({ of }: { of: Analysis }) {
  const unit = of.stations[0]?.unit ?? "";
  const rows = [["Used", spread(of, false)], ["Withheld as a test", spread(of, true)]] as const;
  const chosen = shownMap.value && "residuals" in shownMap.value ? shownMap.value.residuals : null;
  return (
    <>
      <table class="timing">
        <thead><tr><th>Measured [{unit}]</th><th>values</th><th>error before</th><th>after</th></tr></thead>
        <tbody>
          {rows.filter(([, each]) => each.count > 0).map(([name, each]) => (
            <tr key={name}><th>{name}</th><td>{each.count}</td><td>{number(each.before)}</td><td>{number(each.after)}</td></tr>
          ))}
        </tbody>
      </table>
      <div class="actions" role="group" aria-label="Differences at stations on the map">
        {([BEFORE, AFTER] as const).map((which) => (
          <button key={which} type="button" aria-pressed={chosen === which} onClick={() => (shownMap.value = chosen === which ? null : { residuals: which })}>
            Differences at stations {which}
          </button>
        ))}
      </div>
    </>
  );
}

function Cost({ of }: { of: Analysis }) {
  const points = of.cost.map((each): [number, number] => [each.iteration, each.cost]);
  const values = points.map(([, cost]) => cost);
  if (points.length < 2) return null;
  return (
    <>
      <h3>Misfit by iteration</h3>
      <Chart label="Cost by iteration" bare x={{ domain: [0, points.length - 1], label: "iteration" }}
        y={{ domain: [Math.min(...values) * 0.8, Math.max(...values) * 1.2], kind: "log", label: "J" }}
        curves={[{ name: "cost", colour: "var(--accent)", points }]} />
    </>
  );
}

function Control({ of }: { of: AnalysisControl }) {
  const shown = shownMap.value && "control" in shownMap.value && shownMap.value.control === of.name;
  const isFactor = of.unit === "1";
  const text = (value: number) => (isFactor ? number(value, 3) : `${number(value * 1e9, 3)} ppb`);
  return (
    <>
      <h3>{of.text.charAt(0).toUpperCase() + of.text.slice(1)}</h3>
      {of.kind === "map" ? (
        <label class="check">
          <input type="checkbox" checked={shown === true} onChange={(event) => (shownMap.value = event.currentTarget.checked ? { control: of.name } : null)} />
          Show the correction on the map (from {range(of, Math.min)} to {range(of, Math.max)})
        </label>
      ) : (
        <table class="timing">
          <thead><tr><th>{of.kind === "regions" ? "Country" : ""}</th><th>before</th><th>after</th><th>uncertainty</th></tr></thead>
          <tbody>
            {of.after.map((after, k) => (
              <tr key={of.names?.[k] ?? k}>
                <th>{of.names?.[k] ? nameOfCountry(of.names[k]!) : "All"}</th><td>{text(of.before[k] ?? NaN)}</td><td>{text(after)}</td>
                <td>{of.spread?.[k] === undefined ? "–" : isFactor ? `± ${number(100 * of.spread[k]!, 2)} %` : `± ${text(of.spread[k]!)}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function range(of: AnalysisControl, least: (...values: number[]) => number): string {
  const value = least(...changeOf(of));
  return of.unit === "1" ? `${number(100 * value, 2)} %` : `${number(1e9 * value, 2)} ppb`;
}

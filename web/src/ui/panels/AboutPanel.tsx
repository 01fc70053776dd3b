// Description of the model, timing of its parts, and notices.
import { useEffect } from "preact/hooks";
import { number, span } from "../../maths/format";
import type { ModelInfo } from "../../protocol/types";
import { info, learn, session } from "../../state/store";
import { view } from "../../state/view";
import { LogSection } from "./LogSection";

export function AboutPanel() {
  const about = info.value;
  const running = session.value?.status === "running";
  const version = running ? null : session.value?.version;
  useEffect(() => {
    const again = () => void learn(view.value.session);
    again();
    const timer = running ? setInterval(again, 2000) : undefined;
    return () => clearInterval(timer);
  }, [running, version, view.value.session]);
  if (!about) return <p class="empty">Waiting for the description of the model …</p>;
  const { state } = about;
  const whole = about.timing.reduce((sum, each) => sum + each.seconds, 0);
  const cost = costOf(about);
  return (
    <>
      <section>
        <h2>{state.title || state.case}</h2>
        <table>
          <tbody>
            <Row name="Case" value={state.case} />
            <Row name="Model" value={state.model} />
            <Row name="Length" value={span(state.end - state.begin)} />
            <Row name="Map" value={`${about.grid.rows} × ${about.grid.columns} cells${about.grid.levels.length ? `, ${about.grid.levels.length} levels` : ""}`} />
            <Row name="Fields" value={String(about.variables.length)} />
            <Row name="Ranks" value={String(about.ranks)} />
            <Row name="Airshed" value={about.version} />
          </tbody>
        </table>
      </section>
      {!state.recorded && <LogSection />}
      {whole > 0 && (
        <section>
          <h2>Cost of a step</h2>
          <p class="empty">{costText(about, whole)}</p>
          <table class="timing">
            <thead><tr><th scope="col">part</th><th scope="col">total</th><th scope="col">share</th><th scope="col">per step</th></tr></thead>
            <tbody>
              {about.timing.map(({ part, seconds }) => (
                <tr key={part}>
                  <th scope="row">{part}</th><td>{number(seconds)} s</td><td>{Math.round((100 * seconds) / whole)} %</td>
                  <td>{cost.has(part) ? `${number(1000 * (cost.get(part) ?? 0))} ms` : "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {!cost.size && <p class="empty">The cost of a step is shown after the next steps.</p>}
        </section>
      )}
      {about.notices.length > 0 && <section><h2>Notices</h2>{about.notices.map((each) => <p key={each}>{each}</p>)}</section>}
      <section class="sources">
        {Object.entries(about.attributes).map(([name, text]) => <details key={name}><summary>{name}</summary><p class="empty">{text}</p></details>)}
      </section>
    </>
  );
}

/** Return the cost of the run so far as a sentence. */
function costText({ state, ranks }: ModelInfo, seconds: number): string {
  const hours = (state.seconds - state.begin) / 3600;
  const computed = state.step > 0 ? `${span(state.seconds - state.begin)} of the model took ${number(seconds)} s in ${state.step} steps` : "Nothing is computed yet";
  const pace = hours > 0 ? `, ${number(seconds / hours)} s for an hour` : "";
  return `${computed}${pace}, on ${ranks} ${ranks === 1 ? "processor core" : "processor cores"}.`;
}

let before: ModelInfo | null = null;
let costs = new Map<string, number>();

/** Return the mean time of each part in the latest steps [s]; empty before the first steps. */
function costOf(about: ModelInfo): Map<string, number> {
  const from = before?.state.session === about.state.session ? before : null;
  const steps = from ? about.state.step - from.state.step : 0;
  if (from && steps > 0) {
    const earlier = new Map(from.timing.map((each) => [each.part, each.seconds]));
    costs = new Map(about.timing.map((each) => [each.part, (each.seconds - (earlier.get(each.part) ?? 0)) / steps]));
  } else if (!from) costs = new Map();
  before = about;
  return costs;
}

function Row({ name, value }: { name: string; value: string }) {
  return <tr><th scope="row">{name}</th><td>{value}</td></tr>;
}

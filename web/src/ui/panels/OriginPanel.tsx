// "Where from?": the sources of a concentration, by the adjoint of the run.
import { timeText } from "../../state/clock";
import { fieldText } from "../../state/fields";
import { number } from "../../maths/format";
import { asked, cancel, choices, momentIso, origin, receptor, species, start, where } from "../../state/origin";
import { isReader } from "../../state/people";
import { info, variables } from "../../state/store";
import { nameOfPollutant } from "./origin/names";
import { Result } from "./origin/Result";
import { ReaderControl } from "../frame/ReaderControl";

export function OriginPanel() {
  const { status, result } = origin.value;
  return (
    <>
      <Question />
      {status === "running" && <Progress />}
      {status === "failed" && <p class="problem" role="alert">{origin.value.message}</p>}
      {status !== "running" && result && <Result of={result} />}
    </>
  );
}

/** Return a duration as text, rounded as a forecast. */
function duration(seconds: number): string {
  return seconds < 55 ? `${Math.max(Math.round(seconds / 10) * 10, 10)} s` : `${Math.round(seconds / 30) / 2} min`;
}

function Question() {
  const { status, refusal, expected } = origin.value;
  const known = info.value?.species ?? [];
  const fields = variables.value.filter((each) => known.includes(each.name));
  const running = status === "running";
  const fixed = running || isReader.value;
  return (
    <section aria-label="Question">
      <h2>What made this concentration?</h2>
      <p class="empty">Choose a pollutant and a place. The time is the hour on the map: move the time bar for another.</p>
      <ReaderControl />
      <div class="pair">
        <label class="field">Pollutant
          <select value={species.value} disabled={fixed} onChange={(event) => (asked.value = event.currentTarget.value)}>
            {fields.map((each) => <option key={each.name} value={each.name}>{fieldText(each)}</option>)}
          </select>
        </label>
        <label class="field">Place
          <select value={where.value?.id ?? ""} disabled={fixed} onChange={(event) => (receptor.value = event.currentTarget.value)}>
            {choices.value.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}
          </select>
        </label>
      </div>
      <p><b>{nameOfPollutant(species.value)} in {where.value?.name ?? "–"}, {timeText(momentIso.value, "moment")}</b></p>
      {refusal && !running && <p class="problem">{refusal}</p>}
      {!fixed && !refusal && (
        <>
          <div class="actions"><button type="button" class="main" disabled={!where.value} onClick={() => void start()}>Find the sources</button></div>
          <p class="empty">
            {expected === null ? "" : `Takes about ${duration(expected)} on the server. `}
            The run can go on meanwhile.
          </p>
        </>
      )}
    </section>
  );
}

const PARTS = { "": "Starting", start: "Reading the case", forward: "Running the hours before", backward: "Tracing back in time" };
/** Part of the time that the forward run takes. */
const FORWARD = 0.25;

function Progress() {
  const { part, done, elapsed, expected } = origin.value;
  const whole = part === "forward" ? FORWARD * done : part === "backward" ? FORWARD + (1 - FORWARD) * done : 0;
  return (
    <section aria-label="Progress" role="status">
      <p>{PARTS[part]}: {Math.round(100 * done)} %</p>
      <progress max={1} value={whole} aria-label="Progress of the computation" />
      <p class="empty">{number(Math.round(elapsed))} s so far{expected ? `, about ${Math.round(expected)} s in all` : ""}</p>
      {!isReader.value && <div class="actions"><button type="button" onClick={() => void cancel()}>Cancel</button></div>}
    </section>
  );
}


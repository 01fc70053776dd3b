// The card of a scenario: menus in plain words, the name that is made of them, and the start.
import { useEffect } from "preact/hooks";
import { timeText } from "../../state/clock";
import type { KeyKind, Lever } from "../../state/levers";
import { cardOpen, draft, edit, firstChange, levers, madeName, openCard, ownName, patch, present, startAt, tryScenario, type Change } from "../../state/scenario";
import { isReader } from "../../state/people";
import { session } from "../../state/store";
import { Icon } from "../frame/icons";
import { ReaderControl } from "../frame/ReaderControl";
import { NeedsModel } from "./NeedsModel";

const ASKED = "What would half of the road traffic in Germany change? The running model of this recorded day can answer.";

export function ScenarioCard() {
  if (session.value?.recorded) return <NeedsModel name="What if …" text={ASKED} />;
  if (!levers.value.length) return <p class="empty">This model has no settings in plain words. See the tab Settings.</p>;
  if (isReader.value) return <ReadOnly />;
  if (!cardOpen.value) {
    return (
      <section aria-label="What if">
        <p class="empty">Change emissions or other inputs in a second run, and compare it with this one.</p>
        <div class="actions"><button type="button" class="main" onClick={openCard} title="q">What if …</button></div>
      </section>
    );
  }
  return <Card />;
}

/** The form as a reader sees it. */
function ReadOnly() {
  useEffect(openCard, []);
  return (
    <>
      <ReaderControl />
      <fieldset class="bare" disabled><Card /></fieldset>
    </>
  );
}

function Card() {
  const ready = Object.keys(patch.value).length > 0;
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready) void tryScenario();
  };
  return (
    <section class="card" aria-label="What if">
      <h2>What if …</h2>
      <form onSubmit={submit}>
        {draft.value.map((each, k) => <Row key={k} of={each} at={k} />)}
        <div class="actions"><button type="button" class="quiet" onClick={() => (draft.value = [...draft.value, firstChange(levers.value.find((each) => each.path === draft.value.at(-1)?.path) ?? levers.value[0]!)])}>+ another change</button></div>
        <label class="field">Name
          <input type="text" maxLength={80} value={ownName.value || madeName.value} onInput={(event) => (ownName.value = event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend class="hidden">Start</legend>
          <label class="check"><input type="radio" name="start" checked={startAt.value === "day"} onChange={() => (startAt.value = "day")} /> From the start of the day: all hours are compared</label>
          <label class="check"><input type="radio" name="start" checked={startAt.value === "now"} onChange={() => (startAt.value = "now")} /> From now, {timeText(session.value?.time ?? "", "clock")}: earlier hours stay the same</label>
        </fieldset>
        <div class="actions">
          <button type="submit" class="main" disabled={!ready}>Try it</button>
          <button type="button" onClick={() => (cardOpen.value = false)}>Cancel</button>
        </div>
      </form>
    </section>
  );
}

function Row({ of, at }: { of: Change; at: number }) {
  const lever = levers.value.find((each) => each.path === of.path);
  if (!lever) return null;
  const remove = () => (draft.value = draft.value.filter((_, k) => k !== at));
  return (
    <fieldset class="change">
      <legend class="hidden">Change {at + 1}</legend>
      <div class="row">
        <label class="field">Change
          <select value={of.path} onChange={(event) => {
            const next = levers.value.find((each) => each.path === event.currentTarget.value);
            if (next) edit(at, firstChange(next));
          }}>
            {levers.value.map((each) => <option key={each.path} value={each.path}>{titleOf(each)}</option>)}
          </select>
        </label>
        {draft.value.length > 1 && <button type="button" class="quiet" aria-label={`Remove change ${at + 1}`} onClick={remove}><Icon name="close" /></button>}
      </div>
      {lever.kind === "factors" && <Keys of={of} at={at} lever={lever} />}
      {lever.kind === "switch" ? (
        <label class="check"><input type="checkbox" checked={of.on} onChange={(event) => edit(at, { on: event.currentTarget.checked })} /> {lever.text} {of.on ? "on" : "off"} (now {present.value[lever.path] ? "on" : "off"})</label>
      ) : <Percent of={of} at={at} />}
      {lever.hint && <small class="empty">{lever.hint}</small>}
    </fieldset>
  );
}

/** Title of a lever in the menu. */
const titleOf = (lever: Lever): string => (lever.text === "{}" ? "Emissions" : lever.text.replace("{}", "Air"));

const MENUS: [kind: KeyKind, label: string, all: string][] = [
  ["country", "Country", "everywhere"], ["sector", "Sector", "all sectors"], ["pollutant", "Pollutant", "all pollutants"], ["species", "Pollutant", ""],
];

/** The menus of a table of factors: one for each kind of its keys. */
function Keys({ of, at, lever }: { of: Change; at: number; lever: Lever }) {
  return (
    <>
      {MENUS.map(([kind, label, all]) => {
        const codes = Object.entries(lever.keys).filter(([, [own]]) => own === kind).sort(([, [, a]], [, [, b]]) => (kind === "country" ? a.localeCompare(b) : 0));
        if (!codes.length) return null;
        return (
          <label key={kind} class="field">{label}
            <select value={of.keys[kind] ?? ""} onChange={(event) => edit(at, { keys: { ...of.keys, [kind]: event.currentTarget.value } })}>
              {all && <option value="">{all}</option>}
              {codes.map(([code, [, words]]) => <option key={code} value={code}>{words}</option>)}
            </select>
          </label>
        );
      })}
    </>
  );
}

function Percent({ of, at }: { of: Change; at: number }) {
  const set = (value: number) => Number.isFinite(value) && edit(at, { percent: Math.min(Math.max(value, -100), 500) });
  return (
    <div class="percent">
      <input type="range" min={-100} max={100} step={5} value={of.percent} aria-label={`Change ${at + 1} in per cent, slider`} aria-valuetext={`${of.percent} %`} onInput={(event) => set(event.currentTarget.valueAsNumber)} />
      <span><input type="number" min={-100} max={500} step="any" value={of.percent} aria-label={`Change ${at + 1} in per cent`} onChange={(event) => set(event.currentTarget.valueAsNumber)} /> %</span>
    </div>
  );
}

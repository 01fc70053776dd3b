// Settings and numbers of the model, releases, painting.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { branch, change } from "../../state/actions";
import { added, enter, forget, groups, knobs, pending, tables, type Knob, type Table, type Value } from "../../state/settings";
import { info, releasable } from "../../state/store";
import { changes as pastChanges, undo } from "../../state/undo";
import { nameOfChanges } from "../../state/levers";
import { levers, present } from "../../state/scenario";
import { Icon } from "../frame/icons";
import { Paint } from "./Paint";
import { Release } from "./Release";

const EFFECTS = { "in place": "takes effect at the end of a step", rebuild: "the model is rebuilt with the same state" } as const;

export function SettingsPanel() {
  const able = info.value?.capabilities ?? [];
  return (
    <>
      <Pending />
      {able.includes("release") && releasable.value.length > 0 && <Release />}
      {able.includes("paint") && <Paint />}
      <section aria-label="Settings">
        <h2>Settings</h2>
        {groups.value.map((group) => <Group key={group} name={group} />)}
        {!groups.value.length && <p class="empty">This model has no settings that can be changed during a run.</p>}
      </section>
    </>
  );
}

/** Changes that were entered and not yet applied, with their actions. */
function Pending() {
  const entered = Object.entries(pending.value);
  const apply = async () => {
    const changes = pending.value;
    const text = nameOfChanges(changes, levers.value, present.value);
    if (await change({ kind: "set", changes }, `${text}: from the next step on.`)) forget(changes);
  };
  const open = async () => {
    const sent = pending.value;
    if (await branch(sent)) forget(sent);
  };
  return (
    <section aria-label="Changes">
      <div class="actions">
        <button type="button" class="main" disabled={!entered.length} onClick={() => void apply()}>Apply here</button>
        <button type="button" disabled={!entered.length} onClick={() => void open()}><Icon name="branch" /> On a branch</button>
        <button type="button" disabled={!pastChanges.value.length} onClick={() => void undo()} title="Undo the last change (Ctrl-Z)"><Icon name="undo" /> Undo</button>
      </div>
      {entered.length ? (
        <ul class="plain">
          {entered.map(([name, value]) => (
            <li class="key" key={name}>
              <b title={name}>{nameOfChanges({ [name]: value }, levers.value, present.value)}</b><span>→ {String(value)}</span>
              <button type="button" class="quiet" aria-label={`Do not change ${name}`} onClick={() => enter(name, null)}><Icon name="close" /></button>
            </li>
          ))}
        </ul>
      ) : <p class="empty">All settings, for experts. Changes act on this run or on a new branch; the tab “What if?” lists them in words.</p>}
    </section>
  );
}

function Group({ name }: { name: string }) {
  const held = tables.value.filter((each) => each.group === name);
  const single = knobs.value.filter((each) => each.group === name);
  return (
    <details open={name === "emissions" || name === "numbers"}>
      <summary>{name.charAt(0).toUpperCase() + name.slice(1)}</summary>
      <div>
        {held.map((each) => <Rows key={each.name} of={each} />)}
        {single.map((each) => <Setting key={each.name} of={each} />)}
      </div>
    </details>
  );
}

function Rows({ of }: { of: Table }) {
  const newest = useSignal<string | null>(null);
  const add = (name: string) => {
    if (!name) return;
    added.value = { ...added.value, [of.name]: [...(added.value[of.name] ?? []), name] };
    newest.value = `${of.name}.${name}`;
  };
  useEffect(() => { // move the focus to the value of the new row
    if (newest.value) document.getElementById(`set-${newest.value}`)?.focus();
  }, [newest.value]);
  return (
    <div>
      <p class="empty" id={`about-${of.name}`}>{of.text.replaceAll("`", "")}</p>
      {of.rows.map((each) => <Setting key={each.name} of={each} />)}
      <label class="field">
        <span class="hidden">Add to {of.name}</span>
        <input type="text" list={`keys-${of.name}`} placeholder="add …" aria-describedby={`about-${of.name}`} autocomplete="off" spellcheck={false}
          onChange={(event) => {
            add(event.currentTarget.value.trim());
            event.currentTarget.value = "";
          }} />
        <datalist id={`keys-${of.name}`}>{of.keys.map((key) => <option key={key} value={key} />)}</datalist>
      </label>
    </div>
  );
}

function Setting({ of }: { of: Knob }) {
  const entered = pending.value[of.name];
  const value = entered ?? of.value;
  const unit = of.kind === "number" && of.unit && of.unit !== "1" ? ` [${of.unit}]` : "";
  return (
    <div class="steer">
      <label for={`set-${of.name}`} class={entered === undefined ? "" : "changed"} title={`${of.text} (${EFFECTS[of.effect]})`}>{of.label}{unit}</label>
      <Entry of={of} value={value ?? null} />
      {of.text && <small>{of.text.replaceAll("`", "").split(/[;.](\s|$)/)[0]}{of.range ? ` (${of.range})` : ""}</small>}
    </div>
  );
}

function Entry({ of, value }: { of: Knob; value: Value | null }) {
  const id = `set-${of.name}`;
  const put = (next: Value) => enter(of.name, next === of.value ? null : next);
  if (of.kind === "switch") {
    return <input id={id} type="checkbox" checked={value === true} onChange={(event) => put(event.currentTarget.checked)} />;
  }
  if (of.kind === "words") {
    return (
      <select id={id} value={String(value)} onChange={(event) => put(event.currentTarget.value)}>
        {of.words.map((each) => <option key={each}>{each}</option>)}
      </select>
    );
  }
  if (of.kind === "number") {
    return <input id={id} type="number" step="any" value={value === null ? "" : Number(value)}
      onChange={(event) => {
        const next = event.currentTarget.valueAsNumber;
        if (Number.isFinite(next)) put(next);
        else event.currentTarget.value = value === null ? "" : String(value); // an invalid number changes nothing
      }} />;
  }
  return <input id={id} type="text" value={value === null ? "" : String(value)} placeholder={of.unit} spellcheck={false}
    onChange={(event) => event.currentTarget.value.trim() && put(event.currentTarget.value.trim())} />;
}

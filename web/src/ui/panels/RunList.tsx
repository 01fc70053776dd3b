// The runs: compare, rename, remove, and the changes of a scenario as a case file.
import { useSignal } from "@preact/signals";
import { timeText } from "../../state/clock";
import type { SessionState } from "../../protocol/types";
import { branch } from "../../state/actions";
import { asOptions, asToml } from "../../state/levers";
import { isComparable } from "../../state/compared";
import { nameOf } from "../../state/names";
import { canSteer } from "../../state/control";
import { rename } from "../../state/scenario";
import { logs, notify, sessions } from "../../state/store";
import { activeChanges, removeRun } from "../../state/undo";
import { look, view, type Compare } from "../../state/view";
import { Icon } from "../frame/icons";

const COMPARISONS: [Compare, string][] = [["swipe", "Swipe line"], ["beside", "Side by side"], ["difference", "Difference"]];

export function RunList() {
  const all = Object.values(sessions.value);
  const { other, compare } = view.value;
  return (
    <section aria-label="Runs">
      <h2>Runs</h2>
      <ul class="list runs">{all.map((each) => <Run key={each.session} of={each} />)}</ul>
      {other && (
        <div class="actions" role="group" aria-label="How to compare">
          {COMPARISONS.map(([id, words]) => <button key={id} type="button" aria-pressed={compare === id} onClick={() => look({ compare: id })}>{words}</button>)}
        </div>
      )}
      {canSteer() && <div class="actions"><button type="button" class="quiet" onClick={() => void branch()} title="A second run with the same settings (b)"><Icon name="branch" /> Branch from here</button></div>}
    </section>
  );
}

function Run({ of }: { of: SessionState }) {
  const open = useSignal(false);
  const { session: present, other } = view.value;
  const name = nameOf(of.session);
  return (
    <li class="run" data-run={of.session}>
      <button type="button" aria-pressed={of.session === present} title={`Show “${name}” alone`} onClick={() => look({ session: of.session, other: null })}>
        <b>{name}</b> <span>{of.recorded ? "no model" : `${timeText(of.time, "hour")} · ${of.status}`}</span>
      </button>
      <div class="actions">
        {of.session !== present && isComparable(present, of.session) && (
          <button type="button" class="quiet" aria-pressed={other === of.session} aria-label={`Compare with ${name}`}
            onClick={() => look({ other: other === of.session ? null : of.session })}>compare</button>
        )}
        {of.parent && canSteer(of.session) && <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={() => void removeRun(of.session)}>Remove</button>}
        {!of.recorded && <button type="button" class="quiet" aria-expanded={open.value} aria-label={`More on ${name}`} onClick={() => (open.value = !open.value)}><Icon name="menu" /></button>}
      </div>
      {open.value && <More of={of} name={name} />}
    </li>
  );
}

function More({ of, name }: { of: SessionState; name: string }) {
  const changes = Object.assign({}, ...activeChanges(logs.value[of.session] ?? []).filter((each) => each.command["kind"] === "set")
    .map((each) => each.command["changes"])) as Record<string, unknown>;
  const has = Object.keys(changes).length > 0;
  return (
    <div class="more">
      <label class="field">Name
        <input type="text" maxLength={80} disabled={!canSteer(of.session)} value={of.scenario || name} onChange={(event) => void rename(of.session, event.currentTarget.value)} />
      </label>
      {has && (
        <>
          <label class="field">Changes for a case file<textarea readOnly rows={Math.min(Object.keys(changes).length + 1, 5)} value={asToml(changes)} /></label>
          <div class="actions">
            <button type="button" onClick={() => void copy(asToml(changes))}>Copy for a case file</button>
            <button type="button" onClick={() => void copy(`airshed run ${of.case} ${asOptions(changes)}`)}>Copy for the terminal</button>
          </div>
        </>
      )}
    </div>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify("done", "Copied.");
  } catch {
    notify("problem", "This browser does not allow copying. Select the text instead.");
  }
}

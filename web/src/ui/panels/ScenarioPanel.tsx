// What if: the card of a scenario, its effect, the runs, changes with undo, stored states, and the catalogue of cases.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bytes, errorText } from "../../maths/format";
import { timeText } from "../../state/clock";
import type { CaseEntry, SnapshotInfo } from "../../protocol/types";
import { command, openCase, restore } from "../../state/actions";
import { canSteer } from "../../state/control";
import { isReader } from "../../state/people";
import { http, notify, session } from "../../state/store";
import { view } from "../../state/view";
import { ChangeList } from "./ChangeList";
import { EffectCard } from "./EffectCard";
import { RunList } from "./RunList";
import { ScenarioCard } from "./ScenarioCard";

export function ScenarioPanel() {
  return (
    <>
      <ScenarioCard />
      <EffectCard />
      <RunList />
      <ChangeList />
      {canSteer() && (
        <details>
          <summary>States and replay</summary>
          <div><Snapshots /><Replay /></div>
        </details>
      )}
      {!isReader.value && <Catalogue />}
    </>
  );
}

function Snapshots() {
  const found = useSignal<SnapshotInfo[]>([]);
  const name = view.value.session;
  const entries = session.value?.log_entries;
  const list = () => void http.get<SnapshotInfo[]>(`/sessions/${name}/snapshots`).then((all) => (found.value = all), () => undefined);
  useEffect(list, [name, entries]);
  const take = async () => {
    if (await command(name, { kind: "snapshot", text: "" })) list();
  };
  return (
    <section>
      <h2>Snapshots</h2>
      <ul class="list">
        {found.value.filter((each) => each.change === null).map((each) => (
          <li key={each.snapshot}>
            <button type="button" onClick={() => void restore(each.snapshot)} title={`Go to this state (${bytes(each.bytes)})`}>
              <b>{timeText(each.time, "hour")}</b> <span>{timeText(each.time, "date")} · step {each.step}{each.text ? ` · ${each.text}` : ""}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="actions"><button type="button" onClick={() => void take()}>Take a snapshot</button></div>
    </section>
  );
}

/** Repeat the run from its log and compare the results. */
function Replay() {
  const replayed = session.value?.replayed;
  const replay = async () => {
    const result = (await command(view.value.session, { kind: "replay" }))?.replay;
    if (result) notify(result.equal ? "done" : "problem", result.equal ? "The replay is bitwise identical." : `The replay differs in ${result.differs.join(", ")}.`);
  };
  return (
    <div class="actions">
      <button type="button" disabled={replayed != null} onClick={() => void replay()} title="Repeat the run from its log and compare the results bit by bit">
        {replayed == null ? "Replay and compare" : `Replayed up to step ${replayed} …`}
      </button>
    </div>
  );
}

const MINE = "a file";

function Catalogue() {
  const cases = useSignal<CaseEntry[] | null>(null);
  const opening = useSignal<string | null>(null);
  return (
    <details onToggle={() => void load(cases)}>
      <summary>Open another case</summary>
      <ul class="list">
        {cases.value?.map((each) => (
          <li key={each.name}>
            <button type="button" disabled={opening.value !== null} title={each.description} onClick={() => void begin({ case: each.name }, each.name, opening)}>
              <b>{each.title || each.name}</b> <span>{opening.value === each.name ? "opening …" : each.description || each.model}</span>
            </button>
          </li>
        ))}
      </ul>
      <label class="field">{opening.value === MINE ? "Opening your case …" : "Or open your own case file"}
        <input type="file" accept=".toml" disabled={opening.value !== null} onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          if (file) void file.text().then((toml) => begin({ toml }, MINE, opening));
          event.currentTarget.value = "";
        }} />
      </label>
    </details>
  );
}

async function load(cases: Signal<CaseEntry[] | null>): Promise<void> {
  try {
    cases.value ??= await http.get<CaseEntry[]>("/cases");
  } catch (error) {
    notify("problem", errorText(error));
  }
}

async function begin(request: Parameters<typeof openCase>[0], name: string, opening: Signal<string | null>): Promise<void> {
  opening.value = name;
  await openCase(request);
  opening.value = null;
}

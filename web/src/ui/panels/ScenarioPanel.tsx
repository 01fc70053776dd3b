// Runs side by side: branches, snapshots, the log, and the catalogue of cases.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bytes, clock, day } from "../../maths/format";
import type { CaseEntry, SnapshotInfo } from "../../protocol/types";
import { branch, close, command, openCase, restore } from "../../state/actions";
import { http, logs, notify, session, sessions } from "../../state/store";
import { look, view } from "../../state/view";
import { Icon } from "../frame/icons";

export function ScenarioPanel() {
  return (
    <>
      <Runs />
      <Snapshots />
      <Log />
      <Catalogue />
    </>
  );
}

function Runs() {
  const all = Object.values(sessions.value);
  const { session: present, other, compare } = view.value;
  return (
    <section>
      <h2>Runs</h2>
      <ul class="list runs">
        {all.map((each) => (
          <li key={each.session} class="run" data-run={each.session}>
            <button type="button" aria-pressed={each.session === present} onClick={() => look({ session: each.session, other: null })}>
              <b>{each.session}</b> <span>{each.parent ? `branch of ${each.parent} · ` : ""}step {each.step} · {each.status}</span>
            </button>
            {each.session !== present && (
              <div class="actions">
                <button type="button" class="quiet" aria-pressed={other === each.session}
                  onClick={() => look({ other: other === each.session ? null : each.session })}>compare</button>
                <button type="button" class="quiet" aria-label={`End ${each.session}`} onClick={() => void close(each.session)}><Icon name="close" /></button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {other && (
        <div class="actions" role="group" aria-label="How to compare">
          <button type="button" aria-pressed={compare === "beside"} onClick={() => look({ compare: "beside" })}>Side by side</button>
          <button type="button" aria-pressed={compare === "difference"} onClick={() => look({ compare: "difference" })}>Difference</button>
        </div>
      )}
      <div class="actions"><button type="button" onClick={() => void branch()}><Icon name="branch" /> Branch from here</button></div>
    </section>
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
        {found.value.map((each) => (
          <li key={each.snapshot}>
            <button type="button" onClick={() => void restore(each.snapshot)} title={`Go to this state (${bytes(each.bytes)})`}>
              <b>{clock(each.time)}</b> <span>{day(each.time)} · step {each.step}{each.text ? ` · ${each.text}` : ""}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="actions"><button type="button" onClick={() => void take()}>Take a snapshot</button></div>
    </section>
  );
}

const MOST = 40;

function Log() {
  const entries = (logs.value[view.value.session] ?? []).filter((each) => each.command["kind"] !== "snapshot" && each.command["kind"] !== "forget");
  const replayed = session.value?.replayed;
  const replay = async () => {
    const result = (await command(view.value.session, { kind: "replay" }))?.replay;
    if (result) notify(result.equal ? "done" : "problem", result.equal ? "The replay is bitwise identical." : `The replay differs in ${result.differs.join(", ")}.`);
  };
  return (
    <section>
      <h2>Log</h2>
      {!entries.length && <p class="empty">No changes yet.</p>}
      {entries.length > 0 && (
        <table>
          <thead><tr><th>step</th><th>change</th><th>author</th></tr></thead>
          <tbody>
            {entries.slice(-MOST).reverse().map((each) => (
              <tr key={each.number}><td>{each.step}</td><td>{words(each.command)}</td><td>{each.author}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      <div class="actions">
        <button type="button" disabled={replayed != null} onClick={() => void replay()} title="Repeat the run from its log and compare the results bit by bit">
          {replayed == null ? "Replay and compare" : `Replayed up to step ${replayed} …`}
        </button>
      </div>
    </section>
  );
}

/** Return a command of the log as text: its kind and its arguments. */
function words(command: Record<string, unknown>): string {
  const { kind, polygon, ...given } = command;
  const rest = Object.values(given).map((each) => (typeof each === "object" ? JSON.stringify(each) : String(each)));
  return [kind, ...rest, polygon ? "in an area" : ""].filter(Boolean).join(" ");
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
    notify("problem", error instanceof Error ? error.message : String(error));
  }
}

async function begin(request: Parameters<typeof openCase>[0], name: string, opening: Signal<string | null>): Promise<void> {
  opening.value = name;
  await openCase(request);
  opening.value = null;
}

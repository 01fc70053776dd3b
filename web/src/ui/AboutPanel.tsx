// What the model is, where its time goes, what it tells, and who controls it.
import { useEffect } from "preact/hooks";
import { number, span } from "../maths/format";
import { renameAuthor } from "../protocol/access";
import { identity, info, learn, session } from "../state/store";
import { view } from "../state/view";

export function AboutPanel() {
  const about = info.value;
  const running = session.value?.status === "running";
  useEffect(() => {
    const again = () => void learn(view.value.session);
    again();
    const timer = running ? setInterval(again, 2000) : undefined;
    return () => clearInterval(timer);
  }, [running, view.value.session]);
  if (!about) return <p class="empty">Nothing is known of the model yet.</p>;
  const { state } = about;
  const whole = about.timing.reduce((sum, each) => sum + each.seconds, 0);
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
      {whole > 0 && (
        <section>
          <h2>Where the time goes</h2>
          <table>
            <tbody>
              {about.timing.map((each) => <Row key={each.part} name={each.part} value={`${number(each.seconds)} s · ${Math.round((100 * each.seconds) / whole)} %`} />)}
            </tbody>
          </table>
        </section>
      )}
      {about.notices.length > 0 && <section><h2>Notices</h2>{about.notices.map((each) => <p key={each}>{each}</p>)}</section>}
      <section>
        <label class="field">Your name in the log
          <input type="text" value={identity.author} maxLength={100} onChange={(event) => rename(event.currentTarget.value.trim())} />
        </label>
      </section>
      <section class="sources">
        {Object.entries(about.attributes).map(([name, text]) => <details key={name}><summary>{name}</summary><p class="empty">{text}</p></details>)}
      </section>
    </>
  );
}

function rename(name: string): void {
  if (!name) return;
  renameAuthor(name);
  location.reload(); // the server knows a connection by the name that it began with
}

function Row({ name, value }: { name: string; value: string }) {
  return <tr><th scope="row">{name}</th><td>{value}</td></tr>;
}

// The log of a run as sentences; the commands themselves are behind a disclosure.
import { entryText } from "../../state/log_words";
import { info, logs } from "../../state/store";
import { context } from "../../state/undo";
import { view } from "../../state/view";

const MOST = 40;
/** Commands that store and delete states change nothing. */
const QUIET = ["snapshot", "forget"];

export function LogSection() {
  const about = info.value;
  if (!about) return null;
  const entries = (logs.value[view.value.session] ?? []).filter((each) => !QUIET.includes(String(each.command["kind"])));
  return (
    <section aria-label="Log">
      <h2>Log</h2>
      {!entries.length && <p class="empty">No changes yet.</p>}
      <ul class="plain log">
        {entries.slice(-MOST).reverse().map((each) => (
          <li key={each.number}>
            <details>
              <summary>{entryText(each, about.start, context.value)}</summary>
              <code>step {each.step}: {JSON.stringify(each.command)}</code>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

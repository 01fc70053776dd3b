// The log of a run as sentences; the commands themselves are behind a disclosure.
import { leversOf } from "../../state/levers";
import { entryText } from "../../state/log_words";
import { placeName } from "../../state/place_names";
import { info, logs, variables } from "../../state/store";
import { view } from "../../state/view";

const MOST = 40;
/** Commands that store and delete states change nothing. */
const QUIET = ["snapshot", "forget"];

export function LogSection() {
  const about = info.value;
  if (!about) return null;
  const entries = (logs.value[view.value.session] ?? []).filter((each) => !QUIET.includes(String(each.command["kind"])));
  const context = { levers: leversOf(about.settings), variables: variables.value, placeName };
  return (
    <section aria-label="Log">
      <h2>Log</h2>
      {!entries.length && <p class="empty">No changes yet.</p>}
      <ul class="plain log">
        {entries.slice(-MOST).reverse().map((each) => (
          <li key={each.number}>
            <details>
              <summary>{entryText(each, about.start, context)}</summary>
              <code>step {each.step}: {JSON.stringify(each.command)}</code>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

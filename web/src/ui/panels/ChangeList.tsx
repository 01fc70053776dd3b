// The changes of the displayed run in words, each with its undo.
import { timeText } from "../../state/clock";
import { nameOf } from "../../state/names";
import { session, sessions } from "../../state/store";
import { canSteer } from "../../state/control";
import { canBringBack, canRedo, changes, redo, stateBefore, triedRun, undo } from "../../state/undo";
import { view } from "../../state/view";
import { Icon } from "../frame/icons";

/** Number of states before changes that the server stores. */
const STORED = 8;

export function ChangeList() {
  const state = session.value;
  if (!state || state.recorded) return null;
  const [tried, can] = [triedRun.value, canSteer()];
  const zero = Date.parse(state.time) - 1000 * state.seconds;
  return (
    <section aria-label="Changes">
      <h2>Changes of “{nameOf(view.value.session)}”</h2>
      <div class="actions">
        <button type="button" disabled={!can || (!changes.value.length && !tried)} onClick={() => void undo()} title={tried ? "Undo the scenario (Ctrl-Z)" : "Undo the last change (Ctrl-Z)"}>
          <Icon name="undo" /> {tried ? `Remove “${nameOf(tried)}” and return to “${nameOf(sessions.value[tried]?.parent ?? "")}”` : "Undo"}
        </button>
        <button type="button" disabled={!can || !canRedo.value} onClick={() => void redo()} title={canRedo.value ? `Redo: ${canRedo.value} (Ctrl-Shift-Z)` : "Redo (Ctrl-Shift-Z)"}>
          <Icon name="redo" /> {canBringBack.value ? "Removed: bring it back" : "Redo"}
        </button>
      </div>
      {!changes.value.length && !tried && <p class="empty">No changes yet.</p>}
      <ul class="plain changes">
        {changes.value.toReversed().map((each) => (
          <li class="key" key={each.number}>
            <time>{timeText(zero + 1000 * each.seconds, "hour")}</time><span title={`by ${each.author}`}>{each.words}</span>
            {can && stateBefore(each.number) && <button type="button" class="quiet" aria-label={`Undo ${each.words}`} title="Undo this change and later ones" onClick={() => void undo(each.number)}><Icon name="undo" /></button>}
          </li>
        ))}
      </ul>
      {changes.value.length > 0 && <p class="empty">The states before the last {STORED} changes are stored.</p>}
    </section>
  );
}

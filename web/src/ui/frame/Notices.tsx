// Messages of the page: refusals, and results of actions.
import { dismiss, notices } from "../../state/store";
import { Icon } from "./icons";

export function Notices() {
  return (
    <div class="notices" role="log" aria-live="polite" aria-label="Messages">
      {notices.value.map((each) => (
        <div key={each.id} class={`notice ${each.kind}`}>
          <span>{each.text}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(each.id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}

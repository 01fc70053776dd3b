// Title of the run, state of the connection, and control.
import { helpOpen } from "../../state/bindings";
import { lease } from "../../state/actions";
import { connection, controls, notify, session, sessions } from "../../state/store";
import { hasModel } from "../../state/playback";
import { look, view } from "../../state/view";
import { isDark } from "../../state/theme";
import { GoTo } from "./GoTo";
import { Icon } from "./icons";

const CONNECTION = { connecting: "connecting", open: "live", lost: "connection lost", refused: "no access" } as const;

export function TopBar() {
  const names = Object.keys(sessions.value);
  return (
    <header class="top">
      <h1><span class="brand">Airshed</span> <span class="title">{session.value?.title || session.value?.case || ""}</span></h1>
      {names.length > 1 && (
        <label class="session"><span class="hidden">Run</span>
          <select value={view.value.session} onChange={(event) => look({ session: event.currentTarget.value, other: null })}>
            {names.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      <GoTo />
      <Controller />
      <span class={`state ${connection.value}`} role="status" data-connection={connection.value}>{connection.value === "open" && !hasModel() ? "recorded run" : CONNECTION[connection.value]}</span>
      <button type="button" class="quiet" title="Copy a link to this view" aria-label="Copy a link to this view" onClick={() => void share()}><Icon name="share" /></button>
      <button type="button" class="quiet" title="Light or dark (t)" aria-label="Light or dark" onClick={() => look({ theme: isDark.value ? "light" : "dark" })}><Icon name="theme" /></button>
      <button type="button" class="quiet" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick={() => (helpOpen.value = true)}><Icon name="help" /></button>
    </header>
  );
}

async function share(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    notify("done", "Link copied. It opens this view for users who have the server's token.");
  } catch {
    notify("problem", "This browser does not allow copying. Copy the link from the address bar.");
  }
}

function Controller() {
  const control = controls.value[view.value.session];
  if (!control?.controller) return null;
  if (!control.yours) {
    return (
      <span class="controller">
        {control.controller} has control
        <button type="button" class="quiet" onClick={() => void lease("POST")}>request control</button>
      </span>
    );
  }
  const requester = control.asking;
  return (
    <span class="controller">
      {requester ? `${requester} requests control` : "you have control"}
      {requester && <button type="button" class="quiet" onClick={() => void lease("DELETE")}>hand over</button>}
    </span>
  );
}

// Title of the run, state of the connection, and control.
import { helpOpen } from "../../state/bindings";
import { connection, info, session, sessions } from "../../state/store";
import { hasModel } from "../../state/playback";
import { nameOf } from "../../state/names";
import { look, view } from "../../state/view";
import { isDark } from "../../state/theme";
import { GoTo } from "./GoTo";
import { Icon } from "./icons";
import { People } from "./People";
import { SaveMenu } from "./SaveMenu";
import { Share } from "./Share";

const CONNECTION = { connecting: "connecting", open: "live", lost: "connection lost", refused: "no access" } as const;

export function TopBar() {
  const made = info.value?.attributes?.["synthetic"];
  const names = Object.keys(sessions.value);
  return (
    <header class="top">
      <h1><span class="brand">Airshed</span> <span class="title">{session.value?.title || session.value?.case || ""}</span>
        {made && <small class="made" title={made}>{firstSentence(made)}</small>}
      </h1>
      {names.length > 1 && (
        <label class="session"><span class="hidden">Run</span>
          <select value={view.value.session} onChange={(event) => look({ session: event.currentTarget.value, other: null })}>
            {names.map((name) => <option key={name} value={name}>{nameOf(name)}</option>)}
          </select>
        </label>
      )}
      <GoTo />
      <People />
      <span class={`state ${connection.value}`} role="status" data-connection={connection.value}>{connection.value === "open" && !hasModel() ? "recorded run" : CONNECTION[connection.value]}</span>
      <SaveMenu />
      <Share />
      <button type="button" class="quiet" title="Light or dark (t)" aria-label="Light or dark" onClick={() => look({ theme: isDark.value ? "light" : "dark" })}><Icon name="theme" /></button>
      <button type="button" class="quiet" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick={() => (helpOpen.value = true)}><Icon name="help" /></button>
    </header>
  );
}

const firstSentence = (text: string): string => /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text;

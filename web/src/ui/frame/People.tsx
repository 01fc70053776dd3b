// Who is here and who controls the displayed run; a name for oneself.
import { useSignal } from "@preact/signals";
import { isSite } from "../../protocol/recorded_site";
import { askForControl, decline, handOver, rename } from "../../state/control";
import { isReader, listed, ownName, role } from "../../state/people";
import { hasModel } from "../../state/playback";
import { controls } from "../../state/store";
import { view } from "../../state/view";
import { Icon } from "./icons";
import { Popover } from "./Popover";
import { ReaderControl } from "./ReaderControl";

export function People() {
  if (isSite() || role.value === null) return null;
  const control = hasModel() ? controls.value[view.value.session] : undefined;
  const who = control?.yours ? "You control" : control?.controller ? `${control.controller} controls` : "";
  const label = <><Icon name="people" /><span class="count">{listed.value.length}</span>{who && <span class="controller">{who}</span>}</>;
  return (
    <Popover id="people" name={`People: ${listed.value.length} here${who ? `. ${who}` : ""}`} label={label}>
      {() => (
        <>
          <ul class="plain">
            {listed.value.map((each) => (
              <li key={each.name} class="person">
                <b>{each.name}</b>
                <span>{[each.name === ownName.value && "you", each.name === control?.controller ? "controls" : each.role === "watch" && "looks"].filter(Boolean).join(" · ")}</span>
              </li>
            ))}
          </ul>
          {hasModel() && <Control />}
          <Name />
        </>
      )}
    </Popover>
  );
}

/** The way to control: at once where it is free, by a question to its holder, or to the owner for a reader. */
function Control() {
  const name = view.value.session;
  const control = controls.value[name];
  if (isReader.value) return <ReaderControl />;
  if (control?.yours) return <button type="button" onClick={() => void handOver(name)}>Give control up</button>;
  if (control?.asked) return <button type="button" onClick={() => void decline(name)}>Withdraw the request</button>;
  return <button type="button" class="main" onClick={() => void askForControl()}>{control?.controller ? `Ask ${control.controller} for control` : "Take control"}</button>;
}

function Name() {
  const text = useSignal(ownName.value);
  return (
    <form class="name" onSubmit={(event) => { event.preventDefault(); rename(text.value); }}>
      <label class="field">Your name, as others see it
        <input maxLength={40} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={!text.value.trim() || text.value === ownName.value}>Save</button>
    </form>
  );
}

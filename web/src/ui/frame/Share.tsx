// Share: a link to the present view, to look or to control.
import { isSite } from "../../protocol/recorded_site";
import { isReader, type Role } from "../../state/people";
import { canSetUp } from "../../state/opening";
import { hasModel } from "../../state/playback";
import { isOnlyHere, ONLY_HERE, share, shown } from "../../state/share";
import { Icon } from "./icons";
import { Popover } from "./Popover";

const CHOICES: { role: Role; name: string; text: string }[] = [
  { role: "watch", name: "Copy a link to look", text: "It shows this run, field, hour and these places. Its readers can look at everything and change nothing." },
  { role: "control", name: "Copy a link to control", text: "Its readers can also change and run the model, and let others in." },
];

const canControl = (): boolean => !isReader.value && !isSite() && (hasModel() || canSetUp.value);

export function Share() {
  const choices = CHOICES.filter((each) => each.role === "watch" || canControl());
  return (
    <Popover id="share" name="Share this view" label={<Icon name="share" />}>
      {(close) => (
        <>
          {choices.map(({ role, name, text }) => (
            <div class="choice" key={role}>
              <button type="button" class={role === "watch" ? "main" : ""} aria-describedby={`share-${role}`}
                onClick={() => void share(role).then((copied) => copied && close())}>{name}</button>
              <p id={`share-${role}`}>{text}</p>
            </div>
          ))}
          {isOnlyHere() && (
            <p class="problem">{ONLY_HERE} To let others in, serve behind a reverse proxy, or with <code>--host</code> and a TLS certificate:
              see “Behind a reverse proxy” in docs/how-to/serve.md.</p>
          )}
          {shown.value !== null && (
            <label class="field">This browser does not allow copying here. Copy the link yourself.
              <input readOnly value={shown.value} ref={(each) => each?.select()} onFocus={(event) => event.currentTarget.select()} />
            </label>
          )}
        </>
      )}
    </Popover>
  );
}

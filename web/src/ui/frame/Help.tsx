import { useLayoutEffect, useRef } from "preact/hooks";
import { MAP_KEYS } from "../../map/keys";
import { BINDINGS, helpOpen } from "../../state/bindings";

const NAMES: Record<string, string> = { " ": "Space" };

/** List of keyboard shortcuts, generated from the bindings. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const groups = [...new Set(BINDINGS.map((each) => each.group))];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <h2 id="help-title">Keyboard shortcuts</h2>
      <div class="groups">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {BINDINGS.filter((each) => each.group === group).map((each) => (
                <Row key={each.text} keys={each.shown ?? each.keys.map((key) => NAMES[key] ?? key)} text={each.text} />
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>When the map has the focus</h3>
          <dl>{MAP_KEYS.map((each) => <Row key={each.text} keys={each.shown ?? each.keys} text={each.text} />)}</dl>
        </section>
      </div>
      <form method="dialog"><button type="submit" class="main">Close</button></form>
    </dialog>
  );
}

function Row({ keys, text }: { keys: string[]; text: string }) {
  return (
    <div>
      <dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
      <dd>{text}</dd>
    </div>
  );
}

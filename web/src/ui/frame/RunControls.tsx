// The controls of the model: run or pause, and a menu with a step, the time until which it runs, and its speed.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { span } from "../../maths/format";
import type { SessionState } from "../../protocol/types";
import { isRunning, play, restart, step, toggle } from "../../state/actions";
import { session } from "../../state/store";
import { displayedTime, look, showTime, view } from "../../state/view";
import { Icon } from "./icons";

export function RunControls() {
  const state = session.value;
  const running = isRunning();
  const menu = useRef<HTMLDivElement>(null);
  return (
    <div class="running" role="group" aria-label="The model">
      <button type="button" class="follow" data-shown={displayedTime.value !== null} disabled={displayedTime.value === null} onClick={() => showTime(null)}
        title={running ? "Display each hour as it is computed (n)" : "Display the latest computed hour (n)"}>
        {running ? "Follow the run" : "Latest hour"}
      </button>
      <button type="button" class="model" onClick={() => void toggle()} disabled={!state || state.status === "ended"} aria-pressed={running}
        title="Compute further hours, or pause (m)">
        <Icon name={running ? "pause" : "model"} /> {running ? "Pause model" : "Run model"}
      </button>
      <button type="button" class="more" aria-label="More ways to run the model" title="Step, run until, speed" {...{ popovertarget: "run-menu" }}><Icon name="menu" /></button>
      <div id="run-menu" class="menu" ref={menu} {...{ popover: "auto" }} role="dialog" aria-label="Run the model">
        {state && <Menu state={state} close={() => menu.current?.hidePopover()} />}
      </div>
    </div>
  );
}

const SPEEDS = [1, 2, 5, 10, 20];

function Menu({ state, close }: { state: SessionState; close(): void }) {
  const running = state.status === "running";
  const ended = state.status === "ended";
  const run = (until: number | string | null) => {
    close();
    void play(until);
  };
  return (
    <>
      <h2>Run the model</h2>
      <p class="empty">{statusText(state)}</p>
      <div class="actions">
        {lengths(state).map((each) => <button key={each} type="button" disabled={ended} onClick={() => run(Math.min(state.seconds + each, state.end))}>for {span(each)}</button>)}
        <button type="button" disabled={ended} onClick={() => run(null)} title="e">to the end</button>
      </div>
      <Until state={state} run={run} />
      <label class="field speed">Speed
        <select value={view.value.speed ?? ""} onChange={(event) => setSpeed(event.currentTarget.value, running)}>
          <option value="">as fast as possible</option>
          {SPEEDS.map((each) => <option key={each} value={each}>{each} {each === 1 ? "step" : "steps"} per second</option>)}
        </select>
      </label>
      <div class="actions">
        <button type="button" disabled={running || ended} onClick={() => void step()} title="."><Icon name="step" /> One step</button>
        <button type="button" onClick={() => (close(), void restart())} title="Return to the start of the case; the computed hours are removed"><Icon name="restart" /> Return to the start</button>
      </div>
    </>
  );
}

function statusText(state: SessionState): string {
  const rate = state.status === "running" && state.steps_per_second;
  const speed = rate ? `, ${rate >= 10 ? Math.round(rate) : Number(rate.toPrecision(2))} steps per second` : "";
  return `Step ${state.step}, ${state.status}${speed}.`;
}

function Until({ state, run }: { state: SessionState; run(until: string): void }) {
  const text = useSignal("");
  const example = span(lengths(state)[1] ?? 6 * 3600);
  return (
    <form class="until" onSubmit={(event) => {
      event.preventDefault();
      if (text.value.trim()) run(text.value.trim());
    }}>
      <label class="field">Until (time after the start of the case)
        <input disabled={state.status === "ended"} placeholder={example} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={!text.value.trim()}>Run</button>
    </form>
  );
}

/** Return suitable lengths of time to run for, by the length of the case. */
function lengths(state: SessionState): number[] {
  const whole = state.end - state.begin;
  const all = [600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400];
  return all.filter((each) => each >= whole / 400 && each <= whole / 1.5).slice(0, 3);
}

function setSpeed(text: string, running: boolean): void {
  look({ speed: text ? Number(text) : null });
  if (running) void play();
}

// Time controls: play, pause, step, run until, speed, and the slider of past steps.
import { useSignal } from "@preact/signals";
import { clock, day, span } from "../../maths/format";
import { pause, play, restart, step } from "../../state/actions";
import { hasModel, playing, togglePlayback } from "../../state/playback";
import { arrived, past, session, shown } from "../../state/store";
import { displayedTime, look, showTime, view } from "../../state/view";
import type { SessionState } from "../../protocol/types";
import { Icon } from "./icons";

const SPEEDS = [1, 2, 5, 10, 20];

export function TimeBar() {
  void arrived.value;
  const state = session.value;
  const running = state?.status === "running";
  const ended = state?.status === "ended";
  return (
    <footer class="timebar" aria-label="Time">
      <div class="buttons">
        {hasModel() && <Run state={state} running={running} ended={ended} />}
        <button type="button" class={hasModel() ? "" : "main"} aria-pressed={playing.value} onClick={togglePlayback} disabled={past(view.value.session).frames.length < 2}
          title="Play the stored hours (h)" aria-label={playing.value ? "Stop the playback" : "Play the stored hours"}>
          <Icon name={playing.value ? "pause" : hasModel() ? "film" : "play"} />
        </button>
      </div>
      {hasModel() && state && <Until state={state} />}
      {hasModel() && (
        <label class="speed">
          <span class="hidden">Speed</span>
          <select value={view.value.speed ?? ""} onChange={(event) => setSpeed(event.currentTarget.value, running)}>
            <option value="">full speed</option>
            {SPEEDS.map((each) => <option key={each} value={each}>{each} {each === 1 ? "step" : "steps"}/s</option>)}
          </select>
        </label>
      )}
      <Ring />
      {state && <Clock state={state} />}
    </footer>
  );
}

/** The controls of the model: to the start, run or pause, one step. */
function Run({ state, running, ended }: { state: SessionState | null; running: boolean; ended: boolean }) {
  return (
    <>
      <button type="button" onClick={() => void restart()} disabled={!state} title="Return to the start (Home)" aria-label="Return to the start of the case">
        <Icon name="restart" />
      </button>
      <button type="button" class="main" onClick={() => void (running ? pause() : play())} disabled={!state || ended}
        title="Run or pause the model (space)" aria-label={running ? "Pause" : "Run the model"}>
        <Icon name={running ? "pause" : "play"} />
      </button>
      <button type="button" onClick={() => void step()} disabled={!state || running || ended} title="One step (.)" aria-label="One step">
        <Icon name="step" />
      </button>
    </>
  );
}

function setSpeed(text: string, running: boolean): void {
  look({ speed: text ? Number(text) : null });
  if (running) void play();
}

function Clock({ state }: { state: SessionState }) {
  const frame = shown(state.session);
  const { time, seconds } = displayedTime.value !== null && frame ? frame.header : state;
  const rate = state.status === "running" && state.steps_per_second;
  return (
    <div class="clock" data-step={state.step} data-status={state.status} data-seconds={state.seconds}>
      <time dateTime={time}><b>{clock(time)}</b> {day(time)} <small>UTC</small></time>
      <small>
        {!hasModel() ? "recorded run" : displayedTime.value !== null ? <mark>past hour</mark> : `step ${state.step}`}
        {seconds < 0 && <span title="Spin-up: time before the start of the case, in which the air adjusts to the emissions"> · spin-up</span>}
        {rate ? ` · ${rate >= 10 ? Math.round(rate) : Number(rate.toPrecision(2))} ${rate === 1 ? "step" : "steps"}/s` : ""}{hasModel() && ` · ${state.status}`}
      </small>
    </div>
  );
}

/** Return suitable lengths of time to run for, by the length of the case. */
function lengths(state: SessionState): number[] {
  const whole = state.end - state.begin;
  const all = [600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400];
  return all.filter((each) => each >= whole / 400 && each <= whole / 1.5).slice(0, 4);
}

function Until({ state }: { state: SessionState }) {
  const text = useSignal("");
  const example = span(lengths(state)[1] ?? 6 * 3600);
  const zero = new Date(Date.parse(state.time) - 1000 * state.seconds).toISOString();
  const go = (until: number | null) => void play(until === null ? null : Math.min(until, state.end));
  return (
    <form class="until" onSubmit={(event) => {
      event.preventDefault();
      if (text.value.trim()) void play(text.value.trim());
    }}>
      <label>
        <span class="hidden">Run for</span>
        <select value="" disabled={state.status === "ended"} onChange={(event) => {
          const chosen = event.currentTarget.value;
          event.currentTarget.value = "";
          if (chosen) go(chosen === "end" ? null : state.seconds + Number(chosen));
        }}>
          <option value="">run for …</option>
          {lengths(state).map((each) => <option key={each} value={each}>{span(each)}</option>)}
          <option value="end">to the end</option>
        </select>
      </label>
      <label>
        <span class="hidden">Run until this time after the start of the case</span>
        <input class="time" disabled={state.status === "ended"} placeholder={`until ${example}`} title={`Time after ${clock(zero)} ${day(zero)} UTC, such as ${example}; press Enter to run`} value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
    </form>
  );
}

function Ring() {
  void arrived.value;
  const frames = past(view.value.session).frames;
  const at = displayedTime.value === null ? frames.length - 1 : frames.findLastIndex((each) => each.header.seconds <= (displayedTime.value ?? 0));
  const state = session.value;
  const done = state ? (100 * (state.seconds - state.begin)) / (state.end - state.begin) : 0;
  const move = (to: number) => showTime(to >= frames.length - 1 ? null : (frames[to]?.header.seconds ?? null));
  return (
    <div class="ring">
      <input type="range" min={0} max={Math.max(frames.length - 1, 1)} value={Math.max(at, 0)} disabled={frames.length < 2} aria-label="Past hours"
        aria-valuetext={frames[at] ? `${clock(frames[at].header.time)} ${day(frames[at].header.time)}` : "none yet"}
        onInput={(event) => {
          playing.value = false;
          move(event.currentTarget.valueAsNumber);
        }} />
      <div class="progress" role="progressbar" aria-label="Completed part of the case" aria-valuenow={Math.round(done)}
        aria-valuemin={0} aria-valuemax={100} title={`${done.toFixed(0)} % of the case`}>
        <span style={{ width: `${done}%` }} />
      </div>
    </div>
  );
}

// The time bar: playback of the recorded hours, the displayed time, the track of all hours, and the controls of the model.
import { clockText, dayText, yearText } from "../../maths/time_axis";
import { isLocalTime, zone, zoneName } from "../../state/clock";
import { canSteer } from "../../state/control";
import { hasModel, isLoop, isPlayable, pace, PACES, paceText, playing, togglePlayback } from "../../state/playback";
import { session } from "../../state/store";
import { first, isLong, neighbour, shownTime, timeline } from "../../state/timeline";
import { displayedTime, showTime } from "../../state/view";
import { Icon } from "./icons";
import { RunControls } from "./RunControls";
import { TimeTrack } from "./TimeTrack";

export function TimeBar() {
  return (
    <footer class="timebar" aria-label="Time">
      <Playback />
      <Clock />
      <TimeTrack />
      {canSteer() && <RunControls />}
    </footer>
  );
}

function Playback() {
  return (
    <div class="playback" role="group" aria-label="Playback of the recorded hours">
      <button type="button" class="play main" onClick={togglePlayback} disabled={!isPlayable.value}
        title={isPlayable.value ? "Play the recorded hours (space)" : "No hours are recorded yet"} aria-label={playing.value ? "Stop the playback" : "Play the recorded hours"}>
        <Icon name={playing.value ? "pause" : "play"} /> <span>{playing.value ? "Stop" : "Play"}</span>
      </button>
      <Neighbour by={-1} text="‹" name="Previous hour" />
      <Neighbour by={1} text="›" name="Next hour" />
      <label title={`Speed of the playback: ${paceText(pace.value)} per second`}>
        <span class="hidden">Speed of the playback</span>
        <select value={pace.value} onChange={(event) => (pace.value = Number(event.currentTarget.value))}>
          {PACES.map((each) => <option key={each} value={each}>{paceText(each)}/s</option>)}
        </select>
      </label>
      <button type="button" class="quiet" aria-pressed={isLoop.value} onClick={() => (isLoop.value = !isLoop.value)} title="Play again from the start after the last hour" aria-label="Repeat">
        <Icon name="loop" />
      </button>
    </div>
  );
}

const zoneWords = (): string => (isLocalTime.value ? "local time" : "UTC");

/** The recorded hour before or after the displayed one. */
function Neighbour({ by, text, name }: { by: 1 | -1; text: string; name: string }) {
  const of = timeline.value;
  const at = displayedTime.value;
  const isLast = !of || (by > 0 ? at === null : at !== null && at <= first(of));
  return (
    <button type="button" class="neighbour" disabled={isLast} onClick={() => of && showTime(neighbour(of, at, by))} aria-label={name} title={`${name} (${by < 0 ? "←" : "→"} on the time bar)`}>{text}</button>
  );
}

/** The displayed time, and its relation to the run. */
function Clock() {
  const state = session.value;
  const of = timeline.value;
  if (!state || !of) return <div class="clock" />;
  const time = of.zero + 1000 * shownTime.value;
  return (
    <div class="clock" data-step={state.step} data-status={state.status} data-seconds={state.seconds}>
      <time dateTime={new Date(time).toISOString()}>
        {isLong(of) ? <b>{dayText(time, zone.value)}</b> : <><b>{clockText(time, zone.value)}</b> {dayText(time, zone.value)}</>}
        <span class="year"> {yearText(time, zone.value)}</span>
      </time>
      <small>
        <button type="button" class="zone" onClick={() => (isLocalTime.value = !isLocalTime.value)}
          title={isLocalTime.value ? `Local time is ${zoneName(time)}. Change all times to UTC` : "Change all times to those of your clock"} aria-label={`${zoneWords()}: change between UTC and local time`}>
          {zoneWords()} ▾
        </button>
        <Relation />
      </small>
    </div>
  );
}

function Relation() {
  const state = session.value;
  if (shownTime.value < 0) return <span title="Spin-up: time before the start of the case, in which the air adjusts to the emissions">spin-up</span>;
  if (!hasModel()) return <span>recorded run</span>;
  if (displayedTime.value !== null) return <mark>recorded hour</mark>;
  return <span>{state?.status === "running" ? "now computing" : state?.status === "ended" ? "end of the run" : "latest hour"}</span>;
}

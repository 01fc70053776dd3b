// One line over a recorded day: its date, and the way to the live run.
import { canSetUp, goingLive, liveRun, makeLive, progress, showLive } from "../../state/opening";
import { isReader } from "../../state/people";
import { past, session, arrived } from "../../state/store";
import { view } from "../../state/view";

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" }); // a recorded day is one of UTC
const DAY = 86400;

export function Recorded() {
  const state = session.value;
  if (!state?.recorded) return null;
  return (
    <div class="recorded" role="status">
      <span>{period(state.begin, state.end, state.time)}</span>
      {progress.value ? <Progress text={progress.value} /> : canSetUp.value && <Live />}
    </div>
  );
}

function Live() {
  if (liveRun.value) return <button type="button" class="main" onClick={showLive}>Show the live run</button>;
  if (isReader.value) return null;
  return (
    <>
      <small>The model computes this recorded day again, not today’s air.</small>
      <button type="button" class="main" onClick={() => void makeLive()} title="Set up the model of this day, and run it: then you can change emissions and weather">
        Start the model
      </button>
    </>
  );
}

function Progress({ text }: { text: string }) {
  return (
    <span class="working"><span class="spinner small" aria-hidden="true" />
      {goingLive.value ? "The model starts" : "A live run begins"}: {text} …
    </span>
  );
}

/** Return the dates of a recording, which ends at a time in ISO 8601. */
function period(begin: number, end: number, time: string): string {
  void arrived.value;
  const last = past(view.value.session).last;
  const zero = last ? Date.parse(last.header.time) - 1000 * last.header.seconds : Date.parse(time) - 1000 * end;
  const [from, to] = [new Date(zero + 1000 * begin), new Date(zero + 1000 * end - 1)];
  if (end - begin <= DAY + 3600) return `Recorded day: ${DATE.format(from)}`;
  return `Recorded run: ${DATE.formatRange(from, to)}`;
}

// The track of all hours of a run: recorded, computed, and still to come, with days and hours. Pointers and keys move along it.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { clockText, dayText, nameFor, periods, ticks } from "../../maths/time_axis";
import { play } from "../../state/actions";
import { canSteer } from "../../state/control";
import { zone } from "../../state/clock";
import { hasModel, playing } from "../../state/playback";
import { session } from "../../state/store";
import { first, isLong, last, nearest, neighbour, position, shownTime, spinUpPart, timeAt, timeline, type Timeline } from "../../state/timeline";
import { displayedTime, moveTo, playhead, showTime } from "../../state/view";

export function TimeTrack() {
  const track = useRef<HTMLDivElement>(null);
  const width = useSignal(800);
  const hovered = useSignal<number | null>(null);
  const offered = useSignal<number | null>(null);
  useEffect(() => {
    const sizes = new ResizeObserver(() => (width.value = track.current?.clientWidth ?? 800));
    sizes.observe(track.current!);
    return () => sizes.disconnect();
  }, []);
  const of = timeline.value;
  const moves = useMoves(track, hovered, offered);
  return (
    <div class="track" ref={track}>
      {of && (
        <>
          <div class="hours" role="slider" tabIndex={0} aria-label="Displayed time" data-end={of.end} aria-valuemin={first(of)} aria-valuemax={Math.max(last(of), of.present)}
            aria-valuenow={Math.round(shownTime.value)} aria-valuetext={textOf(of, shownTime.value)} {...moves}>
            <Axis of={of} width={width.value} />
            <Parts of={of} />
            {hovered.value !== null && <Hover of={of} seconds={hovered.value} />}
            <Thumb of={of} />
          </div>
          {offered.value !== null && <Offer of={of} seconds={offered} />}
        </>
      )}
    </div>
  );
}

const percent = (part: number): string => `${(100 * part).toFixed(3)}%`;
const timeOf = (of: Timeline, seconds: number): number => of.zero + 1000 * seconds;
const textOf = (of: Timeline, seconds: number): string => `${dayText(timeOf(of, seconds), zone.value)}, ${clockText(timeOf(of, seconds), zone.value)}`;

/** Return the hour of a time, or its day where days matter more. */
const shortText = (of: Timeline, seconds: number): string => (isLong(of) ? dayText : clockText)(timeOf(of, seconds), zone.value);

/** Distance within which a tick at an end has no text next to its neighbour, because its text is shifted inwards [pixels]. */
const CLOSE = 62;
/** Distance from an end within which the text of a tick is shifted inwards [pixels]. */
const EDGE = 20;

/** Names of days and hours, or of months and days; spin-up has its name only. */
function Axis({ of, width }: { of: Timeline; width: number }) {
  const part = spinUpPart(of);
  const [from, to] = [timeOf(of, Math.max(of.begin, 0)), timeOf(of, of.end)];
  const own = width * (1 - part);
  const at = (time: number) => position(of, (time - of.zero) / 1000);
  const shown = ticks(from, to, own, zone.value);
  const gap = (k: number) => width * (at(shown[k + 1]?.time ?? Infinity) - at(shown[k]?.time ?? -Infinity));
  const edge = (time: number) => (width * at(time) < EDGE ? "left" : width * (1 - at(time)) < EDGE ? "right" : "");
  const isFree = (k: number, side: string) => !side || gap(side === "left" ? k : k - 1) >= CLOSE;
  return (
    <div class="axis" aria-hidden="true">
      {part > 0 && <span class="period" style={{ left: 0, width: percent(part) }}>{nameFor(["Spin-up", "Spin"], part * width)}</span>}
      {periods(from, to, own, zone.value).map((each) => (
        <span class="period" key={each.from} style={{ left: percent(at(each.from)), width: percent(at(each.to) - at(each.from)) }}>
          {nameFor(each.names, width * (at(each.to) - at(each.from)))}
        </span>
      ))}
      {shown.map((each, k) => (
        <span class="tick" key={each.time} style={{ left: percent(at(each.time)) }} data-edge={edge(each.time)}>
          {isFree(k, edge(each.time)) ? each.text : ""}
        </span>
      ))}
    </div>
  );
}

/** The parts of the run by colour and pattern; a marker where the model is. */
function Parts({ of }: { of: Timeline }) {
  const part = (from: number, to: number) => ({ left: percent(position(of, from)), width: percent(position(of, to) - position(of, from)) });
  const state = session.value;
  const running = state?.status === "running";
  const { target } = state ?? {};
  return (
    <div class="parts" aria-hidden="true">
      {of.end > of.present && <span class="future" style={part(of.present, of.end)} />}
      <span class="computed" style={part(of.begin, of.present)} />
      {of.times.length > 1 && <span class="stored" style={part(first(of), last(of))} />}
      {of.begin < 0 && <span class="spin-up" style={part(of.begin, Math.min(of.present, 0))} />}
      {running && target != null && target < of.end && <span class="target" style={{ left: percent(position(of, target)) }} />}
      {hasModel() && <span class="front" data-running={running} style={{ left: percent(position(of, of.present)) }} />}
    </div>
  );
}

const edgeOf = (at: number): string => (at < 0.08 ? "left" : at > 0.92 ? "right" : "");

function Thumb({ of }: { of: Timeline }) {
  const time = playhead.value ?? shownTime.value;
  const at = position(of, time);
  return (
    <span class="thumb" style={{ left: percent(at) }} data-edge={edgeOf(at)} aria-hidden="true"><b>{shortText(of, time)}</b></span>
  );
}

function Hover({ of, seconds }: { of: Timeline; seconds: number }) {
  const at = position(of, seconds);
  const rest = seconds > of.present ? " · not computed yet" : seconds < first(of) || seconds > last(of) ? " · not recorded" : "";
  return <span class="hover" style={{ left: percent(at) }} data-edge={edgeOf(at)} aria-hidden="true"><b>{textOf(of, seconds)}{rest}</b></span>;
}

/** The offer to run the model to a time that is not computed yet. */
function Offer({ of, seconds }: { of: Timeline; seconds: Signal<number | null> }) {
  const until = seconds.value ?? of.end;
  const at = position(of, until);
  const close = () => (seconds.value = null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [until]);
  return (
    <div class="offer" role="dialog" aria-label="Not computed yet" style={{ left: percent(at) }} data-edge={at > 0.8 ? "right" : at < 0.2 ? "left" : ""}
      onKeyDown={(event) => event.key === "Escape" && close()}>
      <button ref={button} type="button" class="model" onClick={() => (close(), void play(until))}>Run the model to {shortText(of, until)}</button>
      <small>{dayText(timeOf(of, until), zone.value)}, not computed yet</small>
      <button type="button" class="quiet" onClick={close}>Cancel</button>
    </div>
  );
}

/** Distance that a pointer can distinguish [pixels]; a shorter way of a pressed one is a click. */
const NEAR = 6;

const isDrag = (event: PointerEvent, from: { x: number }): boolean => Math.abs(event.clientX - from.x) >= NEAR;

/** Pointers and keys on the track; a release selects the nearest recorded hour. A click means the hour under its press, even where the track has changed its width since. */
function useMoves(track: { readonly current: HTMLElement | null }, hovered: Signal<number | null>, offered: Signal<number | null>) {
  const pressed = useRef<{ x: number; at: number } | null>(null);
  const pointed = (event: PointerEvent, of: Timeline): number => {
    const box = track.current!.getBoundingClientRect();
    return timeAt(of, Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1));
  };
  const perPixel = (of: Timeline) => (of.end - Math.max(of.begin, 0)) / Math.max(track.current!.clientWidth, 1);
  const within = (of: Timeline, seconds: number) => Math.min(Math.max(seconds, first(of)), last(of));
  return {
    onPointerDown(event: PointerEvent) {
      const of = timeline.value;
      if (!of || event.button > 0) return;
      const at = pointed(event, of);
      offered.value = null;
      if (at > of.present + NEAR * perPixel(of) && canSteer()) {
        offered.value = rounded(at, of, perPixel(of));
        hovered.value = null;
        return;
      }
      pressed.current = { x: event.clientX, at };
      playing.value = false;
      moveTo(within(of, at));
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent) {
      const of = timeline.value;
      if (!of) return;
      const at = pointed(event, of);
      hovered.value = event.pointerType === "mouse" && !pressed.current && offered.value === null ? at : null;
      if (pressed.current && isDrag(event, pressed.current)) moveTo(within(of, at));
    },
    onPointerUp(event: PointerEvent) {
      const of = timeline.value;
      const from = pressed.current;
      if (!of || !from) return;
      pressed.current = null;
      showTime(nearest(of, within(of, isDrag(event, from) ? pointed(event, of) : from.at)));
    },
    onPointerCancel() {
      pressed.current = null;
      showTime(displayedTime.value);
    },
    onPointerLeave() {
      hovered.value = null;
    },
    onKeyDown(event: KeyboardEvent) {
      const of = timeline.value;
      const move = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -6, PageUp: 6 }[event.key];
      if (!of || (!move && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      event.stopPropagation();
      playing.value = false;
      showTime(move ? neighbour(of, displayedTime.value, move) : event.key === "Home" ? first(of) : null);
    },
  };
}

const ROUND = [60, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 86400];

/** Return a time rounded to a length that a pointer can distinguish, at most the end of the case. */
function rounded(seconds: number, of: Timeline, perPixel: number): number {
  const step = ROUND.find((each) => each >= 2 * NEAR * perPixel) ?? 86400;
  return Math.min(Math.max(Math.round(seconds / step) * step, of.present + 1), of.end);
}

// A marked place in words: its value at the displayed time, and the maximum of its series.
import { number } from "../../maths/format";
import { highestText, momentText, valueAtTime } from "../../state/highest";
import { titleOf } from "../../state/fields";
import { positionName } from "../../state/place_names";
import { marked, series } from "../../state/places";
import { unit } from "../../state/scale";
import { shown, variable } from "../../state/store";
import { view, watched } from "../../state/view";

/** The sentence of the marked place of a number. */
export function PlaceSentence({ of }: { of: number }) {
  const place = marked.value[of]?.place;
  const points = series.value[of * watched.value.length]?.points ?? [];
  const time = Date.parse(shown(view.value.session)?.header.time ?? "");
  const label = unit.value?.label ?? "";
  const value = valueAtTime(points, time);
  if (!place || !variable.value || value === null) return null;
  const most = highestText(points, label);
  return (
    <p class="sentence">{titleOf(variable.value)} in {positionName(place)} on {momentText(time)}: <b>{number(value)} {label}</b>. {most && <b>{most}.</b>}</p>
  );
}

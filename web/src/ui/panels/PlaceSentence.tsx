// A marked place in words: its value at the displayed time, and the maximum of its series with its hour.
import { quantity } from "../../maths/format";
import { timeText } from "../../state/clock";
import { highestOf } from "../../state/highest";
import { titleOf } from "../../state/fields";
import { positionName } from "../../state/place_names";
import { marked, placeValues, series } from "../../state/places";
import { unit } from "../../state/scale";
import { shown, variable } from "../../state/store";
import { showNearest } from "../../state/times";
import { view, watched } from "../../state/view";

/** The sentence of the marked place of a number. */
export function PlaceSentence({ of }: { of: number }) {
  const place = marked.value[of]?.place;
  const points = series.value[of * watched.value.length]?.points ?? [];
  const time = shown(view.value.session)?.header.time ?? "";
  const label = unit.value?.label ?? "";
  const value = placeValues.value[of] ?? NaN;
  if (!place || !variable.value || !Number.isFinite(value)) return null;
  const most = highestOf(points, label);
  return (
    <p class="sentence">
      {titleOf(variable.value)} in {positionName(place)} on {timeText(time, "moment")}: <b>{quantity(value, label)}</b>.{" "}
      {most && <b>{most.text} on <button type="button" class="link" title="Show this hour" onClick={() => showNearest(most.time)}>{timeText(most.time, "moment")}</button>.</b>}
    </p>
  );
}

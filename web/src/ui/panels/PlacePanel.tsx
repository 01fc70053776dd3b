// Marked places: time series, profiles, and the cross-section along a line.
import { heightAxis, heightText } from "../../charts/axes";
import { bounds, Chart, extentOf } from "../../charts/Chart";
import { quantity } from "../../maths/format";
import { placeText, type Place } from "../../maths/grid";
import { nights } from "../../maths/sun";
import { zoneName } from "../../state/clock";
import { fieldText } from "../../state/fields";
import { ceilings, hasLevels, marked, placeValues, profiles, series } from "../../state/places";
import { limits, unit } from "../../state/scale";
import { placeOf, variable } from "../../state/store";
import { displayedMoment, showNearest } from "../../state/times";
import { look, view } from "../../state/view";
import { Icon } from "../frame/icons";
import { PlaceSentence } from "./PlaceSentence";
import { CrossSection, HeightButton, logarithmicHeight } from "./CrossSection";

export function PlacePanel() {
  return (
    <>
      <Places />
      {marked.value.length > 0 && <Series />}
      {marked.value.length > 0 && hasLevels.value && <Profiles />}
      {hasLevels.value && <CrossSection />}
    </>
  );
}

function Places() {
  const drop = (k: number) => look({ places: view.value.places.filter((_, other) => other !== k) });
  return (
    <section aria-label="Marked places">
      <h2>Places</h2>
      {!marked.value.length && <p class="empty">Click the map to mark a place and to see its time series. With the keyboard, move the cursor with the arrow keys and press Enter.</p>}
      {marked.value.map(({ place, name, colour }, k) => (
        <div class="key" key={`${place}`}>
          <i style={{ background: colour }} aria-hidden="true" />
          <b>{k + 1}</b>
          <span title={textOf(placeOf(place))}>{name}</span>
          <b>{quantity(placeValues.value[k] ?? NaN, unit.value?.label ?? "")}</b>
          <button type="button" class="quiet" aria-label={`Remove place ${k + 1}, ${name}`} onClick={() => drop(k)}><Icon name="close" /></button>
        </div>
      ))}
      {marked.value.map((_, k) => <PlaceSentence key={k} of={k} />)}
    </section>
  );
}

const textOf = (place: Place | null): string => (place ? placeText(place) : "–");

const shownName = (): string => (variable.value ? fieldText(variable.value) : "");

/** Limit values are shown up to this multiple of the greatest value. */
const LIMIT_WITHIN = 1.6;

function Series() {
  const span = extentOf(series.value, 0) ?? [0, 1];
  const place = placeOf(marked.value[0]!.place);
  const [, top] = bounds(series.value, 1);
  const near = limits.value.filter((each) => each.at <= LIMIT_WITHIN * top);
  return (
    <section>
      <h3>Time series</h3>
      <Chart label={`${shownName()} at the marked places`} x={{ domain: span, kind: "time", label: zoneName(span[0]) }}
        y={{ domain: bounds(series.value, 1, near.map((each) => each.at)), label: unit.value?.label ?? "" }} curves={series.value} mark={displayedMoment.value} onMark={showNearest}
        spans={place ? nights(span, place) : []} levels={near.map((each) => ({ at: each.at, text: each.label }))} />
    </section>
  );
}

function Profiles() {
  const lowest = Math.max(Math.min(...profiles.value.flatMap((curve) => curve.points.map((point) => point[1])), 100), 1);
  const top = Math.max(...profiles.value.flatMap((curve) => curve.points.map((point) => point[1])), 100);
  const levels = marked.value.flatMap(({ colour }, k) =>
    Number.isFinite(ceilings.value[k]) ? [{ at: ceilings.value[k]!, text: `boundary layer ${heightText(ceilings.value[k]!)}`, colour }] : [],
  );
  return (
    <section>
      <div class="row"><h3>Profile</h3><HeightButton /></div>
      <Chart label={`${shownName()} above the marked places, vertical profiles`} height={230} curves={profiles.value} along="y" levels={levels} bare
        x={{ domain: bounds(profiles.value, 0), label: unit.value?.label ?? "" }} y={heightAxis(top, logarithmicHeight.value, lowest)} />
    </section>
  );
}

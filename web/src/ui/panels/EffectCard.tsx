// The effect of a scenario in numbers: greatest changes, means, marked places, limit values, and people.
import { number } from "../../maths/format";
import type { Effect } from "../../protocol/types";
import { runBehind } from "../../state/compared";
import { effectOfOther, isMoreOzone, noEffect } from "../../state/effect";
import { meanSentence, timeOfEffect, timesText } from "../../state/effect_words";
import { titleOf } from "../../state/fields";
import { chooseField } from "../../state/goto";
import { nameOf } from "../../state/names";
import { isOfAir } from "../../state/playback";
import { unit } from "../../state/scale";
import { sessions, variable, variables } from "../../state/store";
import { look, showTime, view } from "../../state/view";

type Extreme = NonNullable<Effect["decrease"]>;

/** Return a value of the model in the displayed unit; units by the amount of air are shown in ppb. */
const shown = (value: number): number => (unit.value && !unit.value.byAir ? value * unit.value.factor + unit.value.offset : value * 1e9);
const label = (): string => (unit.value && !unit.value.byAir ? unit.value.label : "ppb");
const signed = (value: number): string => `${value > 0 ? "+" : ""}${number(value, 3)}`;

export function EffectCard() {
  const found = effectOfOther.value;
  const selected = variable.value;
  const { other, session } = view.value;
  if (!other || !selected) return null;
  return (
    <section class="effect" aria-label="Effect" aria-busy={!found}>
      <h2>Effect on {titleOf(selected)} <small>{nameOf(other)}, compared with {nameOf(session)}</small></h2>
      {!found && <p class="empty" role="status">{noEffect.value ? `No numbers yet: ${noEffect.value}.` : "Comparing the recorded hours …"}</p>}
      {found && <Numbers of={found} />}
    </section>
  );
}

function Numbers({ of }: { of: Effect }) {
  return (
    <>
      <p class="empty">{timesText(of)}. <Missing of={of} /></p>
      {!of.decrease && !of.increase && <p>The runs are the same at these times.</p>}
      <dl class="numbers-list">
        {of.decrease && <ExtremeRow name="Greatest decrease" of={of.decrease} whole={of} />}
        {of.increase && <ExtremeRow name="Greatest increase" of={of.increase} whole={of} />}
        <Mean name="Mean of the whole area" before={of.domain.before} after={of.domain.after} whole={of} />
        {of.country && <Mean name={`Mean of ${of.country.name}`} before={of.country.before} after={of.country.after} whole={of} />}
        {of.places.map((each, k) => each.before !== null && each.after !== null && each.before !== undefined && each.after !== undefined && (
          <Mean key={k} name={`Place ${k + 1}${each.city ? `, ${(each.distance ?? 0) > 5 ? `near ${each.city}` : each.city}` : ""}`} before={each.before} after={each.after} greatest={each.greatest ?? null} whole={of} />
        ))}
      </dl>
      {isMoreOzone.value && <MoreOzone />}
      {!of.places.length && <p class="empty">Mark a place on the map to see its change here.</p>}
      {of.limits.length > 0 && <Limits of={of} />}
      {isOfAir() ? <People of={of} /> : <p>{meanSentence(of, titleOf(variable.value!))}</p>}
    </>
  );
}

function Missing({ of }: { of: Effect }) {
  const state = of.missing && sessions.value[of.missing.session];
  if (!of.missing || !state || state.status === "running") return null;
  const { session, until } = of.missing;
  const run = () => void runBehind({ session, until, reached: "", requested: "", running: false });
  return <>“{nameOf(session)}” has not computed the later hours. <button type="button" class="quiet" onClick={run}>Compute them</button></>;
}

/** A greatest change: its size, place and hour; a click shows the hour. */
function ExtremeRow({ name, of, whole }: { name: string; of: Extreme; whole: Effect }) {
  const where = of.city ? `${(of.distance ?? 0) > 5 ? `${number(of.distance ?? 0, 2)} km from ` : ""}${of.city}` : "";
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{signed(shown(of.after) - shown(of.before))} {label()}</b> <span>{number(shown(of.before))} → {number(shown(of.after))}</span>
        <button type="button" class="quiet" onClick={() => (showTime(of.seconds), look({ places: [...view.value.places] }))} title="Show this time">{where}{where && ", "}{timeOfEffect(whole, of.time)}</button>
      </dd>
    </div>
  );
}

function Mean({ name, before, after, greatest = null, whole }: { name: string; before: number; after: number; greatest?: Extreme | null; whole: Effect }) {
  const change = shown(after) - shown(before);
  const part = before ? ` (${signed((100 * (after - before)) / Math.abs(before))} %)` : "";
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{signed(change)} {label()}</b> <span>{number(shown(before))} → {number(shown(after))}{part}</span>
        {greatest && <button type="button" class="quiet" onClick={() => showTime(greatest.seconds)} title="Show this time">most at {timeOfEffect(whole, greatest.time)}: {signed(shown(greatest.after) - shown(greatest.before))}</button>}
      </dd>
    </div>
  );
}

/** Why less exhaust leaves more ozone near its source. */
function MoreOzone() {
  const no2 = variables.value.find((each) => each.name === "NO2");
  return (
    <p>
      More ozone where exhaust is less: nitrogen monoxide (NO) from traffic destroys ozone nearby.{" "}
      {no2 && <button type="button" class="quiet" onClick={() => chooseField(no2)}>Show nitrogen dioxide NO₂</button>}
    </p>
  );
}

function Limits({ of }: { of: Effect }) {
  return (
    <table>
      <caption>Hours above limit values anywhere in the area</caption>
      <thead><tr><th scope="col">limit</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
      <tbody>
        {of.limits.map((each) => (
          <tr key={each.name + each.mean}>
            <th scope="row" title={each.source}>{each.name}, {each.value} µg/m³ ({each.mean})</th><td>{each.hours_before}</td><td>{each.hours_after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const people = (count: number): string => (count === 0 ? "none" : count >= 1e6 ? `${number(count / 1e6)} million` : count.toLocaleString("en-GB"));

function People({ of: { people: of } }: { of: Effect }) {
  if (!of.cities || !variable.value) return null;
  const what = titleOf(variable.value).toLowerCase();
  return (
    <p>
      Of the {people(of.people)} people in the {of.cities} largest cities, {people(of.less)} breathe less {what} and {people(of.more)} breathe more.{" "}
      <small class="empty" title="Only the populations of cities are known">A change of the mean by more than {number(Math.abs(of.threshold * (unit.value?.byAir ? 1e9 : (unit.value?.factor ?? 1))), 2)} {label()} counts.</small>
    </p>
  );
}

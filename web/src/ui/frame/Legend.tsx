// The legend: the field in words with its height and unit, the colour scale with limit values, and the key of the wind.
import { useSignal } from "@preact/signals";
import { colourAt, gradient, textOf } from "../../maths/colours";
import { decade, number } from "../../maths/format";
import type { Variable } from "../../protocol/types";
import { nextUnit } from "../../state/bindings";
import { formulaOf, titleOf } from "../../state/fields";
import { beyond, colours, comparing, limits, limitText, range, unit, units } from "../../state/scale";
import { heightText } from "../../state/heights";
import { nameOf } from "../../state/names";
import { info, level, sessions, variable } from "../../state/store";
import { watched } from "../../state/view";
import { Icon } from "./icons";
import { LimitMarks } from "./LimitMarks";
import { ScaleMenu } from "./ScaleMenu";
import { ScaleTicks } from "./ScaleTicks";
import { WindKey } from "./WindKey";

export function Legend() {
  const open = useSignal(false);
  const selected = variable.value;
  if (!selected || !unit.value) return null;
  const { low, high, log } = range.value;
  const close = () => (open.value = false);
  return (
    <section class="legend" aria-label="Colour scale" data-low={low} data-high={high} data-log={log} data-colours={colours.value}
      onKeyDown={(event) => event.key === "Escape" && close()}>
      {open.value && <ScaleMenu />}
      <div class="row">
        <h2 title={selected.text}>
          {titleOf(selected)} <span class="formula">{formulaOf(selected)}</span>
          <small>{[comparing.value && "difference", heightOf(selected)].filter(Boolean).join(" ")}</small>
          {runText() && <small class="run-name">{runText()}</small>}
        </h2>
        <UnitButton />
        <button type="button" class="quiet" aria-expanded={open.value} aria-label="Scale: range and colours" title="Range and colours"
          onClick={() => (open.value = !open.value)}><Icon name="sliders" /></button>
      </div>
      <div class="scale">
        <i class="end low" hidden={!beyond.value.low} style={{ background: colourAt(colours.value, 0) }} title={`below ${number(low)}`} />
        <div class="bar" style={{ background: gradient(colours.value) }} role="img" aria-label={sentence(selected)} />
        <i class="end high" hidden={!beyond.value.high} style={{ background: colourAt(colours.value, 1) }} title={`above ${number(high)}`} />
        <LimitMarks />
      </div>
      <ScaleTicks of={range.value} text={(value) => `${comparing.value && value > 0 ? "+" : ""}${log ? decade(value) : number(value)}`} />
      {comparing.value && <div class="sides"><span>← less</span><span>no change</span><span>more →</span></div>}
      <WindKey />
    </section>
  );
}

/** The run of the field, or both runs of a difference. */
function runText(): string {
  const [one = "", other] = watched.value.map(nameOf);
  if (comparing.value && other) return `${other}, compared with ${one}`;
  return other || !Object.values(sessions.value).some((each) => each.parent) ? "" : one;
}

function UnitButton() {
  const now = unit.value!;
  const all = units.value;
  const next = all[(all.indexOf(now) + 1) % all.length];
  const air = now.label === "µg/m³" && !now.byAir ? "at 20 °C and 1013 hPa, as stations report; " : "";
  if (all.length < 2) return <span class="unit">{now.label}</span>;
  return (
    <button type="button" class="quiet unit" onClick={nextUnit} title={`${air}click for ${next?.label} (u)`} aria-label={`Unit ${now.label}; change to ${next?.label}`}>
      {now.label}
    </button>
  );
}

/** Return the height of the displayed level; empty for a field without levels. */
function heightOf(selected: Variable): string {
  const heights = info.value?.grid.levels ?? [];
  if (selected.dims.length < 3 || !heights.length) return "";
  const text = heightText(heights, level.value);
  return level.value === 0 ? `${text}, ${number(heights[0] ?? 0)} m` : `at ${text}`;
}

/** Return the scale in a sentence, for readers who do not see it. */
function sentence(selected: Variable): string {
  const [first = "", last = ""] = [textOf(colours.value).split(", ")[0], textOf(colours.value).split(", ").at(-1)];
  const where = heightOf(selected);
  const marks = limits.value.filter((each) => each.at <= range.value.high).map(limitText).join("; ");
  const field = `${comparing.value ? "the difference of " : ""}${titleOf(selected)}${where && ` ${where}`}`;
  return `Colours show ${field}, from ${number(range.value.low)} (${first}) to ${number(range.value.high)} ${unit.value?.label} (${last}).${marks && ` Limits: ${marks}.`}`;
}

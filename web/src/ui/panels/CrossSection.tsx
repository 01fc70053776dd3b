// The vertical cross-section along a line of the map.
import { signal } from "@preact/signals";
import { CurtainChart } from "../../charts/CurtainChart";
import { gradient } from "../../maths/colours";
import { number } from "../../maths/format";
import { curtain } from "../../state/curtain";
import { fieldText } from "../../state/fields";
import { colours, comparing, range, unit } from "../../state/scale";
import { variable } from "../../state/store";
import { choose, drawn, tool } from "../../state/tools";
import { look, view } from "../../state/view";
import { ScaleTicks } from "../frame/ScaleTicks";

/** Whether heights of the cross-section and of profiles are logarithmic. */
export const logarithmicHeight = signal(true);

export function HeightButton() {
  return (
    <button type="button" class="quiet" aria-pressed={logarithmicHeight.value} title="A logarithmic axis has more space for the layers near the ground"
      onClick={() => (logarithmicHeight.value = !logarithmicHeight.value)}>Logarithmic height</button>
  );
}

export function CrossSection() {
  const drawing = tool.value === "line";
  const prompt = drawing ? (drawn.value.length ? "Click the end of the line, B." : "Click the start of the line, A.") : null;
  const of = curtain.value;
  const name = variable.value ? fieldText(variable.value) : "";
  return (
    <section>
      <h2>Cross-section</h2>
      <div class="actions">
        <button type="button" aria-pressed={drawing} onClick={() => choose(drawing ? "place" : "line")}>
          {drawing ? "Cancel" : view.value.line ? "Draw another line" : "Draw a line"}
        </button>
        {view.value.line && !drawing && <button type="button" class="quiet" onClick={() => look({ line: null })}>Remove</button>}
        {of && <HeightButton />}
      </div>
      {prompt && <p role="status">{prompt}</p>}
      {!prompt && !view.value.line && <p class="empty">Draw a line on the map: the cross-section shows the air above it, from the ground up.</p>}
      {of && !comparing.value && (
        <>
          <CurtainChart of={of} label={`${name} along the line from ${of.ends[0]} to ${of.ends[1]}`} unit={unit.value?.label ?? ""} colours={colours.value}
            range={range.value} log={logarithmicHeight.value} />
          <ColourBar />
          {of.ceiling && <p class="empty"><svg width="18" height="10" aria-hidden="true"><line class="ceiling" x1="0" x2="18" y1="5" y2="5" /></svg> Top of the mixed air near the ground (boundary layer)</p>}
        </>
      )}
      {of && comparing.value && <p class="empty">A cross-section shows one run. Leave the difference to see it.</p>}
    </section>
  );
}

/** The colours of the map with some of its values. */
function ColourBar() {
  return (
    <div class="colourbar" role="img" aria-label={`Colours from ${number(range.value.low)} to ${number(range.value.high)} ${unit.value?.label ?? ""}`}>
      <div class="bar" style={{ background: gradient(colours.value) }} />
      <ScaleTicks of={range.value} count={4} />
    </div>
  );
}

// The legend of a map that is drawn in place of the field, such as that of sources.
import { gradient } from "../../maths/colours";
import { number } from "../../maths/format";
import { overlay } from "../../state/overlay";
import { colours } from "../../state/scale";
import { ScaleTicks } from "./ScaleTicks";

export function SourceLegend() {
  const of = overlay.value;
  if (!of) return null;
  const { low, high } = of.range;
  return (
    <section class="legend" aria-label="Colour scale" data-low={low} data-high={high} data-colours={colours.value}>
      <div class="row"><h2>{of.title}</h2><span class="unit">{of.unit}</span></div>
      <div class="scale">
        <div class="bar" style={{ background: gradient(colours.value) }} role="img"
          aria-label={`Colours from ${number(low)} (${of.ends[0]}) to ${number(high)} ${of.unit} (${of.ends[1]})`} />
      </div>
      <ScaleTicks of={of.range} text={(value) => `${value > 0 ? "+" : ""}${number(value)}`} />
      <div class="sides"><span>← {of.ends[0]}</span><span>no change</span><span>{of.ends[1]} →</span></div>
    </section>
  );
}

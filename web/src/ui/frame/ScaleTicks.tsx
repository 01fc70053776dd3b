// The values below a colour scale.
import { number } from "../../maths/format";
import { fraction, ticks, type Range } from "../../maths/range";

/** Some values of a range at their places; `text` writes a value. */
export function ScaleTicks({ of, count = 5, text = number }: { of: Range; count?: number; text?(value: number): string }) {
  return (
    <div class="ticks" aria-hidden="true">
      {ticks(of, count).map((each) => {
        const at = fraction(each, of);
        return <span key={each} style={{ left: `${100 * at}%` }} data-edge={at < 0.04 ? "left" : at > 0.96 ? "right" : ""}>{text(each)}</span>;
      })}
    </div>
  );
}

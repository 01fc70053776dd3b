// The key of the wind: an arrow or a trail of a round speed.
import { REFERENCE_LENGTH, trace } from "../../map/arrows";
import { PACE } from "../../map/particles";
import { TRAIL } from "../../map/trail_layer";
import { mapWind, windMissing, windReference } from "../../state/companions";
import { drawnWind, winds } from "../../state/wind";

export function WindKey() {
  if (drawnWind.value === "none") return null;
  if (!winds.value) return <p class="windkey" role="status">The output of this run has no wind.</p>;
  if (windMissing.value) return <p class="windkey" role="status">The wind of this hour is not recorded.</p>;
  if (!mapWind.value) return null;
  const speed = windReference.value;
  const arrows = drawnWind.value === "arrows";
  const length = arrows ? REFERENCE_LENGTH : PACE * TRAIL * speed;
  const text = `${speed} m/s (${Math.round(3.6 * speed)} km/h)`;
  return (
    <p class="windkey" title={arrows ? `An arrow of this length is a wind of ${text}` : `A trail of this length is a wind of ${text}`}>
      <svg width={length + 8} height="12" aria-hidden="true">
        {arrows ? <path class="ink" d={pathOf(length)} /> : <path class="ink fading" d={`M4 6 h${length}`} />}
      </svg>
      <span><span class="hidden">Key of the wind: </span>{text}</span>
    </p>
  );
}

/** Return an arrow to the right as a path. */
function pathOf(length: number): string {
  const parts: string[] = [];
  trace({ moveTo: (x, y) => parts.push(`M${x} ${y}`), lineTo: (x, y) => parts.push(`L${x} ${y}`) }, 4 + length / 2, 6, length, 0);
  return parts.join(" ");
}

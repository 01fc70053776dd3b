// Choice of the layer by its height, on a vertical slider.
import { heightText } from "../../state/heights";
import { info, level, variable } from "../../state/store";
import { look } from "../../state/view";

export function LevelSlider() {
  const count = variable.value && variable.value.dims.length > 2 ? (variable.value.shape[0] ?? 1) : 1;
  if (count < 2) return null;
  const heights = info.value?.grid.levels ?? [];
  const text = heightText(heights, level.value, count);
  const top = heightText(heights, count - 1, count);
  return (
    <section class="height" aria-label="Height">
      <h2>Height</h2>
      <div>
        <input type="range" class="upright" aria-label="Height" aria-orientation="vertical" min={0} max={count - 1} value={level.value} aria-valuetext={text}
          onInput={(event) => look({ level: event.currentTarget.valueAsNumber })} />
        <p><span class="empty">{top}</span> <b role="status">{text}</b> <span class="empty">at the ground</span></p>
      </div>
    </section>
  );
}

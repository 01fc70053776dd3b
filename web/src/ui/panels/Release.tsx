// An accidental release: species, location, rate and duration.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { change } from "../../state/actions";
import { span } from "../../maths/format";
import { releasable } from "../../state/store";
import { choose, releaseAt, tool } from "../../state/tools";

export function Release() {
  const species = releasable.value;
  const selected = useSignal(species.includes("SO2") ? "SO2" : (species[0] ?? ""));
  const rate = useSignal(10);
  const height = useSignal(10);
  const hours = useSignal(1);
  const at = releaseAt.value;
  const picking = tool.value === "release";
  const send = async (event: Event) => {
    event.preventDefault();
    if (!at) return;
    const [lon, lat] = at;
    const duration = hours.value * 3600;
    const done = await change(
      { kind: "release", species: selected.value, lon, lat, height: height.value, rate: rate.value, duration },
      `${selected.value} will be released for ${span(duration)}.`,
    );
    if (done) choose("place");
  };
  return (
    <details class="release" open={picking}>
      <summary>Accidental release</summary>
      <form onSubmit={(event) => void send(event)}>
        <fieldset>
          <legend class="hidden">Release</legend>
          <label class="field">Species
            <select value={selected.value} onChange={(event) => (selected.value = event.currentTarget.value)}>
              {species.map((each) => <option key={each}>{each}</option>)}
            </select>
          </label>
          <button type="button" aria-pressed={picking} onClick={() => choose(picking ? "place" : "release")}>
            {picking ? "Click the map …" : at ? "Choose another place" : "Choose the place on the map"}
          </button>
          <div class="pair">
            <Number label="Longitude" value={at?.[0] ?? null} set={(lon) => (releaseAt.value = [lon, at?.[1] ?? 0])} />
            <Number label="Latitude" value={at?.[1] ?? null} set={(lat) => (releaseAt.value = [at?.[0] ?? 0, lat])} />
            <Number label="Rate [kg/s]" value={rate.value} set={(next) => (rate.value = next)} />
            <Number label="Height [m]" value={height.value} set={(next) => (height.value = next)} />
            <Number label="Duration [h]" value={hours.value} set={(next) => (hours.value = next)} />
          </div>
          <button type="submit" class="main" disabled={!at || !(rate.value > 0) || !(hours.value > 0)}>Release</button>
        </fieldset>
      </form>
    </details>
  );
}

/** A number field. Its text stays while it parses to the value: otherwise the point of "48." would vanish during typing. */
export function Number({ label, value, set }: { label: string; value: number | null; set(value: number): void }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const shown = input.current!;
    if (value !== null && shown.valueAsNumber !== value) shown.valueAsNumber = value;
  }, [value]);
  return (
    <label class="field">{label}
      <input ref={input} type="number" step="any" onInput={(event) => {
        const next = event.currentTarget.valueAsNumber;
        if (globalThis.Number.isFinite(next)) set(next);
      }} />
    </label>
  );
}

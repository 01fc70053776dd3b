// The page: title, maps, time controls, panels, and messages where there is nothing to show.
import { useEffect, useRef } from "preact/hooks";
import { MapView, Readout } from "../map/MapView";
import { helpOpen } from "../state/bindings";
import { comparing } from "../state/scale";
import { connection, dismiss, infos, notices, sessions } from "../state/store";
import { view } from "../state/view";
import { watched } from "../state/view";
import { Help } from "./Help";
import { Icon } from "./icons";
import { Legend } from "./Legend";
import { Side } from "./Side";
import { Overlay } from "./Overlay";
import { TopBar } from "./TopBar";
import { PlayBar } from "./PlayBar";

export function App() {
  const maps = comparing.value ? watched.value.slice(0, 1) : watched.value;
  return (
    <div class="page">
      <TopBar />
      <main class="stage">
        <div class="maps" data-count={maps.length}>
          {maps.map((name) => (
            <div class="one" key={name}>
              {watched.value.length > 1 && <h2 class="which">{comparing.value ? `${watched.value[1]} − ${name}` : name}</h2>}
              <MapView session={name} />
            </div>
          ))}
        </div>
        <Readout />
        <Legend />
        <Overlay />
      </main>
      <Side />
      <PlayBar />
      <Notices />
      {helpOpen.value && <Help />}
      <Title />
    </div>
  );
}

function Title() {
  const state = sessions.value[view.value.session];
  const title = infos.value[view.value.session]?.state.title;
  useEffect(() => {
    document.title = [connection.value === "lost" && "Connection lost", view.value.variable, title ?? state?.case, "Airshed"].filter(Boolean).join(" · ");
  });
  return null;
}

function Notices() {
  const list = useRef<HTMLDivElement>(null);
  return (
    <div class="notices" ref={list} role="log" aria-live="polite" aria-label="Messages">
      {notices.value.map((each) => (
        <div key={each.id} class={`notice ${each.kind}`}>
          <span>{each.text}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(each.id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}

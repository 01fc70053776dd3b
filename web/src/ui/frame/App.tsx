// The page: maps that fill the window, the bars and the dock over them, and messages where there is nothing to show.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { MapView, Readout } from "../../map/MapView";
import { helpOpen } from "../../state/bindings";
import { overlay } from "../../state/overlay";
import { isNarrow, observeCovered } from "../../state/layout";
import { comparing } from "../../state/scale";
import { connection, infos, sessions } from "../../state/store";
import { view, watched } from "../../state/view";
import { Dock } from "./Dock";
import { Help } from "./Help";
import { Legend } from "./Legend";
import { Notices } from "./Notices";
import { Overlay } from "./Overlay";
import { Recorded } from "./Recorded";
import { SourceLegend } from "./SourceLegend";
import { Requests } from "./Requests";
import { TimeBar } from "./TimeBar";
import { TopBar } from "./TopBar";

export function App() {
  const maps = comparing.value || overlay.value ? watched.value.slice(0, 1) : watched.value;
  const page = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => observeCovered(page.current!), [isNarrow.value]);
  return (
    <div class="page" ref={page}>
      <TopBar />
      <main class="stage">
        <div class="maps" data-count={maps.length}>
          {maps.map((name) => (
            <div class="one" key={name}>
              {watched.value.length > 1 && !overlay.value && <h2 class="which">{comparing.value ? `${watched.value[1]} − ${name}` : name}</h2>}
              <MapView session={name} />
            </div>
          ))}
        </div>
        <Readout />
        <Recorded />
        {overlay.value ? <SourceLegend /> : <Legend />}
        <Overlay />
      </main>
      <TimeBar />
      <Dock />
      <Notices />
      <Requests />
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

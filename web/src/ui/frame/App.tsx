// The page: maps that fill the window, the bars and the dock over them, and messages where there is nothing to show.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Maps } from "../../map/Maps";
import { Readout } from "../../map/MapView";
import { helpOpen } from "../../state/bindings";
import { overlay } from "../../state/overlay";
import { isNarrow, observeCovered } from "../../state/layout";
import { connection, infos, sessions } from "../../state/store";
import { nameOf } from "../../state/names";
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
  const page = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => observeCovered(page.current!), [isNarrow.value]);
  return (
    <div class="page" ref={page}>
      <TopBar />
      <main class="stage">
        <Maps />
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
    document.title = [connection.value === "lost" && "Connection lost", view.value.variable, watched.value.length > 1 && watched.value.map(nameOf).join(" / "), title ?? state?.case, "Airshed"].filter(Boolean).join(" · ");
  });
  return null;
}

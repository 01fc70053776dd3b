import { effect } from "@preact/signals";
import { render } from "preact";
import "./styles/index.css";
import { listen } from "./state/bindings";
import { leave } from "./state/actions";
import { followCompanions } from "./state/companions";
import { openDockForContent } from "./state/layout";
import { followAnalysis } from "./state/analysis";
import { followOrigin } from "./state/origin";
import { followTrials } from "./state/trials";
import { followRecords } from "./state/recorded";
import { followEffect } from "./state/effect";
import { followOpening } from "./state/opening";
import { unit } from "./state/scale";
import { followControl } from "./state/control";
import { lineage, readLineage } from "./state/ended";
import { begin } from "./state/store";
import { followStations } from "./state/stations";
import { look, read, view, written } from "./state/view";
import { watch } from "./state/subscriptions";
import { followStates } from "./state/undo";
import { followRecording } from "./state/timeline";
import { App } from "./ui/frame/App";

const from = read(location.hash);
if (from) {
  look(from);
  lineage.value = readLineage(location.hash, from.session);
}
begin(from !== null);
watch();
followOpening(from?.at != null || matchMedia("(prefers-reduced-motion: reduce)").matches);
followRecords();
followCompanions(() => unit.value?.byAir ?? false);
followRecording();
followStates();
followEffect();
openDockForContent();
followStations();
followAnalysis();
followOrigin();
followTrials();
followControl();
listen();
addEventListener("hashchange", () => {
  const next = read(location.hash);
  if (next && location.hash !== written(view.peek())) look(next);
});
effect(() => history.replaceState(null, "", written(view.value)));
effect(() => {
  const { theme } = view.value;
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});
addEventListener("pagehide", leave);
render(<App />, document.getElementById("app")!);

// A panel of a recorded day whose answer needs the running model: one sentence, and the way to the model.
import { canSetUp, goingLive, liveRun, makeLive, progress, showLive } from "../../state/opening";
import { isReader } from "../../state/people";
import { ReaderControl } from "../frame/ReaderControl";

export function NeedsModel({ name, text }: { name: string; text: string }) {
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <p>{text}</p>
      <Way />
    </section>
  );
}

function Way() {
  if (progress.value) return <p class="empty" role="status">{goingLive.value ? "The model is being prepared" : "A live run begins"}: {progress.value} …</p>;
  if (liveRun.value) return <div class="actions"><button type="button" class="main" onClick={showLive}>Show the live run</button></div>;
  if (!canSetUp.value) return <p class="empty">This server has no model of it.</p>;
  if (isReader.value) return <><p class="empty">A person with control can start the model.</p><ReaderControl /></>;
  return <div class="actions"><button type="button" class="main" onClick={() => void makeLive()}>Start the model</button></div>;
}

// Overlay of the map while there is no model to show, or no server.
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { connection, info, link, openings, retryAt, session, sessions } from "../../state/store";
import { AskAccess } from "./AskAccess";

export function Overlay() {
  if (connection.value === "refused") return <AskAccess />;
  if (connection.value === "lost") return <Lost />;
  if (session.value?.status === "failed") {
    return (
      <div class="overlay problem" role="alert">
        <h2>The run stopped with an error</h2>
        <p>{session.value.error}</p>
        <p>Undo the last change, restore a snapshot, or return to the start of the case.</p>
      </div>
    );
  }
  if (info.value) return null;
  const stage = Object.values(openings.value)[0];
  const none = connection.value === "open" && !Object.keys(sessions.value).length;
  return (
    <div class="overlay" role="status">
      <div class="spinner" aria-hidden="true" />
      <h2>{connection.value === "connecting" ? "Connecting …" : "The model is being set up …"}</h2>
      {stage && <p>{stage[0]?.toUpperCase()}{stage.slice(1)} …</p>}
      {none && <p>The model is compiled at first use, which may take a minute. The map then appears automatically.</p>}
    </div>
  );
}

function Lost() {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(Math.ceil(((retryAt.value ?? now.value) - now.value) / 1000), 0);
  return (
    <div class="overlay small" role="alert">
      <h2>Connection lost</h2>
      <p>The page shows the last data received. Reconnecting {left ? `in ${left} s` : "now"}.</p>
      <button type="button" onClick={() => link.open()}>Reconnect now</button>
    </div>
  );
}

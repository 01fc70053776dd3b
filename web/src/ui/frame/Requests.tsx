// Questions to the user of this page, over every view: for control, for access, and for a name.
import { useSignal } from "@preact/signals";
import { decide, refuseAll } from "../../state/access_request";
import { askedFor, decline, handOver, rename } from "../../state/control";
import { nameWanted, ownName, waiting } from "../../state/people";
import type { AccessRequest } from "../../protocol/types";

export function Requests() {
  const asked = askedFor();
  if (!asked.length && !waiting.value.length && !nameWanted.value) return null;
  return (
    <div class="requests" role="region" aria-label="Questions">
      {asked.map(([name, person]) => (
        <div class="request" role="alert" key={`control ${name}`}>
          <p><b>{person}</b> requests control.</p>
          <button type="button" class="main" onClick={() => void handOver(name)}>Hand over</button>
          <button type="button" onClick={() => void decline(name)}>Not now</button>
        </div>
      ))}
      {waiting.value.slice(0, 3).map((each) => <Access key={each.number} request={each} />)}
      {waiting.value.length > 1 && (
        <div class="request">
          <p>{waiting.value.length} people wait.</p>
          <button type="button" onClick={() => void refuseAll()} title="Refuse all, and accept no further requests for an hour">Refuse all</button>
        </div>
      )}
      {nameWanted.value && <Name />}
    </div>
  );
}

function Access({ request: { number, name, role, address } }: { request: AccessRequest }) {
  return (
    <div class="request" role="alert">
      <p><b>{name}</b> would like to {role === "control" ? "control" : "look"}. Number <b>{number}</b>, from {address}.
        <small> Names can be false: compare the number with the person.</small></p>
      <button type="button" class={role === "watch" ? "main" : ""} onClick={() => void decide(number, "watch")}>Let watch</button>
      <button type="button" onClick={() => void decide(number, "control")}>Let control</button>
      <button type="button" onClick={() => void decide(number, null)}>Refuse</button>
    </div>
  );
}

function Name() {
  const text = useSignal("");
  return (
    <form class="request" onSubmit={(event) => { event.preventDefault(); rename(text.value); }}>
      <label>Others see your changes as those of “{ownName.value}”. Your name:
        <input maxLength={40} placeholder={ownName.value} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <button type="submit" class="main">Save</button>
      <button type="button" onClick={() => rename("")}>Keep “{ownName.value}”</button>
    </form>
  );
}

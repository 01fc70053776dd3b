// Instead of the map for a page without a valid token: a request to the owner of the server.
import { useSignal } from "@preact/signals";
import { askForAccess, ownRequest } from "../../state/access_request";
import type { Role } from "../../state/people";
import { identity } from "../../state/store";

export function AskAccess() {
  const request = ownRequest.value;
  const [name, role] = [useSignal(identity.author), useSignal<Role>("watch")];
  if (request && "number" in request) {
    return (
      <div class="overlay" role="status">
        <div class="spinner" aria-hidden="true" />
        <h2>The owner sees your request</h2>
        <p>Give the owner your number, <b class="number">{request.number}</b>. The page opens when the owner agrees.</p>
      </div>
    );
  }
  return (
    <form class="overlay" onSubmit={(event) => { event.preventDefault(); void askForAccess(name.value, role.value); }}>
      <h2>{identity.token ? "This link is no longer valid" : "This page needs an invitation"}</h2>
      <p>{identity.token ? "The server was started again, with other links. " : ""}Ask its owner for access, or for a link.</p>
      <label class="field">Your name <input required maxLength={40} value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} /></label>
      <fieldset class="roles"><legend class="hidden">Access</legend>
        {([["watch", "Look"], ["control", "Change and run the model"]] as const).map(([id, text]) => (
          <label class="check" key={id}><input type="radio" name="role" checked={role.value === id} onChange={() => (role.value = id)} />{text}</label>
        ))}
      </fieldset>
      {request && <p role="alert">{request.end}</p>}
      <button type="submit" class="main">Ask for access</button>
    </form>
  );
}

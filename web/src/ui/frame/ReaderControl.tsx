// The way of a reader to control: a request to the owner.
import { askForAccess, ownRequest } from "../../state/access_request";
import { isReader } from "../../state/people";
import { identity } from "../../state/store";

export function ReaderControl() {
  const request = ownRequest.value;
  if (!isReader.value) return null;
  if (request && "number" in request) return <p role="status">You can watch, not steer. The owner sees your request, number <b>{request.number}</b>.</p>;
  return (
    <>
      {request && <p role="status">{request.end}</p>}
      <p class="reader">You can watch, not steer: <button type="button" onClick={() => void askForAccess(identity.author, "control")}>ask for control</button></p>
    </>
  );
}

// Names of runs in plain words, for maps, legend, series, lists, links and files.
import { nameIn } from "./run_names";
import { sessions } from "./store";

/** Return the name of a run: its scenario, or a name for a run that did not branch off. */
export const nameOf = (session: string): string => nameIn(sessions.value, session);

// The types of the protocol, generated from those of the server (airshed.serve.protocol.types) by `make web`.
import type * as made from "../../generated/openapi";

export type {
  Access, AccessAnswer, AccessRequest, AccessTicket, Analysis, AnalysisControl, AnalysisStation, Branch, CaseEntry, City, Control, Coordinate, Effect, FrameHeader, GraticuleLine,
  GridInfo, LogEntry, ModelInfo, Origin, OriginRow, OriginState, Person, Problem, RecordingInfo, Reply, Result,
  ServerInfo, SessionState, SnapshotInfo, StationInfo, StationList, StationPairs, StationScore, StationScores, StationSeries,
  Summary, SummaryTable, Timing, Variable,
} from "../../generated/openapi";

export type ServerEvent = made.Event;

/** A document sent by a client: keys with a default are optional. */
export type Sent<T, Must extends keyof T> = Pick<T, Must> & Partial<T>;

export type Subscription = Sent<made.Subscription, "id" | "variable">;

export type Command =
  | Sent<made.Step, "kind">
  | Sent<made.Run, "kind">
  | Sent<made.Pause, "kind">
  | Sent<made.Restart, "kind">
  | Sent<made.Set, "kind" | "changes">
  | Sent<made.Paint, "kind" | "variable" | "value">
  | Sent<made.Release, "kind" | "species" | "lon" | "lat" | "rate" | "duration">
  | Sent<made.Snapshot, "kind">
  | Sent<made.Forget, "kind" | "snapshot">
  | Sent<made.Restore, "kind" | "snapshot">
  | Sent<made.Branch, "kind">
  | Sent<made.RenameScenario, "kind" | "scenario">
  | Sent<made.Replay, "kind">;

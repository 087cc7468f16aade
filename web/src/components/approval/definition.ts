import { isObject, type JsonObject, sameJson } from "@/lib/json";
import type { t } from "./approval-text";

/** A tool that the person is asked about. */
export interface ToolApproval {
  /** The tool as its server describes it now. */
  readonly definition: JsonObject;
  /** What the person had allowed for good, where the server has changed it since. */
  readonly before?: JsonObject;
  /** The instructions of the server, `before` and `now`, where it has changed them since. */
  readonly instructions?: JsonObject;
}

type ApprovalKey = Parameters<typeof t>[0];

/** What the server says about a tool's behaviour: its own claim, in words. */
export function claimsOf(definition: JsonObject): ApprovalKey[] {
  const hints = isObject(definition["annotations"]) ? definition["annotations"] : {};
  const claims: ApprovalKey[] = [];
  if (hints["readOnlyHint"] === true) claims.push("approval.claim.reads");
  else if (hints["destructiveHint"] === true) claims.push("approval.claim.destroys");
  else if (hints["readOnlyHint"] === false) claims.push("approval.claim.writes");
  if (hints["openWorldHint"] === true) claims.push("approval.claim.open");
  return claims;
}

const PART_LABELS: Readonly<Record<string, ApprovalKey>> = {
  title: "approval.part.title",
  description: "approval.part.description",
  inputSchema: "approval.part.inputSchema",
  outputSchema: "approval.part.outputSchema",
  annotations: "approval.part.annotations",
  _meta: "approval.part.meta",
};

/** A part of a definition that is not what it was. */
export interface Change {
  name: ApprovalKey;
  before: string;
  now: string;
}

/** What a server has changed: about a tool, where it had been allowed as `before`, and in its instructions. */
export function changesOf(
  now: JsonObject,
  before: JsonObject | undefined,
  instructions: JsonObject | undefined,
): Change[] {
  const parts = before === undefined ? [] : Object.entries(PART_LABELS);
  const changes = parts
    .filter(([field]) => !sameJson(before?.[field], now[field]))
    .map(([field, name]) => ({ name, before: textOf(before?.[field]), now: textOf(now[field]) }));
  if (instructions !== undefined) {
    const { before: old, now: fresh } = instructions;
    changes.push({ name: "approval.part.instructions", before: textOf(old), now: textOf(fresh) });
  }
  return changes;
}

function textOf(value: unknown): string {
  if (value === undefined || value === "") return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

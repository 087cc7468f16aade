import { isObject, type JsonObject, sameJson } from "@/lib/json";
import type { PartKey, Plain } from "@/lib/t";

/** Tool definition that the user is asked to approve. */
export interface ToolApproval {
  /** Current definition by the server. */
  readonly definition: JsonObject;
  /** Definition that the user had allowed permanently, if the server has changed it since. */
  readonly before?: JsonObject;
  /** Instructions of the server as `before` and `now`, if they have changed since. */
  readonly instructions?: JsonObject;
}

type ApprovalKey = Plain<PartKey<"approval">>;

/** Returns the texts of what a server claims about a tool's behavior. */
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

/** Changed part of a definition; the text of an absent part is empty. */
export interface Change {
  name: ApprovalKey;
  before: string;
  now: string;
}

/** Returns the changed parts of a definition since `before`, and of the server's instructions. */
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
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

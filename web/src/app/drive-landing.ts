import { t } from "@/lib/account-text";
import type { PartKey } from "@/lib/t";
import type { Tone } from "@/ui/badge";
import { toast } from "@/ui/toast";

/** The query parameter with which linking Google Drive comes back to the page. */
const parameter = "google-drive";

interface Outcome {
  readonly title: PartKey<"account">;
  readonly text: PartKey<"account">;
  readonly tone: Tone;
}

const outcomes: ReadonlyMap<string, Outcome> = new Map([
  ["linked", { title: "account.drive.linked", text: "account.drive.linked.text", tone: "ok" }],
  ["denied", { title: "account.drive.notLinked", text: "account.drive.denied", tone: "warn" }],
  ["expired", { title: "account.drive.notLinked", text: "account.drive.expired", tone: "err" }],
  ["failed", { title: "account.drive.notLinked", text: "account.drive.failed", tone: "err" }],
]);

/** What a query says of a link to Google Drive, and the query without it; undefined when it says nothing. */
export function readDriveLanding(
  search: string,
): { outcome: Outcome | undefined; search: string } | undefined {
  const params = new URLSearchParams(search);
  const named = params.get(parameter);
  if (named === null) return undefined;
  params.delete(parameter);
  return { outcome: outcomes.get(named), search: params.size === 0 ? "" : `?${params}` };
}

/** Tells how linking Google Drive ended, and tidies up the address, so that a reload does not tell it again. */
export function tellDriveLanding(): void {
  const landing = readDriveLanding(location.search);
  if (landing === undefined) return;
  history.replaceState(history.state, "", location.pathname + landing.search + location.hash);
  const { outcome } = landing;
  if (outcome) toast({ title: t(outcome.title), description: t(outcome.text), tone: outcome.tone });
}

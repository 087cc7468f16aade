import { t } from "@/lib/account-text";
import type { PartKey } from "@/lib/t";
import type { Tone } from "@/ui/badge";
import { endSignInWindow } from "@/lib/sign-in-window";
import { toast } from "@/ui/toast";
import { showSignInDone } from "./sign-in-done";

interface Outcome {
  readonly title: PartKey<"account">;
  readonly text: PartKey<"account">;
  readonly tone: Tone;
}

const DRIVE_OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ["linked", { title: "account.drive.linked", text: "account.drive.linked.text", tone: "ok" }],
  ["denied", { title: "account.drive.notLinked", text: "account.drive.denied", tone: "warn" }],
  ["expired", { title: "account.drive.notLinked", text: "account.drive.expired", tone: "err" }],
  ["failed", { title: "account.drive.notLinked", text: "account.drive.failed", tone: "err" }],
]);

const SERVER_OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ["connected", { title: "account.server.connected", text: "account.server.connected.text", tone: "ok" }],
  ["denied", { title: "account.server.notSignedIn", text: "account.server.denied", tone: "warn" }],
  ["expired", { title: "account.server.notSignedIn", text: "account.server.expired", tone: "err" }],
  ["failed", { title: "account.server.notSignedIn", text: "account.server.failed", tone: "err" }],
]);

/** The query parameters with which the browser comes back from another service, and what they say. */
const services = [
  ["google-drive", DRIVE_OUTCOMES],
  ["sign-in", SERVER_OUTCOMES],
] as const;

/** What a query says of a visit to another service, and the query without it; undefined when it says nothing. */
export function readServiceRedirect(
  search: string,
): { outcome: Outcome | undefined; search: string } | undefined {
  const params = new URLSearchParams(search);
  for (const [parameter, outcomes] of services) {
    const named = params.get(parameter);
    if (named === null) continue;
    params.delete(parameter);
    return { outcome: outcomes.get(named), search: params.size === 0 ? "" : `?${params}` };
  }
  return undefined;
}

/** Tells how a visit to another service ended, and tidies up the address, so that a reload does not tell it again. */
export function showServiceRedirectResult(): void {
  const redirect = readServiceRedirect(location.search);
  if (redirect === undefined) return;
  history.replaceState(history.state, "", location.pathname + redirect.search + location.hash);
  const { outcome } = redirect;
  if (outcome === undefined) return;
  const [title, text] = [t(outcome.title), t(outcome.text)];
  if (!endSignInWindow()) {
    toast({ title, description: text, tone: outcome.tone });
    return;
  }
  // Who waits for the sign-in sees in the other window that it has succeeded.
  if (outcome === SERVER_OUTCOMES.get("connected")) window.close();
  // Nothing of this is seen where the browser lets the window close.
  showSignInDone({ title, text });
}

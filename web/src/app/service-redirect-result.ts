import { t } from "@/lib/later-texts";
import type { PartKey, Plain } from "@/lib/t";
import type { Tone } from "@/ui/badge";
import { endSignInWindow } from "@/lib/sign-in-window";
import { toast } from "@/ui/toast";
import { showSignInDone } from "./sign-in-done";

interface Outcome {
  readonly title: Plain<PartKey<"account">>;
  readonly text: Plain<PartKey<"account">>;
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

/** Query parameters of redirects from other services, with their outcomes. */
const services = [
  ["google-drive", DRIVE_OUTCOMES],
  ["sign-in", SERVER_OUTCOMES],
] as const;

/** Reads the outcome of a redirect from a query, and returns the query without it; undefined if there is none. */
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

/** Shows the outcome of a redirect and removes it from the URL, so that a reload does not show it again. */
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
  // The window that waits for the sign-in shows the success itself.
  if (outcome === SERVER_OUTCOMES.get("connected")) window.close();
  // Visible only if the browser refuses to close the window.
  showSignInDone({ title, text });
}

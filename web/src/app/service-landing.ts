import { t } from "@/lib/account-text";
import type { PartKey } from "@/lib/t";
import type { Tone } from "@/ui/badge";
import { signInWindow } from "@/lib/sign-in-window";
import { toast } from "@/ui/toast";

interface Outcome {
  readonly title: PartKey<"account">;
  readonly text: PartKey<"account">;
  readonly tone: Tone;
}

const drive: ReadonlyMap<string, Outcome> = new Map([
  ["linked", { title: "account.drive.linked", text: "account.drive.linked.text", tone: "ok" }],
  ["denied", { title: "account.drive.notLinked", text: "account.drive.denied", tone: "warn" }],
  ["expired", { title: "account.drive.notLinked", text: "account.drive.expired", tone: "err" }],
  ["failed", { title: "account.drive.notLinked", text: "account.drive.failed", tone: "err" }],
]);

const server: ReadonlyMap<string, Outcome> = new Map([
  ["connected", { title: "account.server.connected", text: "account.server.connected.text", tone: "ok" }],
  ["denied", { title: "account.server.notSignedIn", text: "account.server.denied", tone: "warn" }],
  ["expired", { title: "account.server.notSignedIn", text: "account.server.expired", tone: "err" }],
  ["failed", { title: "account.server.notSignedIn", text: "account.server.failed", tone: "err" }],
]);

/** The query parameters with which the browser comes back from another service, and what they say. */
const services = [
  ["google-drive", drive],
  ["sign-in", server],
] as const;

/** What a query says of a visit to another service, and the query without it; undefined when it says nothing. */
export function readServiceLanding(
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
export function tellServiceLanding(): void {
  const landing = readServiceLanding(location.search);
  if (landing === undefined) return;
  history.replaceState(history.state, "", location.pathname + landing.search + location.hash);
  const { outcome } = landing;
  // Who waits for the sign-in sees it in the other window. A browser that does not let this one close shows the page.
  if (outcome === server.get("connected") && sessionStorage.getItem(signInWindow) !== null) window.close();
  if (outcome) toast({ title: t(outcome.title), description: t(outcome.text), tone: outcome.tone });
}

import { boot } from "@/lib/boot";
import { t } from "@/lib/t";
import { insertServer, probeServer } from "./api";
import { type ConnectDraft, headersOf } from "./connect-draft";
import { decideConnection } from "./connect-rule";

/** What to tell about a connection that was made. */
export interface Connected {
  name: string;
  toolCount: number;
  /** Why the built-in tools stand in; absent when the server offered its own. */
  standInReason?: string;
}

/** Opens the server, applies the rule, and stores the connection.
 * @throws {Error} with a message for people when there is no connection in the end */
export async function connectServer(userId: string, draft: ConnectDraft): Promise<Connected> {
  const name = draft.name.trim();
  const url = draft.url.trim();
  const headers = headersOf(draft);
  const probe = await probeServer(url, headers);
  const decision = decideConnection(probe, boot.fallbackTools, t("servers.noTools"));
  if (decision.kind === "refuse") throw new Error(decision.reason ?? t("servers.failed.text"));
  await insertServer({ user_id: userId, name, url, tools: decision.tools, ...(headers && { headers }) });
  return {
    name,
    toolCount: decision.tools.length,
    ...(decision.standInReason !== undefined && { standInReason: decision.standInReason }),
  };
}

/** The words of the toast after connecting. */
export function connectedWords({ name, toolCount, standInReason }: Connected) {
  const description = t("servers.connected.text", { name, n: toolCount });
  if (standInReason === undefined) return { description };
  const reason = standInReason.replace(/\.\s*$/u, "");
  return { description, detail: t("servers.connected.standIn", { reason }) };
}

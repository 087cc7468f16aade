import { boot } from "@/lib/boot";
import type { Toast } from "@/ui/toast";
import { insertServer, probeServer } from "./api";
import { type ConnectDraft, headersOf } from "./connect-draft";
import { decideConnection, isServerUrl } from "./connect-rule";
import { t } from "@/lib/later-texts";

/** New connection, for the toast. */
export interface Connected {
  name: string;
  toolCount: number;
  /** Reason for the fallback tools; absent if the server offered its own. */
  fallbackReason?: string;
  /** True if the user has to sign in at the server before it lists its tools. */
  needsSignIn?: boolean;
}

/**
 * Connects to a server, applies {@link decideConnection}, and stores the connection.
 * @throws {Error} with a message for the user if no connection was stored
 */
export async function connectServer(userId: string, draft: ConnectDraft): Promise<Connected> {
  const name = draft.name.trim();
  const url = draft.url.trim();
  if (!isServerUrl(url)) throw new Error(t("servers.badUrl"));
  const headers = headersOf(draft);
  const probe = await probeServer(url, headers);
  const decision = decideConnection(probe, boot.fallbackTools, t("servers.noTools"));
  if (decision.kind === "refuse") throw new Error(decision.reason ?? t("servers.failed.text"));
  const tools = decision.kind === "connect" ? decision.tools : [];
  await insertServer({ user_id: userId, name, url, tools, ...(headers && { headers }) });
  if (decision.kind === "sign-in") return { name, toolCount: 0, needsSignIn: true };
  return {
    name,
    toolCount: tools.length,
    ...(decision.fallbackReason !== undefined && { fallbackReason: decision.fallbackReason }),
  };
}

/** Returns the toast after connecting. */
export function connectedToast({
  name,
  toolCount,
  fallbackReason,
  needsSignIn,
}: Connected): Omit<Toast, "id"> {
  if (needsSignIn === true) {
    const description = t("account.server.needed", { name });
    return { title: t("account.server.needed.title"), description, tone: "warn" };
  }
  const title = t("servers.connected.title");
  const description = t("servers.connected.text", { name, n: toolCount });
  if (fallbackReason === undefined) return { title, description, tone: "ok" };
  const reason = fallbackReason.replace(/\.\s*$/u, "");
  return { title, description, detail: t("servers.connected.standIn", { reason }), tone: "warn" };
}

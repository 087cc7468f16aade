import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { warnOfQuotas } from "@/components/quotas/warn-of-quotas";
import { ApiError } from "@/lib/api-error";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { type Toast, toast } from "@/ui/toast";
import { type ConnectDraft, emptyDraft, headersOf } from "./connect-draft";
import { decideConnection, isServerUrl } from "./connect-rule";
import { connectSharedServer, insertServer, probeServer } from "./queries";
import { reloadConnections } from "./use-connections";

/** PostgreSQL error code `unique_violation`. */
const UNIQUE_VIOLATION = "23505";

/** New connection, for the toast. */
interface Connected {
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
async function connectServer(userId: string, draft: ConnectDraft): Promise<Connected> {
  const name = draft.name.trim();
  const url = draft.url.trim();
  if (!isServerUrl(url)) throw new Error(t("servers.badUrl"));
  const headers = headersOf(draft);
  const probe = await probeServer(url, headers);
  const decision = decideConnection(probe, boot.fallbackTools, t("servers.noTools"));
  if (decision.kind === "refuse") throw new Error(decision.reason ?? t("servers.failed.text"));
  const tools = decision.kind === "connect" ? decision.tools : [];
  await insertServer({ user_id: userId, name, url, tools, ...(headers && { headers }) }).catch(
    (error: unknown) => {
      if (!(error instanceof ApiError && error.code === UNIQUE_VIOLATION)) throw error;
      throw new ApiError(t("servers.nameTaken", { name }), error.status, error.code);
    },
  );
  if (decision.kind === "sign-in") return { name, toolCount: 0, needsSignIn: true };
  return {
    name,
    toolCount: tools.length,
    ...(decision.fallbackReason !== undefined && { fallbackReason: decision.fallbackReason }),
  };
}

/** Returns the toast after connecting. */
function connectedToast({ name, toolCount, fallbackReason, needsSignIn }: Connected): Omit<Toast, "id"> {
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

/** Shows the tools of a new connection, and tells that it was made. */
async function announceConnection(client: QueryClient, userId: string, connected: Connected): Promise<void> {
  // First the tools, then the news: a message sent in between would go without them.
  await reloadConnections(client, userId);
  toast(connectedToast(connected));
  void warnOfQuotas(client);
}

function announceFailure({ message }: Error): void {
  const description = message === "" ? t("servers.failed.text") : message;
  toast({ title: t("servers.failed.title"), description, tone: "err" });
}

/** Returns the content of the form that connects to the built-in toolbox. */
export function toolboxDraft(): ConnectDraft {
  return { ...emptyDraft, name: "toolbox", url: `${location.origin}/mcp/toolbox` };
}

/** Connects to the built-in toolbox and shows a toast with the result. */
export async function connectToolbox(client: QueryClient, userId: string): Promise<void> {
  try {
    await announceConnection(client, userId, await connectServer(userId, toolboxDraft()));
  } catch (error) {
    announceFailure(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Returns the mutation that connects to a shared server and shows a toast with the result. */
export function useConnectShared(userId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: connectSharedServer,
    onSuccess: async ({ name, status, reason, tools, toolsFrom }) => {
      const connected: Connected = {
        name,
        toolCount: tools.length,
        ...(toolsFrom === "fallback" && { fallbackReason: reason ?? t("servers.noTools") }),
        needsSignIn: status === "needs-sign-in",
      };
      if (status === "error" && toolsFrom === "server") {
        await reloadConnections(client, userId);
        announceFailure(new Error(reason ?? ""));
      } else await announceConnection(client, userId, connected);
    },
    onError: announceFailure,
  });
}

/** Returns the mutation that connects to a server and shows a toast with the result. */
export function useConnect(userId: string, onConnected?: (connected: Connected) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (draft: ConnectDraft) => connectServer(userId, draft),
    // A draft holds keys, which the cache would keep for minutes.
    gcTime: 0,
    onSuccess: async (connected) => {
      await announceConnection(client, userId, connected);
      onConnected?.(connected);
    },
    onError: announceFailure,
  });
}

import { t } from "@/lib/later-texts";
import { messageOf } from "@/lib/api-error";
import { toast } from "@/ui/toast";
import type { Chats } from "./use-chats";
import { type ChatSession, sortLatestFirst } from "../queries";
import { deleteSession, markSession, restoreSession } from "./chat-commands";

/** Action on all selected chats. */
export type BulkAction = "delete" | "archive" | "unarchive";

/** Number of requests at a time: enough to hide the network's latency, and few enough for other requests. */
const CONCURRENT_REQUESTS = 4;

/** Result of an action on several chats. */
export interface BulkResult {
  readonly done: readonly ChatSession[];
  readonly failed: readonly ChatSession[];
  /** Reason of the first failure. */
  readonly cause: unknown;
}

/** Runs an action for each chat, a few at a time. `onProgress` is called with the number of chats processed. */
export async function runForEach(
  chats: readonly ChatSession[],
  act: (chat: ChatSession) => Promise<void>,
  onProgress: (processed: number) => void,
): Promise<BulkResult> {
  const failures = new Map<ChatSession, unknown>();
  let next = 0;
  let processed = 0;
  const work = async (): Promise<void> => {
    for (let chat = chats[next++]; chat !== undefined; chat = chats[next++]) {
      try {
        // oxlint-disable-next-line no-await-in-loop
        await act(chat);
      } catch (error) {
        failures.set(chat, error);
      }
      processed += 1;
      onProgress(processed);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, work));
  return {
    done: chats.filter((chat) => !failures.has(chat)),
    failed: chats.filter((chat) => failures.has(chat)),
    cause: failures.values().next().value,
  };
}

const REQUESTS: Record<BulkAction, (chat: ChatSession) => Promise<void>> = {
  delete: ({ id }) => deleteSession(id),
  archive: ({ id }) => markSession(id, { archived: true }),
  unarchive: ({ id }) => markSession(id, { archived: false }),
};

const DONE_TEXTS = {
  delete: "history.bulk.deleted",
  archive: "history.bulk.archived",
  unarchive: "history.bulk.unarchived",
} as const;

const FAILED_TEXTS = {
  delete: "history.bulk.deleteFailed",
  archive: "history.bulk.archiveFailed",
  unarchive: "history.bulk.unarchiveFailed",
  restore: "history.bulk.restoreFailed",
} as const;

/**
 * Carries out an action on several chats and shows the result as toasts. `readChats` returns the current state of the
 * list, which changes during the action.
 */
export async function runBulkAction(
  action: BulkAction,
  selected: readonly ChatSession[],
  readChats: () => Chats,
  onProgress: (processed: number) => void,
): Promise<BulkResult> {
  const result = await runForEach(selected, REQUESTS[action], onProgress);
  const changed = new Set(result.done.map(({ id }) => id));
  const chats = readChats();
  if (action === "delete") {
    for (const id of changed) chats.registry.forget(id);
    chats.change((list) => list.filter(({ id }) => !changed.has(id)));
  } else {
    const archived = action === "archive";
    chats.change((list) => list.map((chat) => (changed.has(chat.id) ? { ...chat, archived } : chat)));
  }
  if (action !== "unarchive") leaveChats(chats, changed);
  const n = result.done.length;
  if (n > 0) {
    toast({
      title: t(DONE_TEXTS[action], { n }),
      tone: "ok",
      ...(action === "delete" && {
        action: { label: t("history.undo"), run: () => void restoreAll(result.done, readChats) },
      }),
    });
  }
  reportFailures(action, result, selected.length);
  return result;
}

/** Opens another chat if the open one is among those that disappear. Without any left, a new one is created. */
function leaveChats(chats: Chats, gone: ReadonlySet<string>): void {
  if (chats.active === undefined || !gone.has(chats.active.id)) return;
  const next = chats.list.find(({ id }) => !gone.has(id));
  if (next) chats.select(next.id);
}

async function restoreAll(deleted: readonly ChatSession[], readChats: () => Chats): Promise<void> {
  const result = await runForEach(
    deleted,
    ({ id }) => restoreSession(id),
    () => undefined,
  );
  const restored = new Set(result.done.map(({ id }) => id));
  readChats().change((list) =>
    sortLatestFirst([...list.filter(({ id }) => !restored.has(id)), ...result.done]),
  );
  reportFailures("restore", result, deleted.length);
}

function reportFailures(action: keyof typeof FAILED_TEXTS, { failed, cause }: BulkResult, all: number): void {
  if (failed.length === 0) return;
  toast({
    title: t(FAILED_TEXTS[action], { n: failed.length, all }),
    description: messageOf(cause),
    tone: "err",
  });
}

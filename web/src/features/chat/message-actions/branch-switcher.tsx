import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { use, useEffect, useRef } from "react";
import { ApiError } from "@/lib/api-error";
import { backoffMs, pause } from "@/lib/backoff";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { toastFailure } from "@/ui/toast";
import { ChatId, useChatStatus } from "../chat-context";
import { branchesQuery, switchBranch } from "../queries";
import type { ChatStore } from "../stream/chat-store";

interface BranchSwitcherProps {
  id: string;
  store: ChatStore;
}

/** Message whose switcher takes the focus once it is drawn, and the direction of the switch. */
let focusTarget: { id: string; step: number } | null = null;

/** Chat whose messages have versions. */
interface VersionedChat {
  readonly chatId: string;
  readonly store: ChatStore;
  readonly queries: QueryClient;
}

/** Attempts to switch while the server stores the answer that was stopped. */
const MAX_SWITCH_ATTEMPTS = 8;
const SWITCH_BACKOFF = { firstMs: 100, longestMs: 2_000 };

/** Switches the branch as soon as no turn is running, which a chat that is not visible cannot know. */
async function switchWhenIdle(chatId: string, id: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await switchBranch(chatId, id);
      return;
    } catch (error) {
      const isRunning = error instanceof ApiError && error.code === "turn_active";
      if (!isRunning || attempt === MAX_SWITCH_ATTEMPTS) throw error;
    }
    await pause(backoffMs(SWITCH_BACKOFF, attempt - 1, Math.random()), new AbortController().signal);
  }
}

async function showVersion(id: string, chat: VersionedChat): Promise<void> {
  await switchBranch(chat.chatId, id);
  await loadVersion(chat);
}

async function loadVersion({ chatId, store, queries }: VersionedChat): Promise<void> {
  await Promise.all([
    store.reopen(),
    queries.invalidateQueries({ queryKey: branchesQuery(chatId).queryKey }),
  ]);
}

/** Returns to the version of a message before it was edited. An answer to the edited one is stopped, and kept. */
export async function undoEdit(id: string, chat: VersionedChat): Promise<void> {
  const { store } = chat;
  await store.stop();
  await new Promise<void>((resolve) => {
    const unsubscribe = store.subscribe(check);
    function check(): void {
      if (store.status().phase !== "idle") return;
      unsubscribe();
      resolve();
    }
    check();
  });
  // The end of the answer loads the messages as well, and must not do so after the switch.
  await store.reload();
  focusTarget = { id, step: 1 };
  await switchWhenIdle(chat.chatId, id);
  await loadVersion(chat);
}

/** Shows which version of a message is visible, with buttons for the others. */
export function BranchSwitcher({ id, store }: BranchSwitcherProps) {
  const chatId = use(ChatId);
  const queries = useQueryClient();
  const { phase } = useChatStatus(store);
  const { data } = useQuery(branchesQuery(chatId));
  const container = useRef<HTMLDivElement>(null);
  const branches = data?.get(id);
  const change = useMutation({
    mutationFn: (to: string) => showVersion(to, { chatId, store, queries }),
    onError: (error) => toastFailure(t("steering.switchFailed"), error),
  });
  const shown = branches !== undefined;
  useEffect(() => {
    // The buttons that had the focus disappeared with the previous version.
    if (!shown || focusTarget?.id !== id) return;
    const buttons = [...(container.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
    const wanted = focusTarget.step < 0 ? buttons : buttons.toReversed();
    wanted.find((button) => !button.disabled)?.focus({ preventScroll: true });
    focusTarget = null;
  }, [shown, id]);
  if (branches === undefined) return null;
  const index = branches.indexOf(id);
  const busy = phase !== "idle" || change.isPending;

  function switchBy(step: number): void {
    const to = branches?.[index + step];
    if (busy || to === undefined) return;
    focusTarget = { id: to, step };
    change.mutate(to);
  }

  return (
    <div
      ref={container}
      role="group"
      aria-label={t("steering.versions")}
      className="flex items-center text-xs text-ink-2 tabular-nums"
    >
      <IconButton
        size="sm"
        label={t("steering.previous")}
        icon={<ChevronLeft />}
        disabled={index === 0}
        aria-disabled={busy}
        onClick={() => switchBy(-1)}
      />
      <span>{t("steering.version", { n: index + 1, of: branches.length })}</span>
      <IconButton
        size="sm"
        label={t("steering.next")}
        icon={<ChevronRight />}
        disabled={index === branches.length - 1}
        aria-disabled={busy}
        onClick={() => switchBy(1)}
      />
    </div>
  );
}

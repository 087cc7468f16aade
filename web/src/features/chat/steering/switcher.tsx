import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { use, useEffect, useRef } from "react";
import { IconButton } from "@/ui/button";
import { toast } from "@/ui/toast";
import { ChatId } from "../chat-id";
import type { ChatStore } from "../stream/chat-store";
import { useChatStatus } from "../use-chat-store";
import { branchesQuery, switchBranch } from "./branches";
import { t } from "./steering-text";

interface SwitcherProps {
  id: string;
  store: ChatStore;
}

/** The message that has the keyboard once it is there, and on which side. */
let arriving: { id: string; step: number } | null = null;

/** Which of several versions of a message is shown, and the way to the others. */
export function Switcher({ id, store }: SwitcherProps) {
  const chatId = use(ChatId);
  const queries = useQueryClient();
  const { phase } = useChatStatus(store);
  const { data } = useQuery(branchesQuery(chatId));
  const group = useRef<HTMLDivElement>(null);
  const branches = data?.get(id);
  const change = useMutation({
    mutationFn: async (to: string) => {
      await switchBranch(chatId, to);
      await Promise.all([
        store.reopen(),
        queries.invalidateQueries({ queryKey: branchesQuery(chatId).queryKey }),
      ]);
    },
    onError: (error) => toast({ title: t("steering.switchFailed"), description: error.message, tone: "err" }),
  });
  const shown = branches !== undefined;
  useEffect(() => {
    // The version that the keyboard came from is gone, and the buttons under it.
    if (!shown || arriving?.id !== id) return;
    const sides = [...(group.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
    const wanted = arriving.step < 0 ? sides : sides.toReversed();
    wanted.find((button) => !button.disabled)?.focus({ preventScroll: true });
    arriving = null;
  }, [shown, id]);
  if (branches === undefined) return null;
  const at = branches.indexOf(id);
  const busy = phase !== "idle" || change.isPending;

  function go(step: number): void {
    const to = branches?.[at + step];
    if (busy || to === undefined) return;
    arriving = { id: to, step };
    change.mutate(to);
  }

  return (
    <div
      ref={group}
      role="group"
      aria-label={t("steering.versions")}
      className="flex items-center text-xs text-ink-2 tabular-nums"
    >
      <IconButton
        size="sm"
        label={t("steering.previous")}
        icon={<ChevronLeft />}
        disabled={at === 0}
        aria-disabled={busy}
        onClick={() => go(-1)}
      />
      <span>{t("steering.version", { n: at + 1, of: branches.length })}</span>
      <IconButton
        size="sm"
        label={t("steering.next")}
        icon={<ChevronRight />}
        disabled={at === branches.length - 1}
        aria-disabled={busy}
        onClick={() => go(1)}
      />
    </div>
  );
}

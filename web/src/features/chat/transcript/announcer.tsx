import { useEffect, useState } from "react";
import { subscribeEvents } from "@/lib/events";
import { t } from "@/lib/t";
import type { Phase } from "../stream/chat-contract";

interface AnnouncerProps {
  chatId: string;
  phase: Phase;
  /** How many calls wait for the person. */
  waiting: number;
  /** Whether one of them asks for more than a permission. */
  asked: boolean;
}

/** Tells a screen reader that an answer begins, waits and ends, never its words; and the tab's title that it waits. */
export function Announcer({ chatId, phase, waiting, asked }: AnnouncerProps) {
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  useEffect(() => countInTitle(waiting), [waiting]);
  useEffect(
    () =>
      subscribeEvents((event) => {
        // A tab in the background does not follow its chat; whoever looks at the tab's title still sees that it waits.
        if (event.type === "run" && event.sessionId === chatId && document.visibilityState === "hidden")
          countInTitle(event.state === "waiting" ? 1 : 0);
      }),
    [chatId],
  );
  const words = waiting > 0 ? t(asked ? "chat.asks" : "chat.waits") : t("chat.replying");
  return (
    <p role="status" className="sr-only">
      {replying ? words : replied && phase === "idle" ? t("chat.replied") : ""}
    </p>
  );
}

function countInTitle(waiting: number): void {
  const title = document.title.replace(/^\(\d+\) /u, "");
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
}

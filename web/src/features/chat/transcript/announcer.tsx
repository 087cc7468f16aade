import { useEffect, useState } from "react";
import { t } from "@/lib/t";
import type { Phase } from "../stream/chat-contract";

interface AnnouncerProps {
  phase: Phase;
  /** How many calls wait for the person. */
  waiting: number;
  /** Whether one of them asks for more than a permission. */
  asked: boolean;
}

/** Tells a screen reader that an answer begins, waits and ends, never its words; and the tab's title that it waits. */
export function Announcer({ phase, waiting, asked }: AnnouncerProps) {
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  useEffect(() => {
    const title = document.title.replace(/^\(\d+\) /u, "");
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [waiting]);
  const words = waiting > 0 ? t(asked ? "chat.asks" : "chat.waits") : t("chat.replying");
  return (
    <p role="status" className="sr-only">
      {replying ? words : replied && phase === "idle" ? t("chat.replied") : ""}
    </p>
  );
}

import { useState } from "react";
import { t } from "@/lib/t";
import type { Phase } from "../stream/chat-contract";

/** Tells a screen reader that an answer begins and ends; never its words. */
export function Announcer({ phase }: { phase: Phase }) {
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  return (
    <p role="status" className="sr-only">
      {replying ? t("chat.replying") : replied && phase === "idle" ? t("chat.replied") : ""}
    </p>
  );
}

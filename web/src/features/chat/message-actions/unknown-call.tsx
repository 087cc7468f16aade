import { use } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { SendInChat } from "../chat-context";
import type { ToolPart } from "../stream/message";

/**
 * Notice of a tool call with an unknown outcome. The call is never repeated automatically: the user has the outcome
 * checked, or the call repeated.
 */
export function UnknownCall({ part }: { part: ToolPart }) {
  const sendMessage = use(SendInChat);
  const { toolName: tool, serverName: server = "" } = part;
  return (
    <div className="grid gap-2 border-t border-line px-3.5 py-3">
      <p className="text-sm text-ink-2">{t("steering.unknown.about")}</p>
      <div className="flex flex-wrap gap-2">
        <Button
          size="sm"
          onClick={() => void sendMessage(t("steering.unknown.checkWords", { tool, server }))}
        >
          {t("steering.unknown.check")}
        </Button>
        <Button
          size="sm"
          variant="quiet"
          onClick={() => void sendMessage(t("steering.unknown.againWords", { tool, server }))}
        >
          {t("steering.unknown.again")}
        </Button>
      </div>
    </div>
  );
}

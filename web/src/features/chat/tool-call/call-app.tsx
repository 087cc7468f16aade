import { use, useMemo } from "react";
import { type AppHost, AppHostContext } from "@/components/tool-app/app-host";
import type { AppInput } from "@/components/tool-app/app-session";
import { ToolApp } from "@/components/tool-app/tool-app";
import { fromToolOutput } from "@/components/tool-result/tool-output";
import { t } from "@/lib/t";
import { storeAppContext } from "../chat-backend";
import { ChatId, SendInChat } from "../chat-context";
import type { ToolPart } from "../stream/message";
import type { CallState } from "./call-state";

/** MCP app of a tool call in the conversation. */
export function CallApp({ part, state }: { part: ToolPart; state: CallState }) {
  const { input: args, output, errorText } = part;
  const over = state !== "running" && state !== "waiting" && state !== "writing";
  const input = useMemo((): AppInput => {
    if (output) return { arguments: args, result: fromToolOutput(output) };
    return { arguments: args, ...(over && { cancelled: errorText ?? t("chat.tool.stopped") }) };
  }, [args, output, errorText, over]);
  const chatId = use(ChatId);
  const sendMessage = use(SendInChat);
  const host = useMemo(
    (): AppHost => ({
      sendMessage,
      updateContext: (callId, context) => storeAppContext(chatId, callId, context),
    }),
    [chatId, sendMessage],
  );
  return (
    <AppHostContext value={host}>
      <ToolApp
        callId={part.toolCallId}
        serverName={part.serverName ?? ""}
        tool={part.toolName}
        input={input}
        output={output}
      />
    </AppHostContext>
  );
}

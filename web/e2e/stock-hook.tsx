import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { createRoot } from "react-dom/client";

/** Setup of the page by the test: the chat, the tools, and the session. */
export interface Setup {
  chat: string;
  tools: { name: string; serverName: string }[];
  headers: Record<string, string>;
}

declare global {
  var setup: Setup;
}

const { chat, tools, headers } = globalThis.setup;

const transport = new DefaultChatTransport({
  api: "/functions/v1/ai-chat",
  headers,
  prepareSendMessagesRequest: ({ id, messages }) => ({
    headers,
    body: { sessionId: id, message: textOf(messages.at(-1)), tools },
  }),
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `/api/sessions/${id}/stream`, headers }),
});

/** A chat as the hook's own guide builds one, and nothing of ours in it. */
function Page() {
  const { messages, sendMessage, status, error } = useChat({ id: chat, transport, resume: true });
  return (
    <main>
      <input
        aria-label="Question"
        onKeyDown={(event) => {
          if (event.key === "Enter") void sendMessage({ text: event.currentTarget.value });
        }}
      />
      <p role="status">{error?.message ?? status}</p>
      {messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          <p>{textOf(message)}</p>
          {message.parts.map(
            (part) =>
              part.type === "dynamic-tool" && (
                <pre key={part.toolCallId} title={`${part.toolName} ${part.state}`}>
                  {JSON.stringify(part.output)}
                </pre>
              ),
          )}
        </article>
      ))}
    </main>
  );
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

const root = document.querySelector("#root");
if (root) createRoot(root).render(<Page />);

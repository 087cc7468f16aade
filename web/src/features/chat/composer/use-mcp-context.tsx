import { type KeyboardEvent, type RefObject, Suspense, useRef, useState } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { IconButton } from "@/ui/button";
import type { McpContextHandle } from "../mcp-context/mcp-context-host";
import type { Attachments } from "./use-attachments";

/** Loaded when the user begins to write a message; reading a chat does not need it. */
const McpContextHost = lazyPart(async () => (await import("../mcp-context/mcp-context-host")).McpContextHost);

interface McpContextOptions {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
  attached: Attachments;
}

/** ARIA state of the message field while a list of prompts or resources is open. */
export interface ActiveOption {
  readonly listId: string;
  readonly optionId: string | undefined;
}

/** Adds prompts and resources of MCP servers to a message: by a slash, an @, or their buttons. */
export function useMcpContext({ field, text, write, attached }: McpContextOptions) {
  const [wanted, setWanted] = useState<"prompt" | "resource" | "text">();
  const [active, setActive] = useState<ActiveOption>();
  const host = useRef<McpContextHandle>(null);
  /** Text as it was pasted. A slash or an @ in it opens no list until the user types. */
  const pasted = useRef<string>(undefined);
  const button = (kind: "prompt" | "resource", label: string, sign: string) => (
    <IconButton
      size="sm"
      label={label}
      icon={<span className="font-mono text-base">{sign}</span>}
      className="tight:hidden"
      // The focus stays in the field, which forwards its keys to the list.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => {
        field.current?.focus();
        setWanted(kind);
        host.current?.browse(kind);
      }}
    />
  );
  return {
    onWrite: (how?: "paste") => {
      const now = field.current?.value ?? "";
      // Pasting into an open list is a search.
      if (how === "paste" && !active) pasted.current = now;
      if (pasted.current !== now) pasted.current = undefined;
      const isWritten = pasted.current === undefined;
      // Every trigger begins with one of these characters.
      if (isWritten && /[/@]/u.test(now)) setWanted((before) => before ?? "text");
      host.current?.onWrite(isWritten);
    },
    onKey: (event: KeyboardEvent): boolean => host.current?.onKey(event) === true,
    fieldProps: active && {
      "aria-autocomplete": "list" as const,
      "aria-controls": active.listId,
      "aria-activedescendant": active.optionId,
    },
    host: (wanted ?? attached.list[0] ?? attached.reading[0]) !== undefined && (
      <Suspense>
        <McpContextHost
          ref={host}
          first={wanted}
          field={field}
          text={text}
          write={write}
          attached={attached}
          active={active}
          onActive={setActive}
        />
      </Suspense>
    ),
    buttons: (
      <>
        {button("resource", t("chat.attach"), "@")}
        {button("prompt", t("chat.prompts"), "/")}
      </>
    ),
  };
}

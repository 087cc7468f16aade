import { type KeyboardEvent, type RefObject, Suspense, useRef, useState } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { IconButton } from "@/ui/button";
import type { OfferHostHandle } from "../offers/offer-host";
import type { Attachments } from "./use-attachments";

/** What servers offer is needed by those who write, and not to read. */
const OfferHost = lazyPart(async () => (await import("../offers/offer-host")).OfferHost);

interface OffersOptions {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
  attached: Attachments;
}

/** What the field says of the list that hangs over it. */
export interface ActiveOption {
  readonly listId: string;
  readonly optionId: string | undefined;
}

/** Prompts and resources of servers, put into the message by a slash, an @, or their buttons. */
export function useOffers({ field, text, write, attached }: OffersOptions) {
  const [wanted, setWanted] = useState<"prompt" | "resource" | "text">();
  const [active, setActive] = useState<ActiveOption>();
  const host = useRef<OfferHostHandle>(null);
  /** A text as it was pasted: what stands in it asks for nothing until somebody writes on. */
  const pasted = useRef<string>(undefined);
  const button = (kind: "prompt" | "resource", label: string, sign: string) => (
    <IconButton
      size="sm"
      label={label}
      icon={<span className="font-mono text-base">{sign}</span>}
      className="tight:hidden"
      // The focus stays in the field, which hands its keys to the list.
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
      // Into an open list people paste what they look for.
      if (how === "paste" && !active) pasted.current = now;
      if (pasted.current !== now) pasted.current = undefined;
      const isWritten = pasted.current === undefined;
      // Whatever asks for something begins with one of these.
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
        <OfferHost
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

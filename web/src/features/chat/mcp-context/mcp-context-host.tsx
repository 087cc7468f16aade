import {
  type KeyboardEvent,
  type Ref,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { t } from "@/lib/later-texts";
import { toast, toastFailure } from "@/ui/toast";
import type { Attachments } from "../composer/use-attachments";
import type { ActiveOption } from "../composer/use-mcp-context";
import { ArgumentForm, attachRequestFor, needsArguments } from "./argument-form";
import { AttachmentChips } from "./attachment-chips";
import { displayNameOf } from "./mcp-context-list";
import { McpContextMenu, type McpContextMenuHandle } from "./mcp-context-menu";
import { findTrigger, type Trigger, withoutTrigger } from "./menu-trigger";
import { createAttachment, type PromptOrResource } from "./queries";

/** Calls of the message field into the host. */
export interface McpContextHandle {
  /** Reports that the text or the cursor changed. Text that was not typed, such as pasted text, opens no list. */
  readonly onWrite: (isTyped: boolean) => void;
  /** Returns true if the list handled the key; the field must then ignore it. */
  readonly onKey: (event: KeyboardEvent) => boolean;
  /** Opens the list of a kind, or closes it if it is open. */
  readonly browse: (kind: Trigger["kind"]) => void;
}

interface McpContextHostProps {
  ref: Ref<McpContextHandle>;
  /** The reason for loading the host: a button, or a text with a trigger. */
  first: Trigger["kind"] | "text" | undefined;
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
  attached: Attachments;
  active: ActiveOption | undefined;
  onActive: (active: ActiveOption | undefined) => void;
}

/** Limit of the server. */
const MAX_ATTACHMENTS_PER_MESSAGE = 16;

/** Everything of a message except its text: the list to choose from, the form for arguments, and the attachments. */
export function McpContextHost({
  ref,
  first,
  field,
  text,
  write,
  attached,
  active,
  onActive,
}: McpContextHostProps) {
  /** Kind of the list that a button opened; typed text does not filter it. */
  const [browsing, setBrowsing] = useState(first === "text" ? undefined : first);
  const [trigger, setTrigger] = useState(() => (first === "text" ? triggerIn(field.current) : undefined));
  /** Position of the trigger whose list the user closed with Escape. */
  const dismissed = useRef<number>(undefined);
  const [incomplete, setIncomplete] = useState<PromptOrResource>();
  const menu = useRef<McpContextMenuHandle>(null);
  const lastText = useRef(text);
  const kind = browsing ?? trigger?.kind;
  // Files have chips of their own, also while they upload; those have no name here.
  const serverAttachments = attached.list.filter((one) => one.kind !== "file");
  const reading = attached.reading.filter((name) => name !== "");

  function close(): void {
    setTrigger(undefined);
    setBrowsing(undefined);
  }

  useImperativeHandle(ref, () => ({
    onWrite: (isTyped) => {
      const found = isTyped ? triggerIn(field.current) : undefined;
      if (!found) dismissed.current = undefined;
      setTrigger(found?.start === dismissed.current ? undefined : found);
      const now = field.current?.value ?? "";
      if (now !== lastText.current) setBrowsing(undefined);
      lastText.current = now;
    },
    onKey: (event) => kind !== undefined && menu.current?.onKey(event) === true,
    browse: (wanted) => {
      setTrigger(undefined);
      lastText.current = text;
      setBrowsing(browsing === wanted ? undefined : wanted);
    },
  }));

  // The list closes with the blur of the field, unless the focus moved into the list.
  useEffect(() => {
    const area = field.current;
    const onBlur = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget instanceof Element && active && relatedTarget.id === active.listId) return;
      setTrigger(undefined);
      setBrowsing(undefined);
    };
    area?.addEventListener("blur", onBlur);
    return () => area?.removeEventListener("blur", onBlur);
  }, [field, active]);

  function pick(item: PromptOrResource): void {
    if (browsing === undefined && trigger) write(withoutTrigger(text, trigger));
    close();
    field.current?.focus();
    if (attached.list.length + attached.reading.length >= MAX_ATTACHMENTS_PER_MESSAGE)
      toast({ title: t("offers.tooMany", { n: MAX_ATTACHMENTS_PER_MESSAGE }), tone: "warn" });
    else if (needsArguments(item)) setIncomplete(item);
    else attachDirectly(item, attached);
  }

  return (
    <>
      {kind !== undefined && (
        <McpContextMenu
          key={kind}
          ref={menu}
          kind={kind}
          query={browsing === undefined ? (trigger?.query ?? "") : ""}
          onPick={pick}
          onActive={onActive}
          onClose={() => {
            dismissed.current = trigger?.start;
            close();
          }}
        />
      )}
      {(serverAttachments.length > 0 || reading.length > 0) && (
        <AttachmentChips
          attachments={serverAttachments}
          reading={reading}
          onRemove={(id) => attached.change((before) => before.filter((other) => other.id !== id))}
          onReplace={(id, next) =>
            attached.change((before) => before.map((other) => (other.id === id ? next : other)))
          }
        />
      )}
      {incomplete && (
        <ArgumentForm
          item={incomplete}
          onAttached={(attachment) => {
            attached.change((before) => [...before, attachment]);
            setIncomplete(undefined);
          }}
          onClose={() => setIncomplete(undefined)}
        />
      )}
    </>
  );
}

function triggerIn(field: HTMLTextAreaElement | null): Trigger | undefined {
  if (!field || field.selectionStart !== field.selectionEnd) return undefined;
  return findTrigger(field.value, field.selectionStart);
}

/** Attaches an item that takes no arguments. */
function attachDirectly(item: PromptOrResource, { change, setReading }: Attachments): void {
  const name = displayNameOf(item);
  setReading((before) => [...before, name]);
  createAttachment(item.connectionId, attachRequestFor(item, {}))
    .then(
      (attachment) => change((before) => [...before, attachment]),
      (error: unknown) => toastFailure(t("offers.attachFailed", { name }), error),
    )
    .finally(() => setReading((before) => before.toSpliced(before.indexOf(name), 1)));
}

import {
  type KeyboardEvent,
  type Ref,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { toast } from "@/ui/toast";
import type { Attachments } from "../composer/use-attachments";
import type { ActiveOption } from "../composer/use-offers";
import { AttachmentChips } from "./attachment-chips";
import { FillIn, hasBlanks, wishFor } from "./fill-in";
import { nameOf } from "./offer-list";
import { OfferMenu, type OfferMenuHandle } from "./offer-menu";
import { findTrigger, type Trigger, withoutTrigger } from "./offer-trigger";
import { attach, type Offer } from "./offers";
import { t } from "./offers-text";

/** What the field tells of what happens in it. */
export interface OfferHostHandle {
  /** Its text or its cursor changed. What was not written by hand asks for nothing. */
  readonly onWrite: (byHand: boolean) => void;
  /** Whether a list used the key, so that the field must not. */
  readonly onKey: (event: KeyboardEvent) => boolean;
  /** A button asks for a list, or for none if it is open already. */
  readonly browse: (kind: Trigger["kind"]) => void;
}

interface OfferHostProps {
  ref: Ref<OfferHostHandle>;
  /** What it was loaded for. */
  first: Trigger["kind"] | "text" | undefined;
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
  attached: Attachments;
  active: ActiveOption | undefined;
  onActive: (active: ActiveOption | undefined) => void;
}

/** What the server takes with one message. */
const MOST = 16;

/** What belongs to a message beside its words: the list to choose from, the form to fill in, and what is attached. */
export function OfferHost({ ref, first, field, text, write, attached, active, onActive }: OfferHostProps) {
  /** Opened by a button: then nothing that is typed belongs to it. */
  const [browsing, setBrowsing] = useState(first === "text" ? undefined : first);
  const [trigger, setTrigger] = useState(() => (first === "text" ? triggerIn(field.current) : undefined));
  /** Where somebody has closed the list to write on. */
  const dismissed = useRef<number>(undefined);
  const [filling, setFilling] = useState<Offer>();
  const menu = useRef<OfferMenuHandle>(null);
  const lastText = useRef(text);
  const kind = browsing ?? trigger?.kind;
  // Files stand for themselves, also those on their way, which have no name here.
  const offers = attached.list.filter((one) => one.kind !== "file");
  const reading = attached.reading.filter((name) => name !== "");

  function close(): void {
    setTrigger(undefined);
    setBrowsing(undefined);
  }

  useImperativeHandle(ref, () => ({
    onWrite: (byHand) => {
      const found = byHand ? triggerIn(field.current) : undefined;
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

  // The list goes with the focus, unless that went into the list itself.
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

  function pick(offer: Offer): void {
    if (browsing === undefined && trigger) write(withoutTrigger(text, trigger));
    close();
    field.current?.focus();
    if (attached.list.length + attached.reading.length >= MOST)
      toast({ title: t("offers.tooMany", { n: MOST }), tone: "warn" });
    else if (hasBlanks(offer)) setFilling(offer);
    else readNow(offer, attached);
  }

  return (
    <>
      {kind !== undefined && (
        <OfferMenu
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
      {(offers.length > 0 || reading.length > 0) && (
        <AttachmentChips
          attachments={offers}
          reading={reading}
          onRemove={(id) => attached.change((before) => before.filter((other) => other.id !== id))}
          onReplace={(id, next) =>
            attached.change((before) => before.map((other) => (other.id === id ? next : other)))
          }
        />
      )}
      {filling && (
        <FillIn
          offer={filling}
          onAttached={(attachment) => {
            attached.change((before) => [...before, attachment]);
            setFilling(undefined);
          }}
          onClose={() => setFilling(undefined)}
        />
      )}
    </>
  );
}

function triggerIn(field: HTMLTextAreaElement | null): Trigger | undefined {
  if (!field || field.selectionStart !== field.selectionEnd) return undefined;
  return findTrigger(field.value, field.selectionStart);
}

/** Has an offer read as it is, and attaches it. */
function readNow(offer: Offer, { change, setReading }: Attachments): void {
  const name = nameOf(offer);
  setReading((before) => [...before, name]);
  attach(offer.connectionId, wishFor(offer, {}))
    .then(
      (attachment) => change((before) => [...before, attachment]),
      (error: unknown) => {
        const description = error instanceof Error ? error.message : String(error);
        toast({ title: t("offers.attachFailed", { name }), description, tone: "err" });
      },
    )
    .finally(() => setReading((before) => before.toSpliced(before.indexOf(name), 1)));
}

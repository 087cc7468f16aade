import { Check, Copy } from "lucide-react";
import { useRef, useState } from "react";
import { t } from "@/lib/t";
import { IconButton } from "@/ui/button";

interface CopyButtonProps {
  text: string;
  /** Label of the action. */
  label: string;
}

/** Time for which the button confirms the copy. */
const CONFIRMATION_MS = 2_000;

/** What came of the last copy, while it is shown. */
interface Copied {
  /** In words; empty before and after. */
  readonly said: string;
  readonly succeeded: boolean;
}

const nothing: Copied = { said: "", succeeded: false };

/** Returns what came of the last copy, and a function that copies a text. */
export function useCopy(): readonly [copied: Copied, copy: (text: string) => Promise<void>] {
  const [copied, setCopied] = useState(nothing);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  async function copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied({ said: t("chat.copied"), succeeded: true });
    } catch {
      setCopied({ said: t("chat.copyFailed"), succeeded: false });
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(nothing), CONFIRMATION_MS);
  }
  return [copied, copy];
}

/** Button that copies a text and confirms it, also to screen readers. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [{ said, succeeded }, copy] = useCopy();
  return (
    <>
      <IconButton
        size="sm"
        label={said || label}
        icon={succeeded ? <Check /> : <Copy />}
        onClick={() => void copy(text)}
      />
      <span role="status" className="sr-only">
        {said}
      </span>
    </>
  );
}

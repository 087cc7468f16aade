import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/t";
import { IconButton } from "@/ui/button";

interface CopyButtonProps {
  text: string;
  /** Label of the action. */
  label: string;
}

/** Time for which the button confirms the copy. */
const CONFIRMATION_MS = 2_000;

/** Returns the confirmation of the last copy, while it is shown, and a function that copies a text. */
export function useCopy(): readonly [said: string, copy: (text: string) => Promise<void>] {
  const [said, setSaid] = useState("");
  async function copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setSaid(t("chat.copied"));
    } catch {
      setSaid(t("chat.copyFailed"));
    }
    setTimeout(() => setSaid(""), CONFIRMATION_MS);
  }
  return [said, copy];
}

/** Button that copies a text and confirms it, also to screen readers. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [said, copy] = useCopy();
  return (
    <>
      <IconButton
        size="sm"
        label={said || label}
        icon={said ? <Check /> : <Copy />}
        onClick={() => void copy(text)}
      />
      <span role="status" className="sr-only">
        {said}
      </span>
    </>
  );
}

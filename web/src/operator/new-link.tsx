import { Check, Copy } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/field";
import { t } from "./t";

interface NewLinkProps {
  label: string;
  /** Who may have the link. */
  hint: string;
  url: string;
}

/** Link that the server shows only once, with a button that copies it. It replaces the form in the sheet that created it. */
export function NewLink({ label, hint, url }: NewLinkProps) {
  const [isCopied, setCopied] = useState(false);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  // The form that had the focus is gone.
  useEffect(() => field.current?.focus(), []);
  return (
    <div className="grid gap-3">
      <label htmlFor={id} className="text-md font-medium">
        {label}
      </label>
      <Textarea
        id={id}
        ref={field}
        readOnly
        value={url}
        className="font-mono text-sm wrap-anywhere"
        onFocus={(event) => event.target.select()}
      />
      <p className="text-sm text-ink-2">{hint}</p>
      <div className="flex flex-wrap gap-2">
        {/* Browsers have it on secure origins only. */}
        {"clipboard" in navigator && (
          <Button
            variant="primary"
            onClick={() => void navigator.clipboard.writeText(url).then(() => setCopied(true))}
          >
            {isCopied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
            {t(isCopied ? "operator.link.copied" : "operator.link.copy")}
          </Button>
        )}
        {/* Closes the sheet as Escape does, which restores the focus. */}
        <form method="dialog">
          <Button type="submit">{t("operator.link.done")}</Button>
        </form>
      </div>
    </div>
  );
}

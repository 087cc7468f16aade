import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { CopyButton } from "@/markdown/copy-button";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { Input, Checkbox } from "@/ui/field";
import { shareSession } from "./chat-commands";

interface ShareFormProps {
  chatId: string;
  onCancel: () => void;
}

/** Form that creates a link to a snapshot of a chat and shows it once. */
export function ShareForm({ chatId, onCancel }: ShareFormProps) {
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const [tools, setTools] = useState(false);
  const [files, setFiles] = useState(false);
  const share = useMutation({ mutationFn: () => shareSession(chatId, { tools, files }) });
  if (share.data !== undefined) {
    return (
      <div className="grid gap-2 px-1 text-sm">
        <div className="flex items-center gap-1.5">
          <Input
            readOnly
            aria-label={t("history.link")}
            value={share.data}
            onFocus={(event) => event.target.select()}
          />
          <CopyButton text={share.data} label={t("history.copyLink")} />
        </div>
        <p role="status" className="text-ink-2">
          {t("history.shared")}
        </p>
      </div>
    );
  }
  return (
    <div ref={form} className="grid gap-2.5 px-1 text-sm">
      <p className="text-ink-2">{t("history.share.about")}</p>
      <Checkbox checked={tools} onChange={setTools} label={t("history.share.tools")} />
      <Checkbox checked={files} onChange={setFiles} label={t("history.share.files")} />
      <ErrorMessage error={share.error} />
      <div className="flex gap-2">
        <Button size="sm" variant="primary" busy={share.isPending} onClick={() => share.mutate()}>
          {t("history.share.create")}
        </Button>
        <Button size="sm" variant="quiet" onClick={onCancel}>
          {t("history.cancel")}
        </Button>
      </div>
    </div>
  );
}

import { Globe } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useRef } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Card, CardHead } from "@/ui/card";
import { TextField } from "@/ui/field";
import { toast } from "@/ui/toast";
import { useConnect } from "./connect";
import { type ConnectDraft, emptyDraft, isComplete } from "./connect-draft";
import { foldAway, HeaderFields } from "./header-fields";

interface ConnectFormProps {
  userId: string;
  draft: ConnectDraft;
  onChange: (draft: ConnectDraft) => void;
  /** Opens the list of public servers; undefined where there is none. */
  onBrowseServers: (() => void) | undefined;
}

export function ConnectForm({ userId, draft, onChange, onBrowseServers }: ConnectFormProps) {
  const secrets = useRef<HTMLDetailsElement>(null);
  const connect = useConnect(userId, () => {
    onChange(emptyDraft);
    foldAway(secrets.current);
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (connect.isPending) return;
    if (isComplete(draft)) connect.mutate(draft);
    else toast({ title: t("servers.missing.title"), description: t("servers.missing.text"), tone: "warn" });
  }

  return (
    <Card aria-labelledby="connect-title">
      <CardHead id="connect-title" title={t("servers.connect")} />
      <form className="grid gap-4 px-5 pt-3.5 pb-5" onSubmit={submit} onKeyDown={submitOnEnter} noValidate>
        <TextField
          label={t("servers.name")}
          value={draft.name}
          onChange={(value) => onChange({ ...draft, name: value })}
          placeholder={t("servers.namePlaceholder")}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          aria-required
        />
        <TextField
          label={t("servers.url")}
          hint={t("servers.urlHint")}
          type="url"
          value={draft.url}
          onChange={(value) => onChange({ ...draft, url: value })}
          placeholder={t("servers.urlPlaceholder")}
          autoComplete="off"
          spellCheck={false}
          aria-required
        />
        <HeaderFields ref={secrets} draft={draft} onChange={onChange} />
        <Button
          type="submit"
          variant="primary"
          disabled={connect.isPending || draft.name === "" || draft.url === ""}
          busy={connect.isPending}
        >
          {connect.isPending ? t("servers.connecting") : t("servers.connect")}
        </Button>
        {onBrowseServers && (
          <Button className="-mt-1.5" onClick={onBrowseServers}>
            <Globe aria-hidden="true" />
            {t("servers.browse")}
          </Button>
        )}
      </form>
    </Card>
  );
}

/** Submits on Enter even if the button is disabled, so that the browser reports what is missing. */
function submitOnEnter(event: KeyboardEvent<HTMLFormElement>): void {
  if (event.key !== "Enter" || event.nativeEvent.isComposing || !(event.target instanceof HTMLInputElement))
    return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

import { ChevronRight, LockKeyhole, Plus, X } from "lucide-react";
import type { Ref } from "react";
import { t } from "@/lib/later-texts";
import { Button, IconButton } from "@/ui/button";
import { Input, TextField } from "@/ui/field";
import type { ConnectDraft, HeaderDraft } from "./connect-draft";

interface HeaderFieldsProps {
  ref: Ref<HTMLDetailsElement>;
  draft: ConnectDraft;
  onChange: (draft: ConnectDraft) => void;
}

/** Folded fields for the key and the headers that a server may need; most need none. */
export function HeaderFields({ ref, draft, onChange }: HeaderFieldsProps) {
  function change(id: number, part: Partial<HeaderDraft>): void {
    onChange({ ...draft, headers: draft.headers.map((one) => (one.id === id ? { ...one, ...part } : one)) });
  }
  function add(): void {
    onChange({ ...draft, headers: [...draft.headers, { id: Date.now(), name: "", value: "" }] });
  }
  function remove(id: number): void {
    onChange({ ...draft, headers: draft.headers.filter((one) => one.id !== id) });
  }
  return (
    <details ref={ref} className="group">
      <summary className="-ml-1 flex h-9 w-fit cursor-default list-none items-center gap-2 rounded-md px-1 text-md font-medium text-ink-2 select-none hover:text-ink touch:h-11 [&_svg]:size-4">
        <LockKeyhole aria-hidden="true" />
        {t("servers.secrets")}
        <ChevronRight aria-hidden="true" className="transition-transform duration-150 group-open:rotate-90" />
      </summary>
      <div className="grid gap-4 pt-3">
        <TextField
          label={t("servers.key")}
          hint={t("servers.keyHint")}
          type="password"
          autoComplete="off"
          value={draft.key}
          onChange={(value) => onChange({ ...draft, key: value })}
        />
        {draft.headers.map((header) => (
          <HeaderRow
            key={header.id}
            header={header}
            onChange={(part) => change(header.id, part)}
            onRemove={() => remove(header.id)}
          />
        ))}
        <Button size="sm" className="justify-self-start" onClick={add}>
          <Plus aria-hidden="true" />
          {t("servers.addHeader")}
        </Button>
      </div>
    </details>
  );
}

/** Folds the fields, and moves the focus from them to the control that unfolds them. */
export function foldAway(fields: HTMLDetailsElement | null): void {
  if (fields === null) return;
  if (fields.contains(document.activeElement)) fields.querySelector("summary")?.focus();
  fields.open = false;
}

interface HeaderRowProps {
  header: HeaderDraft;
  onChange: (part: Partial<HeaderDraft>) => void;
  onRemove: () => void;
}

function HeaderRow({ header, onChange, onRemove }: HeaderRowProps) {
  return (
    <div className="flex items-center gap-2">
      <Input
        aria-label={t("servers.headerName")}
        placeholder={t("servers.headerName")}
        autoComplete="off"
        spellCheck={false}
        value={header.name}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      <Input
        aria-label={t("servers.headerValue")}
        placeholder={t("servers.headerValue")}
        type="password"
        autoComplete="off"
        value={header.value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <IconButton label={t("servers.removeHeader")} icon={<X />} onClick={onRemove} />
    </div>
  );
}

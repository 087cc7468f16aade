import { type FormEvent, useState } from "react";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { t } from "@/lib/later-texts";

interface HeaderFormProps {
  /** Name of the header; empty if it has to be entered as well. */
  name: string;
  busy: boolean;
  onSave: (name: string, value: string) => void;
  onCancel: () => void;
}

/** Form for one header. For `Authorization`, a bare key is sufficient. */
export function HeaderForm({ name, busy, onSave, onCancel }: HeaderFormProps) {
  const [header, setHeader] = useState(name);
  const [value, setValue] = useState("");
  const isKey = name.toLowerCase() === "authorization";
  const complete = header.trim() !== "" && value.trim() !== "";

  function submit(event: FormEvent): void {
    event.preventDefault();
    const typed = value.trim();
    if (complete && !busy) onSave(header.trim(), isKey && !typed.includes(" ") ? `Bearer ${typed}` : typed);
  }

  return (
    <form onSubmit={submit} className="grid animate-enter gap-3 pt-2 pb-1.5">
      {name === "" && (
        <Field label={t("servers.headerName")}>
          {(ids) => (
            <Input
              {...ids}
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- It was asked for just now.
              autoFocus
              autoComplete="off"
              spellCheck={false}
              value={header}
              onChange={(event) => setHeader(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label={isKey ? t("servers.key") : t("servers.headerValue")}
        hint={isKey ? t("servers.keyHint") : t("servers.headerHint")}
      >
        {(ids) => (
          <Input
            {...ids}
            type="password"
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- It was asked for just now.
            autoFocus={name !== ""}
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        )}
      </Field>
      <div className="flex gap-2">
        <Button type="submit" size="sm" variant="primary" disabled={!complete || busy} busy={busy}>
          {t("servers.save")}
        </Button>
        <Button size="sm" variant="quiet" onClick={onCancel}>
          {t("servers.cancel")}
        </Button>
      </div>
    </form>
  );
}

import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { useChange } from "../use-connections";
import { Section } from "./section";

/** Header for keys. */
const KEY_HEADER = "Authorization";

interface HeadersSectionProps {
  userId: string;
  id: string;
  /** Names of the stored headers; undefined while they load. */
  headers: readonly string[] | undefined;
}

/** Headers of every request to a server. Values are write-only. */
export function HeadersSection({ userId, id, headers }: HeadersSectionProps) {
  // Name of the header being replaced; empty for a new one.
  const [editing, setEditing] = useState<string>();
  const change = useChange(userId, id, () => setEditing(undefined));
  if (headers === undefined) return null;
  const hasKey = headers.some((name) => name.toLowerCase() === KEY_HEADER.toLowerCase());
  const form = (name: string) => (
    <HeaderForm
      name={name}
      busy={change.isPending}
      onSave={(header, value) => change.mutate({ headers: { [header]: value } })}
      onCancel={() => setEditing(undefined)}
    />
  );
  return (
    <Section title={t("servers.headers")} about={t("servers.headers.about")}>
      <ul className="divide-y divide-line">
        {headers.map((name) => (
          <li key={name} className="px-4 py-2.5">
            <div className="flex min-h-9 flex-wrap items-center gap-2 touch:min-h-11">
              <span className="min-w-24 flex-1 font-mono text-sm wrap-anywhere">{name}</span>
              <Button
                size="sm"
                aria-label={t("servers.replaceHeader", { name })}
                aria-expanded={editing === name}
                onClick={() => setEditing(editing === name ? undefined : name)}
              >
                {t("servers.replace")}
              </Button>
              <Button
                size="sm"
                variant="danger"
                aria-label={t("servers.dropHeader", { name })}
                disabled={change.isPending}
                onClick={() => change.mutate({ headers: { [name]: null } })}
              >
                {t("servers.drop")}
              </Button>
            </div>
            {editing === name && form(name)}
          </li>
        ))}
        {headers.length === 0 && (
          <li className="px-4 py-3 text-sm text-ink-2">{t("servers.headers.none")}</li>
        )}
        <li className="px-4 py-2.5">
          {editing === "" || (editing === KEY_HEADER && !hasKey) ? (
            form(editing)
          ) : (
            <div className="flex flex-wrap gap-2">
              {!hasKey && (
                <Button size="sm" onClick={() => setEditing(KEY_HEADER)}>
                  <Plus aria-hidden="true" />
                  {t("servers.addKey")}
                </Button>
              )}
              <Button size="sm" onClick={() => setEditing("")}>
                <Plus aria-hidden="true" />
                {t("servers.addHeader")}
              </Button>
            </div>
          )}
        </li>
      </ul>
    </Section>
  );
}

interface HeaderFormProps {
  /** Name of the header; empty if it has to be entered as well. */
  name: string;
  busy: boolean;
  onSave: (name: string, value: string) => void;
  onCancel: () => void;
}

/** Form for one header. For `Authorization`, a bare key is sufficient. */
function HeaderForm({ name, busy, onSave, onCancel }: HeaderFormProps) {
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
        <TextField
          label={t("servers.headerName")}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- It was asked for just now.
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={header}
          onChange={setHeader}
        />
      )}
      <TextField
        label={isKey ? t("servers.key") : t("servers.headerValue")}
        hint={isKey ? t("servers.keyHint") : t("servers.headerHint")}
        type="password"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- It was asked for just now.
        autoFocus={name !== ""}
        autoComplete="off"
        value={value}
        onChange={setValue}
      />
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

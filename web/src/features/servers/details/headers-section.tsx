import { Plus } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { HeaderForm } from "./header-form";
import { Section } from "./section";
import { useChange } from "../use-connections";

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

import { type FormEvent, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import type { ServerConnection } from "../server-connection";
import { useChange } from "../use-connections";

interface NameFormProps {
  userId: string;
  connection: ServerConnection;
}

/** Form that renames a connection. */
export function NameForm({ userId, connection: { id, name } }: NameFormProps) {
  const [typed, setTyped] = useState(name);
  const change = useChange(userId, id);
  const wanted = typed.trim();
  const same = wanted === "" || wanted === name;

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!same && !change.isPending) change.mutate({ name: wanted });
  }

  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <TextField
        label={t("servers.name")}
        className="flex-1"
        value={typed}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        onChange={setTyped}
      />
      <Button type="submit" className="h-10" disabled={same || change.isPending} busy={change.isPending}>
        {t("servers.rename")}
      </Button>
    </form>
  );
}

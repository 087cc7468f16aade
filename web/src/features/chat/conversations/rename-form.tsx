import { type FormEvent, useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Input } from "@/ui/field";

/** Maximum length of a title. */
const MAX_TITLE_CHARS = 200;

interface RenameFormProps {
  title: string;
  onSave: (title: string) => void;
  onCancel: () => void;
}

/** Form to rename a chat. */
export function RenameForm({ title, onSave, onCancel }: RenameFormProps) {
  const [typed, setTyped] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const wanted = typed.trim();

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (wanted !== "") onSave(wanted);
  }

  return (
    <form className="grid gap-2" onSubmit={submit}>
      <Input
        ref={field}
        aria-label={t("history.title")}
        maxLength={MAX_TITLE_CHARS}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <div className="flex gap-2">
        <Button type="submit" size="sm" variant="primary" disabled={wanted === ""}>
          {t("history.save")}
        </Button>
        <Button size="sm" variant="quiet" onClick={onCancel}>
          {t("history.cancel")}
        </Button>
      </div>
    </form>
  );
}

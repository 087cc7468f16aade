import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { withApiProof } from "@/components/account/step-up";
import { t } from "@/lib/later-texts";
import { saveFile } from "@/lib/save-file";
import { type SignedInUser, signOut } from "@/lib/session";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { toast, toastFailure } from "@/ui/toast";
import { deleteAccount, exportAccount, importChats } from "./queries";
import { Section } from "./section";
import { SettingRow } from "./setting-row";

interface DataSectionProps {
  user: SignedInUser;
  /** Called before the account is deleted. */
  onLeave: () => void;
}

/** Export, import and deletion of the user's data. */
export function DataSection({ user, onLeave }: DataSectionProps) {
  const download = useMutation({
    mutationFn: exportAccount,
    onSuccess: (file) => {
      saveFile(file);
      toast({ title: t("account.export.done"), description: file.name, tone: "ok" });
    },
    onError: (error) => toastFailure(t("account.export.failed"), error),
  });
  return (
    <Section title={t("account.data")}>
      <div className="flex min-h-9 items-center gap-3 px-4 py-2.5">
        <div className="min-w-0 flex-1">
          <p className="text-md font-medium">{t("account.export")}</p>
          <p className="text-sm text-ink-2">{t("account.export.about")}</p>
        </div>
        <Button
          size="sm"
          aria-disabled={download.isPending || undefined}
          busy={download.isPending}
          onClick={() => {
            if (!download.isPending) download.mutate();
          }}
        >
          {t("account.export.download")}
        </Button>
      </div>
      <ImportRow user={user} />
      <SettingRow part="delete" label={t("account.delete")} action={t("account.delete.open")} danger>
        {() => <DeleteForm user={user} onLeave={onLeave} />}
      </SettingRow>
    </Section>
  );
}

/** Form that lists what is deleted with the account, and deletes it once the email address was typed. */
function DeleteForm({ user, onLeave }: DataSectionProps) {
  const [typed, setTyped] = useState("");
  const matches = typed.trim().toLowerCase() === user.email.toLowerCase();
  const remove = useMutation({
    mutationFn: () => withApiProof(() => deleteAccount(typed.trim())),
    onSuccess: async () => {
      onLeave();
      forgetWhatIsKept();
      await signOut();
      toast({ title: t("account.delete.done"), description: t("account.delete.done.text"), tone: "ok" });
    },
  });

  return (
    <Form className="grid gap-3" busy={!matches || remove.isPending} onSend={() => remove.mutate()}>
      <p className="text-sm text-ink-2">{t("account.delete.what")}</p>
      <TextField
        label={t("account.delete.type", { email: user.email })}
        error={remove.error ? remove.error.message : undefined}
        type="email"
        name="confirm-email"
        autoComplete="off"
        placeholder={user.email}
        value={typed}
        onChange={setTyped}
      />
      <SubmitButton
        variant="danger"
        className="justify-self-start border-line-strong!"
        disabled={!matches}
        busy={remove.isPending}
      >
        {t("account.delete.confirm")}
      </SubmitButton>
    </Form>
  );
}

/** Prefix of all storage keys of this app, except the session's. */
const prefix = "ai-chat-mcp.";

/** Deletes all stored data of a user, such as drafts, from this browser. */
function forgetWhatIsKept(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
  } catch {
    // Without storage there is nothing to delete.
  }
}

/** Row that imports chats from a file. */
function ImportRow({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const field = useRef<HTMLInputElement>(null);
  const bring = useMutation({
    mutationFn: importChats,
    onSuccess: ({ imported, skipped }) => {
      void client.invalidateQueries({ queryKey: ["chat-sessions", user.id] });
      toast({
        title: imported === 0 ? t("account.import.none") : t("account.import.done", { n: imported }),
        ...(skipped > 0 && { description: t("account.import.skipped", { n: skipped }) }),
        tone: imported > 0 ? "ok" : "neutral",
      });
    },
    onError: (error) => toastFailure(t("account.import.failed"), error),
  });
  return (
    <div className="flex min-h-9 items-center gap-3 px-4 py-2.5">
      <div className="min-w-0 flex-1">
        <p className="text-md font-medium">{t("account.import")}</p>
        <p className="text-sm text-ink-2">{t("account.import.about")}</p>
      </div>
      <input
        ref={field}
        type="file"
        accept=".json,application/json"
        aria-label={t("account.import.choose")}
        hidden
        onChange={(event) => {
          const file = event.target.files?.[0];
          // Otherwise the same file could not be chosen again.
          event.target.value = "";
          if (file) bring.mutate(file);
        }}
      />
      <Button
        size="sm"
        aria-disabled={bring.isPending || undefined}
        busy={bring.isPending}
        onClick={() => {
          if (!bring.isPending) field.current?.click();
        }}
      >
        {t("account.import.choose")}
      </Button>
    </div>
  );
}

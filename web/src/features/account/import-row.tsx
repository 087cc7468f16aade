import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { toast } from "@/ui/toast";
import { importChats } from "./queries";

/** Row that imports chats from a file. */
export function ImportRow({ user }: { user: SignedInUser }) {
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
    onError: (error) => toast({ title: t("account.import.failed"), description: error.message, tone: "err" }),
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

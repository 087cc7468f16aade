import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ModelSettingsForm } from "@/components/model-settings/model-settings-form";
import type { ModelSettings } from "@/components/model-settings/settings";
import { t } from "@/lib/later-texts";
import { toast } from "@/ui/toast";
import { chatSettingsQuery, saveChatSettings } from "../queries";

/** Instructions and parameters for the models of one chat. */
export function ChatSettings({ chatId }: { chatId: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details
      className="border-t border-line"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="px-3 py-2 text-md touch:py-3">{t("models.settings.chat")}</summary>
      {open && <Fields chatId={chatId} />}
    </details>
  );
}

function Fields({ chatId }: { chatId: string }) {
  const client = useQueryClient();
  const query = chatSettingsQuery(chatId);
  const { data, error } = useQuery(query);
  const save = useMutation({
    mutationFn: (settings: ModelSettings) => saveChatSettings(chatId, settings),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: query.queryKey });
      toast({ title: t("models.settings.saved"), tone: "ok" });
    },
  });
  if (data === undefined) {
    return error ? (
      <p role="alert" className="px-3 pb-3 text-sm text-err">
        {error instanceof Error ? error.message : null}
      </p>
    ) : null;
  }
  return (
    <div className="px-3 pb-3">
      <ModelSettingsForm
        settings={data.settings}
        defaults={data.defaults}
        busy={save.isPending}
        error={save.error?.message}
        onSave={(settings) => save.mutate(settings)}
      />
    </div>
  );
}

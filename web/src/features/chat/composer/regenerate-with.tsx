import { useQueryClient } from "@tanstack/react-query";
import { use } from "react";
import { t } from "@/lib/later-texts";
import { useClosePopover } from "@/ui/popover";
import { toastError } from "@/ui/toast";
import { ModelList } from "./model-list";
import { ChatId } from "../chat-context";
import { chatModelQuery, chooseModel } from "../queries";

interface RegenerateWithProps {
  /** Id of the model that wrote the answer. */
  writer: string | null;
  onRegenerate: () => void;
}

/** List of models that can write an answer again. The chosen one also answers the next messages of the chat. */
export function RegenerateWith({ writer, onRegenerate }: RegenerateWithProps) {
  const chatId = use(ChatId);
  const client = useQueryClient();
  const close = useClosePopover();

  async function regenerate(model: string): Promise<void> {
    close();
    try {
      // The server takes the model of a turn from its chat.
      await chooseModel(chatId, model);
      await client.invalidateQueries({ queryKey: chatModelQuery(chatId).queryKey });
    } catch (error) {
      toastError(error);
      return;
    }
    onRegenerate();
  }

  return (
    <>
      <div className="grid gap-0.5 px-2.5 pt-2 pb-2.5">
        <h3 className="text-md">{t("steering.againWith")}</h3>
        <p className="text-sm text-ink-2">{t("steering.againWith.about")}</p>
      </div>
      <ModelList chosen={writer ?? undefined} onChoose={(id) => void regenerate(id)} />
    </>
  );
}

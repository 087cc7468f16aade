import { t } from "@/lib/t";
import type { Model } from "../api/models";
import { useChatModel } from "./use-chat-model";

/** With more tools than this, the built-in model often picks a wrong one. */
const MOST_TOOLS = 15;

/** Whether there are more tools than the built-in model copes with. */
export function manyTools(model: Model, toolCount: number): boolean {
  return model.builtIn && toolCount > MOST_TOOLS;
}

/** What one has to know before writing: that no model is there, or that it has too much to choose from. */
export function ModelNotes({ chatId, toolCount }: { chatId: string; toolCount: number }) {
  const { loaded, model } = useChatModel(chatId);
  if (!loaded) return null;
  if (!model?.available) {
    return (
      <p role="status" className="mt-2 text-center text-sm wrap-anywhere text-err">
        {t("chat.model.none", { reason: model?.reason ?? t("chat.model.missing") })}
      </p>
    );
  }
  if (!manyTools(model, toolCount)) return null;
  return <p className="mt-2 text-center text-xs text-ink-3">{t("chat.model.manyTools", { n: toolCount })}</p>;
}

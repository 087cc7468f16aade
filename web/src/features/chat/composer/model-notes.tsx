import { t } from "@/lib/t";
import { type Model, useChatModel } from "../queries";

/** With more tools than this, the built-in model often picks a wrong one. */
const MAX_RECOMMENDED_TOOLS = 15;

/** Returns true if there are more tools than the built-in model can handle. */
export function hasTooManyTools(model: Model, toolCount: number): boolean {
  return model.builtIn && toolCount > MAX_RECOMMENDED_TOOLS;
}

/** Returns why a model cannot answer. A chosen model that no provider lists any more has no reason of its own. */
export function unavailableReason({ name, reason }: Model): string {
  return reason ?? t("chat.model.gone", { name });
}

/** Warnings before a message is written: no model is available, or there are too many tools for it. */
export function ModelNotes({ chatId, toolCount }: { chatId: string; toolCount: number }) {
  const { loaded, model } = useChatModel(chatId);
  if (!loaded) return null;
  if (!model?.available) {
    const reason = model ? unavailableReason(model) : t("chat.model.missing");
    return (
      <p role="status" className="mt-2 text-center text-sm wrap-anywhere text-err">
        {t("chat.model.none", { reason })}
      </p>
    );
  }
  if (!hasTooManyTools(model, toolCount)) return null;
  return <p className="mt-2 text-center text-xs text-ink-3">{t("chat.model.manyTools", { n: toolCount })}</p>;
}

import { ChevronDown } from "lucide-react";
import { Suspense } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { useChatModel } from "../queries";

const ModelDetails = lazyPart(async () => (await import("./model-details")).ModelDetails);

/** Name of the answering model; opens its details. */
export function ModelInfo({ chatId, toolCount }: { chatId: string; toolCount: number }) {
  const { model } = useChatModel(chatId);
  if (!model) return null;
  return (
    <Popover
      trigger={
        <>
          <span className="truncate">{model.name}</span>
          <ChevronDown aria-hidden="true" />
        </>
      }
      triggerClassName={`${buttonClass({ variant: "quiet", size: "sm" })} min-w-0 max-w-56`}
      triggerLabel={t("chat.model.trigger", { name: model.name })}
      label={t("chat.model.label")}
      side="top"
      align="start"
      className="w-[min(340px,calc(100vw-20px))]"
    >
      <Suspense fallback={<h3 className="p-3 text-md">{model.name}</h3>}>
        <ModelDetails chatId={chatId} model={model} toolCount={toolCount} />
      </Suspense>
    </Popover>
  );
}

import { ChevronDown } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import type { Model } from "../api/models";
import { manyTools } from "./model-notes";
import { useChatModel } from "./use-chat-model";

const ModelPicker = lazy(async () => ({ default: (await import("./model-picker")).ModelPicker }));

/** The model that answers, by name; opens what there is to know about it. */
export function ModelInfo({ chatId, toolCount }: { chatId: string; toolCount: number }) {
  const [open, setOpen] = useState(false);
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
      onToggle={setOpen}
      className="w-[min(340px,calc(100vw-20px))] [position-area:top_span-right]!"
    >
      <div className="grid gap-2.5 p-3 text-md">
        <h3>{model.name}</h3>
        {!model.available && (
          <p className="text-err wrap-anywhere first-letter:uppercase">
            {model.reason ?? t("chat.model.missing")}
          </p>
        )}
        {model.builtIn ? (
          <BuiltIn model={model} toolCount={toolCount} />
        ) : (
          <p className="text-ink-2">
            {t("chat.model.remote", { provider: model.providerName ?? model.provider })}
          </p>
        )}
      </div>
      <Suspense fallback={null}>{open && <ModelPicker chatId={chatId} model={model} />}</Suspense>
    </Popover>
  );
}

/** What the built-in model is, without promises. */
function BuiltIn({ model, toolCount }: { model: Model; toolCount: number }) {
  const { about } = model;
  return (
    <>
      <p className="text-ink-2">{t("chat.model.builtIn")}</p>
      {manyTools(model, toolCount) && (
        <p className="text-warn">{t("chat.model.manyTools", { n: toolCount })}</p>
      )}
      {about && (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-sm">
          <Fact name={t("chat.model.license")} value={about.license} />
          <Fact name={t("chat.model.origin")} value={about.origin} />
          <Fact
            name={t("chat.model.size")}
            value={t("chat.model.gigabytes", { n: (about.sizeBytes / 1e9).toFixed(1) })}
          />
        </dl>
      )}
      {about?.note && <p className="text-sm text-ink-2">{about.note}</p>}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="wrap-anywhere">{value}</dd>
    </>
  );
}

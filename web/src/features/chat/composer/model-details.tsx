import { quoted } from "@/lib/error-text";
import { t, tRich } from "@/lib/later-texts";
import { hasTooManyTools, unavailableReason } from "./model-notes";
import { ModelPicker } from "./model-picker";
import type { Model } from "../queries";

interface ModelDetailsProps {
  chatId: string;
  model: Model;
  toolCount: number;
}

/** Details of the answering model, settings of the chat, and the list of models. */
export function ModelDetails({ chatId, model, toolCount }: ModelDetailsProps) {
  return (
    <>
      <div className="grid gap-2.5 p-3 text-md">
        <h3>{model.name}</h3>
        {!model.available && (
          <p className="text-err wrap-anywhere">
            {model.reason
              ? tRich("models.unavailable", { reason: model.reason, q: quoted })
              : unavailableReason(model)}
          </p>
        )}
        {model.builtIn ? (
          <BuiltIn model={model} toolCount={toolCount} />
        ) : (
          <p className="text-ink-2">
            {t("models.about.remote", { provider: model.providerName ?? model.provider })}
          </p>
        )}
      </div>
      <ModelPicker chatId={chatId} model={model} />
    </>
  );
}

/** Notice about the abilities of the built-in model. */
function BuiltIn({ model, toolCount }: { model: Model; toolCount: number }) {
  const { about } = model;
  return (
    <>
      <p className="text-ink-2">{t("models.about.builtIn")}</p>
      {hasTooManyTools(model, toolCount) && (
        <p className="text-warn">{t("chat.model.manyTools", { n: toolCount })}</p>
      )}
      {about && (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-sm">
          <Fact name={t("models.about.license")} value={about.license} />
          <Fact name={t("models.about.origin")} value={about.origin} />
          <Fact
            name={t("models.about.size")}
            value={t("models.about.gigabytes", { n: about.sizeBytes / 1e9 })}
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

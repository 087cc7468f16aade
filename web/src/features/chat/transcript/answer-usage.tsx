import { useQuery, useQueryClient } from "@tanstack/react-query";
import { use } from "react";
import { formatNumber } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { formatCost, type Usage } from "@/lib/usage";
import { Button } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { ChatId } from "../chat-context";
import { answerUsageQuery } from "../queries";

interface AnswerUsageProps {
  messageId: string;
  /** `provider/name`. */
  model: string | null;
}

/** Cost of an answer and of its chat so far. */
export function AnswerUsage({ messageId, model }: AnswerUsageProps) {
  const chatId = use(ChatId);
  const client = useQueryClient();
  const query = answerUsageQuery(chatId, messageId);
  const { data, error } = useQuery(query);
  return (
    <div className="grid gap-2.5 p-3 text-md">
      <h3 className="wrap-anywhere">{model ?? t("models.usage")}</h3>
      {data === undefined &&
        (error !== null ? (
          <div role="alert" className="grid justify-items-start gap-2">
            <p className="text-err">{t("models.usage.failed")}</p>
            <Button size="sm" onClick={() => void client.invalidateQueries({ queryKey: query.queryKey })}>
              {t("app.crash.retry")}
            </Button>
          </div>
        ) : (
          <p className="flex items-center gap-2 text-ink-2">
            <Spinner />
            {t("app.loading")}
          </p>
        ))}
      {data && (
        <>
          <Tokens title={t("models.usage.answer")} usage={data.answer} />
          <Tokens title={t("models.usage.chat")} usage={data.chat} />
          {data.chat.estimatedCalls > 0 && (
            <p className="text-sm text-ink-2">
              {t("models.usage.estimated", { n: data.chat.estimatedCalls, all: data.chat.calls })}
            </p>
          )}
        </>
      )}
    </div>
  );
}

function Tokens({ title, usage }: { title: string; usage: Usage }) {
  const { inputTokens, outputTokens, cachedInputTokens, calls } = usage;
  return (
    <section className="grid gap-1">
      <h4 className="text-sm text-ink-2">{title}</h4>
      {calls === 0 ? (
        <p className="text-sm">{t("models.usage.unknown")}</p>
      ) : (
        <dl className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-0.5 text-sm tabular-nums">
          <Count name={t("models.usage.read")} count={inputTokens} />
          {cachedInputTokens > 0 && <Count name={t("models.usage.cached")} count={cachedInputTokens} />}
          <Count name={t("models.usage.written")} count={outputTokens} />
          <Count name={t("models.usage.calls")} count={calls} />
          {usage.unpricedCalls < calls && (
            <>
              <dt className="text-ink-2">{t("models.usage.cost")}</dt>
              <dd className="text-right">{formatCost(usage)}</dd>
            </>
          )}
        </dl>
      )}
    </section>
  );
}

function Count({ name, count }: { name: string; count: number }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="text-right">{formatNumber(count)}</dd>
    </>
  );
}

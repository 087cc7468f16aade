import { cn } from "@/lib/cn";
import { formatNumber } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { formatTokenCount } from "@/lib/usage";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { type ContextUsage, SHOWN_SHARE, useContextUsage, WARNING_SHARE } from "./context-usage";
import type { ChatStore } from "../stream/chat-store";

interface ContextGaugeProps {
  chatId: string;
  store: ChatStore;
}

/** Ring that fills with the chat, shown once half of the model's context is used. Opens an explanation. */
export function ContextGauge({ chatId, store }: ContextGaugeProps) {
  const usage = useContextUsage(chatId, store);
  if (!usage || usage.share < SHOWN_SHARE) return null;
  const isNearEnd = usage.share >= WARNING_SHARE;
  const percent = formatShare(usage);
  return (
    <>
      <Popover
        trigger={
          <>
            <Ring share={usage.share} />
            {isNearEnd && (
              <span aria-hidden="true" className="max-wide:hidden">
                {percent}
              </span>
            )}
          </>
        }
        triggerClassName={cn(
          buttonClass({ variant: "quiet", size: "sm" }),
          "min-w-[30px] gap-1.5! px-1.5! tabular-nums touch:min-w-11",
          isNearEnd ? "text-warn!" : "text-accent!",
        )}
        triggerLabel={t("models.context.used", { percent })}
        label={t("models.context")}
        side="top"
        className="w-[min(300px,calc(100vw-20px))]"
      >
        <div className="p-3">
          <ContextNote usage={usage} />
        </div>
      </Popover>
      {isNearEnd && (
        <span role="status" className="sr-only">
          {t("models.context.used", { percent })}
        </span>
      )}
    </>
  );
}

/** Use of the context in words, with advice near its end. */
export function ContextNote({ usage }: { usage: ContextUsage }) {
  const isNearEnd = usage.share >= WARNING_SHARE;
  return (
    <div className="grid gap-1.5 text-sm">
      <p className="text-md font-medium">{t("models.context.used", { percent: formatShare(usage) })}</p>
      <p className="text-ink-2 tabular-nums">
        {t("models.context.tokens", {
          used: formatTokenCount(usage.used),
          size: formatTokenCount(usage.size),
        })}
      </p>
      {isNearEnd && <p className="text-warn">{t("models.context.nearEnd")}</p>}
    </div>
  );
}

function formatShare({ share }: ContextUsage): string {
  return formatNumber(share, { style: "percent", maximumFractionDigits: 0 });
}

function Ring({ share }: { share: number }) {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true" fill="none" strokeWidth="2.5" className="-rotate-90">
      <circle cx="10" cy="10" r="7.5" className="stroke-line-strong" />
      <circle
        cx="10"
        cy="10"
        r="7.5"
        pathLength="100"
        strokeDasharray={`${share * 100} 100`}
        stroke="currentColor"
      />
    </svg>
  );
}

import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { suggestionsFor } from "./suggestions";

export interface EmptyStateProps {
  tools: readonly AvailableTool[];
  onPrefill: (text: string) => void;
  onOpenServers: () => void;
}

/** Empty chat: suggested questions, or the way to connect tools. */
export function EmptyState({ tools, onPrefill, onOpenServers }: EmptyStateProps) {
  const servers = new Set(tools.map(({ serverName }) => serverName)).size;
  return (
    <div className="grid min-h-full place-content-center justify-items-center text-center">
      <h3 className="text-2xl tracking-tight text-balance">{t("chat.empty.title")}</h3>
      <p className="text-balance text-ink-2">
        {tools.length > 0 ? t("chat.empty.ready", { tools: tools.length, servers }) : t("chat.empty.noTools")}
      </p>
      {tools.length === 0 ? (
        <Button variant="primary" className="mt-6" onClick={onOpenServers}>
          {t("chat.empty.openServers")}
        </Button>
      ) : (
        <ul className="mt-6.5 grid w-[min(40rem,calc(100vw-28px))] grid-cols-2 gap-2.5 max-wide:grid-cols-1">
          {suggestionsFor(tools).map(({ label, prompt, tool, serverName }) => (
            <li key={`${serverName}/${tool}`} className="grid grid-cols-[minmax(0,1fr)]">
              <button
                type="button"
                onClick={() => onPrefill(prompt)}
                className="flex flex-col rounded-lg border border-line bg-surface px-4 py-3 text-left text-md transition-colors duration-150 hover:border-line-strong"
              >
                <span className="line-clamp-2 wrap-anywhere">{label}</span>{" "}
                <span className="max-w-full truncate text-ink-2">
                  {label === tool ? serverName : `${tool} · ${serverName}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

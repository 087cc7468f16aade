import { Box, Globe, type LucideIcon, Plus } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { Spinner } from "@/ui/spinner";
import { plainSuggestions, suggestionsFor } from "./suggestions";

export interface EmptyStateProps {
  tools: readonly AvailableTool[];
  onPrefill: (text: string) => void;
  onOpenServers: () => void;
  /** Connects to the built-in toolbox; resolves after the result was shown. */
  onTryToolbox: () => Promise<void>;
  /** Opens the list of public servers; undefined where there is none. */
  onBrowseServers: (() => void) | undefined;
}

/** Empty chat: suggested questions, or the ways to connect tools. */
export function EmptyState({
  tools,
  onPrefill,
  onOpenServers,
  onTryToolbox,
  onBrowseServers,
}: EmptyStateProps) {
  const servers = new Set(tools.map(({ serverName }) => serverName)).size;
  const root = useRef<HTMLDivElement>(null);
  const [connecting, setConnecting] = useState(false);
  const startedHere = useRef(false);
  const hasTools = tools.length > 0;
  useEffect(() => {
    if (!hasTools || !startedHere.current) return;
    // The button that connected the toolbox is gone; what it brought takes its place.
    startedHere.current = false;
    root.current?.querySelector<HTMLElement>("ul button")?.focus();
  }, [hasTools]);

  async function tryToolbox(): Promise<void> {
    if (connecting) return;
    startedHere.current = true;
    setConnecting(true);
    await onTryToolbox();
    setConnecting(false);
  }

  return (
    <div ref={root} className="grid min-h-full place-content-center justify-items-center text-center">
      <h3 className="text-2xl tracking-tight text-balance">{t("chat.empty.title")}</h3>
      <p className="text-balance text-ink-2">
        {hasTools ? t("chat.empty.ready", { tools: tools.length, servers }) : t("chat.empty.noTools")}
      </p>
      {hasTools ? (
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
      ) : (
        <>
          <div
            className={cn(
              "mt-7 grid gap-3 max-wide:w-[min(31rem,calc(100vw-28px))] max-wide:grid-cols-1",
              onBrowseServers ? "w-[42.5rem] grid-cols-3" : "w-[31rem] grid-cols-2",
            )}
          >
            <StartCard
              icon={Box}
              title={t("chat.empty.toolbox")}
              text={t("chat.empty.toolbox.about")}
              isFirst
              busy={connecting}
              onClick={() => void tryToolbox()}
            />
            <StartCard
              icon={Plus}
              title={t("chat.empty.server")}
              text={t("chat.empty.server.about")}
              onClick={onOpenServers}
            />
            {onBrowseServers && (
              <StartCard
                icon={Globe}
                title={t("servers.browse")}
                text={t("servers.browse.about")}
                onClick={onBrowseServers}
              />
            )}
          </div>
          <div className="mt-4.5 flex flex-wrap justify-center gap-2">
            {plainSuggestions().map(({ label, prompt }) => (
              <button
                key={label}
                type="button"
                onClick={() => onPrefill(prompt)}
                className="min-h-[30px] rounded-full border border-line-strong bg-surface px-3 text-sm text-ink-2 transition-colors duration-150 hover:text-ink touch:min-h-11"
              >
                {label}
              </button>
            ))}
          </div>
        </>
      )}
    </div>
  );
}

interface StartCardProps {
  icon: LucideIcon;
  title: string;
  text: string;
  /** True for the one primary thing to do. */
  isFirst?: boolean;
  busy?: boolean;
  onClick: () => void;
}

/** A way to begin: what it does, and what it takes. */
function StartCard({ icon: Icon, title, text, isFirst = false, busy = false, onClick }: StartCardProps) {
  return (
    <button
      type="button"
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={onClick}
      className={cn(
        "grid content-start gap-1.5 rounded-xl border bg-surface p-4 text-left text-md transition-colors duration-150",
        "max-wide:grid-cols-[auto_minmax(0,1fr)] max-wide:gap-x-3",
        isFirst ? "border-ink" : "border-line hover:border-line-strong",
      )}
    >
      <span className="mb-1 grid size-8.5 place-items-center rounded-md bg-accent-soft text-accent max-wide:row-span-2 max-wide:mb-0">
        {busy ? <Spinner /> : <Icon aria-hidden="true" className="size-4" />}
      </span>
      <span className="font-semibold">{title}</span>{" "}
      <span className="text-sm leading-[18px] text-ink-2">{text}</span>
    </button>
  );
}

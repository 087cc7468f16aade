import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { toastError } from "@/ui/toast";
import { ListGroup } from "./chat-groups";
import { HighlightedExcerpt } from "./highlighted-excerpt";
import { revealSearchHit } from "./reveal-search-hit";
import type { Chats } from "./use-chats";
import { type Excerpt, type Found, type MessageHit, searchChats, searchQuery } from "../queries";
import { dayOf } from "../time";
import type { ScrollTarget } from "../transcript/scroll-controller";

interface SearchResultsProps {
  /** The search text; it may lag behind the field by the debounce time. */
  query: string;
  chats: Chats;
  open: (id: string) => Promise<void>;
  onReveal: (jump: ScrollTarget) => void;
}

/** Chats and messages that match the search text. */
export function SearchResults({ query, chats, open, onReveal }: SearchResultsProps) {
  const { data, error } = useQuery(searchQuery(query));
  // The previous results stay visible until the next ones are loaded.
  const [shown, setShown] = useState<{ query: string; found: Found }>();
  if (data && (shown?.query !== query || shown.found !== data) && !isLonger(shown?.found, data))
    setShown({ query, found: data });
  const more = useMutation({
    mutationFn: (before: string) => searchChats(query, before),
    onSuccess: (page) =>
      setShown((before) =>
        before?.query === query
          ? {
              query,
              found: {
                ...page,
                chats: before.found.chats,
                messages: [...before.found.messages, ...page.messages],
              },
            }
          : before,
      ),
    onError: toastError,
  });

  if (error)
    return (
      <p role="alert" className="px-2.5 py-3 text-sm text-err">
        {error instanceof Error ? error.message : t("error.title")}
      </p>
    );
  if (!shown) return <p className="appear-late px-2.5 py-3 text-sm text-ink-2">{t("history.searching")}</p>;
  const { found } = shown;
  const count = found.chats.length + found.messages.length;
  const jump = async (hit: MessageHit) => {
    try {
      await open(hit.sessionId);
      onReveal(await revealSearchHit(chats.registry.get(hit.sessionId), hit));
    } catch (cause) {
      console.error("Loading failed:", "messages", cause);
    }
  };
  return (
    <>
      <p role="status" className={count === 0 ? "px-2.5 py-3 text-sm text-ink-2" : "sr-only"}>
        {count === 0 ? t("history.nothing", { question: shown.query }) : t("history.found", { n: count })}
      </p>
      {found.chats.length > 0 && (
        <ListGroup name={t("history.inTitles")}>
          {found.chats.map((hit) => (
            <Hit
              key={hit.sessionId}
              title={hit.title}
              when={hit.updatedAt}
              onClick={() => void open(hit.sessionId).catch(logged)}
            />
          ))}
        </ListGroup>
      )}
      {found.messages.length > 0 && (
        <ListGroup name={t("history.inMessages")}>
          {found.messages.map((hit) => (
            <Hit
              key={hit.messageId}
              title={{ text: hit.title, marks: [] }}
              excerpt={hit.excerpt}
              when={hit.createdAt}
              onClick={() => void jump(hit)}
            />
          ))}
        </ListGroup>
      )}
      {found.next !== null && (
        <Button
          size="sm"
          variant="quiet"
          className="w-full"
          busy={more.isPending}
          onClick={() => found.next !== null && more.mutate(found.next)}
        >
          {t("history.moreResults")}
        </Button>
      )}
    </>
  );
}

/** Returns true if further pages were added to the first one. */
function isLonger(shown: Found | undefined, first: Found): boolean {
  return (
    shown !== undefined &&
    shown.messages.length > first.messages.length &&
    shown.messages[0]?.messageId === first.messages[0]?.messageId &&
    shown.chats === first.chats
  );
}

function logged(cause: unknown): void {
  console.error("Loading failed:", "chat", cause);
}

interface HitProps {
  title: Excerpt;
  excerpt?: Excerpt;
  when: string;
  onClick: () => void;
}

function Hit({ title, excerpt, when, onClick }: HitProps) {
  return (
    <li>
      <button
        type="button"
        data-line
        className="grid w-full grid-cols-[minmax(0,1fr)] gap-0.5 rounded-[9px] px-2.5 py-1.5 text-left text-md hover:bg-sunken in-[aside]:hover:bg-ink/5 touch:min-h-11"
        onClick={onClick}
      >
        <span className="flex items-baseline gap-2.5">
          <span dir="auto" className={`min-w-0 flex-1 truncate ${excerpt ? "text-sm text-ink-2" : ""}`}>
            <HighlightedExcerpt excerpt={title} />
          </span>{" "}
          <time dateTime={when} className="text-sm text-ink-2 tabular-nums">
            {dayOf(when)}
          </time>
        </span>{" "}
        {excerpt && (
          <span dir="auto" className="line-clamp-2 wrap-anywhere">
            <HighlightedExcerpt excerpt={excerpt} />
          </span>
        )}
      </button>
    </li>
  );
}

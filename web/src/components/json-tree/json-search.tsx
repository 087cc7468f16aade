import { ChevronDown, ChevronUp } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { Input } from "@/ui/field";
import { findMatches, type JsonMatch, keysOf, searchPattern } from "./json-tree";

/** Pause in typing after which a search begins. */
const SEARCH_DEBOUNCE_MS = 150;

interface JsonSearchProps {
  value: unknown;
  /** Called with what to mark. */
  onPattern: (pattern: RegExp | undefined) => void;
  /** Called with the path to the match to show. */
  onReveal: (path: (string | number)[]) => void;
}

interface Found {
  readonly matches: readonly JsonMatch[];
  readonly at: number;
}

/** Search field of a JSON tree, with the number of the match and buttons for the next and the previous one. */
export function JsonSearch({ value, onPattern, onReveal }: JsonSearchProps) {
  const [found, setFound] = useState<Found>();
  const debounce = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(debounce.current), []);

  function show(matches: readonly JsonMatch[], at: number): void {
    setFound({ matches, at });
    const match = matches[at];
    if (match) onReveal(keysOf(match));
  }

  function search(words: string): void {
    const pattern = words === "" ? undefined : searchPattern(words);
    onPattern(pattern);
    if (pattern) show(findMatches(value, pattern), 0);
    else setFound(undefined);
  }

  function step(by: number): void {
    if (!found || found.matches.length === 0) return;
    const { matches, at } = found;
    show(matches, (at + by + matches.length) % matches.length);
  }

  const count = found?.matches.length ?? 0;
  return (
    <div className="flex items-center gap-1 border-b border-line p-1 print:hidden">
      <Input
        type="search"
        aria-label={t("result.tree.search")}
        placeholder={t("result.tree.search")}
        autoComplete="off"
        maxLength={200}
        className="h-[30px]! min-w-0 flex-1 rounded-[6px]! px-2! text-sm touch:h-11!"
        onChange={({ target }) => {
          clearTimeout(debounce.current);
          debounce.current = setTimeout(() => search(target.value.trim()), SEARCH_DEBOUNCE_MS);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          // Within a form, Enter would submit it.
          event.preventDefault();
          step(event.shiftKey ? -1 : 1);
        }}
      />
      <span role="status" className="px-1 text-xs whitespace-nowrap text-ink-2 tabular-nums">
        {found &&
          (count === 0 ? t("result.tree.noMatch") : t("result.tree.matches", { at: found.at + 1, n: count }))}
      </span>
      <IconButton
        size="sm"
        label={t("result.tree.previous")}
        icon={<ChevronUp />}
        disabled={count === 0}
        onClick={() => step(-1)}
      />
      <IconButton
        size="sm"
        label={t("result.tree.next")}
        icon={<ChevronDown />}
        disabled={count === 0}
        onClick={() => step(1)}
      />
    </div>
  );
}

import { useMemo, useState } from "react";
import { stringifyJson } from "@/lib/json";
import { showInvisible } from "@/lib/show-invisible";
import { drawable } from "@/markdown/drawable-text";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";

/** Longer texts are cut until the user asks for the rest. */
const MAX_SHOWN_LINES = 200;

/** Preformatted text, with invisible characters made visible. */
export function TextBlock({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const lines = text.split("\n");
  const isCut = !whole && lines.length > MAX_SHOWN_LINES;
  return (
    <div>
      <pre className="rounded-[8px] bg-sunken px-3 py-[9px] font-mono text-sm whitespace-pre-wrap wrap-anywhere">
        {drawable(showInvisible(isCut ? lines.slice(0, MAX_SHOWN_LINES).join("\n") : text))}
      </pre>
      {isCut && (
        <Button variant="quiet" size="sm" onClick={() => setWhole(true)}>
          {t("result.showAll", { n: lines.length })}
        </Button>
      )}
    </div>
  );
}

/** JSON as formatted text. */
export function JsonText({ value }: { value: unknown }) {
  const text = useMemo(() => stringifyJson(value, 2), [value]);
  return <TextBlock text={text} />;
}

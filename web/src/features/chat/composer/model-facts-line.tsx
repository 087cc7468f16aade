import { Brain, FileText, Image, Palette, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { t, tRich } from "@/lib/later-texts";
import { formatPrice, formatTokenCount } from "@/lib/usage";
import type { ModelFacts } from "../queries";

const abilities = [
  { ability: "tools", Icon: Wrench },
  { ability: "images", Icon: Image },
  { ability: "pdf", Icon: FileText },
  { ability: "imageOutput", Icon: Palette },
  { ability: "reasoning", Icon: Brain },
] as const;

/** Renders the words that only screen readers need. */
const hidden = (words: ReactNode) => <span className="sr-only">{words}</span>;

/** One line with a model's context window, abilities and price, as far as they are known. */
export function ModelFactsLine({ facts }: { facts: ModelFacts }) {
  const { context, price } = facts;
  const able = abilities.filter(({ ability }) => facts[ability] === true);
  if (context === undefined && price === undefined && able.length === 0) return null;
  return (
    <span className="flex flex-wrap items-center gap-x-2 text-xs text-ink-2 tabular-nums">
      {context !== undefined && (
        <span>{tRich("models.facts.context", { n: formatTokenCount(context), hidden })}</span>
      )}
      {able.length > 0 && (
        <span className="flex items-center gap-1">
          {able.map(({ ability, Icon }) => (
            <span key={ability} title={t(`models.facts.${ability}`)}>
              <Icon aria-hidden="true" className="size-3" />
              <span className="sr-only">{t(`models.facts.${ability}`)}</span>
            </span>
          ))}
        </span>
      )}
      {price && price.input + price.output > 0 && (
        <span>
          {tRich("models.facts.price", {
            input: formatPrice(price.input),
            output: formatPrice(price.output),
            hidden,
          })}
        </span>
      )}
    </span>
  );
}

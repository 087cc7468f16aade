import { Star } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/models-text";
import { useQuery, useQueryClient } from "@/lib/query/use-query";
import { t as common } from "@/lib/t";
import { IconButton } from "@/ui/button";
import { Input } from "@/ui/field";
import { closePopover } from "@/ui/popover";
import { toast } from "@/ui/toast";
import { chatModelQuery, chooseModel, markFavourite, type Model, modelsQuery } from "../api/models";
import { ChatSettings } from "./chat-settings";
import { FactsLine } from "./facts-line";
import { groupModels } from "./group-models";

/** So many models are seen at a glance. */
const FEW = 6;

interface ModelPickerProps {
  chatId: string;
  /** The one that answers. */
  model: Model;
}

/** All models by their providers, those at hand first; choosing one lets it answer in this chat from now on. */
export function ModelPicker({ chatId, model }: ModelPickerProps) {
  const client = useQueryClient();
  const { data } = useQuery(modelsQuery);
  const [typed, setTyped] = useState("");
  const root = useRef<HTMLDivElement>(null);
  if (!data) return null;
  if (data.models.length < 2) return <ChatSettings chatId={chatId} />;
  const groups = groupModels(data.models, data.favourites, typed);

  async function tryTo(act: () => Promise<void>, queryKey: readonly string[]): Promise<void> {
    try {
      await act();
      await client.invalidateQueries({ queryKey });
    } catch (error) {
      const description = error instanceof Error ? error.message : undefined;
      toast({ title: common("error.title"), ...(description && { description }), tone: "err" });
    }
  }

  async function choose(id: string): Promise<void> {
    if (root.current) closePopover(root.current);
    await tryTo(() => chooseModel(chatId, id), chatModelQuery(chatId).queryKey);
  }

  return (
    <>
      <div
        ref={root}
        role="group"
        aria-label={t("models.choose")}
        className="border-t border-line pt-1.5"
        onKeyDown={(event) => walk(event, root.current)}
      >
        {data.models.length > FEW && (
          <div className="px-1 pb-1">
            <Input
              type="search"
              aria-label={t("models.search")}
              placeholder={t("models.search")}
              autoComplete="off"
              maxLength={200}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
        )}
        {groups.map(({ name, models }) => (
          <section key={name} aria-label={name}>
            <h4 className="px-2.5 pt-2 pb-1 text-xs text-ink-2">{name}</h4>
            <ul>
              {models.map((one) => (
                <ModelRow
                  key={one.id}
                  model={one}
                  isChosen={one.id === model.id}
                  isFavourite={data.favourites.includes(one.id)}
                  onChoose={() => void choose(one.id)}
                  onStar={(is) => void tryTo(() => markFavourite(one.id, is), modelsQuery.queryKey)}
                />
              ))}
            </ul>
          </section>
        ))}
        {groups.length === 0 && (
          <p role="status" className="px-2.5 py-3 text-sm text-ink-2">
            {t("models.search.none")}
          </p>
        )}
      </div>
      <ChatSettings chatId={chatId} />
    </>
  );
}

interface ModelRowProps {
  model: Model;
  isChosen: boolean;
  isFavourite: boolean;
  onChoose: () => void;
  onStar: (is: boolean) => void;
}

function ModelRow({ model, isChosen, isFavourite, onChoose, onStar }: ModelRowProps) {
  return (
    <li className={cn("flex items-center gap-1 rounded-[9px] hover:bg-sunken", isChosen && "bg-accent-soft")}>
      <button
        type="button"
        data-choice
        aria-pressed={isChosen}
        disabled={!model.available}
        title={model.reason ?? model.id}
        onClick={onChoose}
        className="min-h-9 min-w-0 flex-1 px-2.5 py-1.5 text-left wrap-anywhere text-md disabled:text-ink-3 touch:min-h-11"
      >
        <span className="block">{model.name}</span>
        {model.facts && <FactsLine facts={model.facts} />}
      </button>
      <IconButton
        size="sm"
        label={t(isFavourite ? "models.unstar" : "models.star", { name: model.name })}
        aria-pressed={isFavourite}
        icon={<Star fill={isFavourite ? "currentColor" : "none"} />}
        onClick={() => onStar(!isFavourite)}
      />
    </li>
  );
}

/** The arrows lead from model to model. */
function walk(event: KeyboardEvent, root: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || root === null) return;
  const choices = [...root.querySelectorAll<HTMLElement>("[data-choice]:enabled")];
  const at = choices.indexOf(document.activeElement as HTMLElement);
  choices[at < 0 ? 0 : (at + step + choices.length) % choices.length]?.focus();
  event.preventDefault();
}

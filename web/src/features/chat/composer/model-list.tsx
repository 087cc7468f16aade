import { Combobox } from "@base-ui/react/combobox";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Star } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { iconButtonClass } from "@/ui/button";
import { Input } from "@/ui/field";
import { toastError } from "@/ui/toast";
import { groupModels } from "./group-models";
import { ModelFactsLine } from "./model-facts-line";
import { type Model, modelsQuery } from "../queries";
import { setFavorite } from "./model-choice";

interface ModelListProps {
  /** Id of the marked model. */
  chosen: string | undefined;
  onChoose: (id: string) => void;
}

/** List of all models with a search field, by provider, favorites first. */
export function ModelList({ chosen, onChoose }: ModelListProps) {
  const client = useQueryClient();
  const { data } = useQuery(modelsQuery);
  const [typed, setTyped] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const isListed = data !== undefined;
  useEffect(() => {
    // Focus the search field only on devices with a hardware keyboard; an on-screen one would cover the list.
    if (isListed && matchMedia("(hover: hover)").matches) field.current?.focus({ preventScroll: true });
  }, [isListed]);
  if (!data) return null;
  const groups = groupModels(data.models, data.favourites, typed);

  async function star(id: string, isFavorite: boolean): Promise<void> {
    try {
      await setFavorite(id, isFavorite);
      await client.invalidateQueries({ queryKey: modelsQuery.queryKey });
    } catch (error) {
      toastError(error);
    }
  }

  return (
    // A grid: up and down lead from model to model, left and right to its star and back.
    <Combobox.Root
      inline
      open
      grid
      autoHighlight
      filter={null}
      value={chosen ?? null}
      inputValue={typed}
      onInputValueChange={(value, { reason }) => {
        if (reason === "input-change" || reason === "input-clear") setTyped(value);
      }}
    >
      <div className="px-1 pb-1">
        <Combobox.Input
          ref={field}
          render={<Input type="search" maxLength={200} />}
          aria-label={t("models.search")}
          placeholder={t("models.search")}
        />
      </div>
      <Combobox.List aria-label={t("models.choose")}>
        {groups.map(({ name, models }) => (
          <Combobox.Group key={name}>
            <Combobox.GroupLabel className="px-2.5 pt-2 pb-1 text-xs text-ink-2">{name}</Combobox.GroupLabel>
            {models.map((one) => (
              <ModelRow
                key={one.id}
                model={one}
                isChosen={one.id === chosen}
                isFavorite={data.favourites.includes(one.id)}
                onChoose={() => onChoose(one.id)}
                onStar={(is) => void star(one.id, is)}
              />
            ))}
          </Combobox.Group>
        ))}
      </Combobox.List>
      {groups.length === 0 && (
        <p role="status" className="px-2.5 py-3 text-sm text-ink-2">
          {t("models.search.none")}
        </p>
      )}
    </Combobox.Root>
  );
}

interface ModelRowProps {
  model: Model;
  isChosen: boolean;
  isFavorite: boolean;
  onChoose: () => void;
  onStar: (is: boolean) => void;
}

function ModelRow({ model, isChosen, isFavorite, onChoose, onStar }: ModelRowProps) {
  return (
    <Combobox.Row className="flex items-center gap-1">
      <Combobox.Item
        value={model.id}
        disabled={!model.available}
        title={model.reason ?? model.id}
        onClick={onChoose}
        className="flex min-h-9 min-w-0 flex-1 cursor-default items-center gap-2 rounded-[9px] px-2.5 py-1.5 text-md data-disabled:text-ink-3 data-highlighted:bg-sunken touch:min-h-11"
      >
        <span className="min-w-0 flex-1 wrap-anywhere">
          <span className="block">{model.name}</span> {model.facts && <ModelFactsLine facts={model.facts} />}
        </span>
        {isChosen && <Check aria-hidden="true" className="size-4 shrink-0 text-accent" />}
      </Combobox.Item>
      <Combobox.Item
        value={`star ${model.id}`}
        aria-label={t(isFavorite ? "models.unstar" : "models.star", { name: model.name })}
        title={t(isFavorite ? "models.unstar" : "models.star", { name: model.name })}
        onClick={() => onStar(!isFavorite)}
        className={`${iconButtonClass({ size: "sm" })} data-highlighted:bg-sunken data-highlighted:text-ink`}
      >
        <Star aria-hidden="true" fill={isFavorite ? "currentColor" : "none"} />
      </Combobox.Item>
    </Combobox.Row>
  );
}

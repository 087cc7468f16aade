import { t } from "@/lib/later-texts";
import type { Model } from "../queries";

interface ModelGroup {
  readonly name: string;
  readonly models: readonly Model[];
}

/** Returns the models whose names contain every word of the search: favorites first, then by provider. */
export function groupModels(
  models: readonly Model[],
  favourites: readonly string[],
  search: string,
): ModelGroup[] {
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
  const fitting = models.filter(({ id, name, providerName }) => {
    const text = `${id} ${name} ${providerName ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const favorites = fitting.filter(({ id }) => favourites.includes(id));
  const groups = new Map<string, Model[]>(favorites.length > 0 ? [[t("models.favourites"), favorites]] : []);
  for (const model of fitting) {
    if (favorites.includes(model)) continue;
    const name = model.builtIn ? t("models.builtIn") : (model.providerName ?? model.provider);
    groups.set(name, [...(groups.get(name) ?? []), model]);
  }
  return [...groups].map(([name, members]) => ({ name, models: members }));
}

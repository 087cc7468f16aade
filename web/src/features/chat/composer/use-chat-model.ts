import { useQuery } from "@tanstack/react-query";
import { activeModel, chatModelQuery, type Model, modelsQuery } from "../api/models";

/** The model that answers in a chat, as soon as it is known. */
export function useChatModel(chatId: string): { loaded: boolean; model: Model | undefined } {
  const { data: list } = useQuery(modelsQuery);
  const { data: chosen, error } = useQuery(chatModelQuery(chatId));
  // Without the choice, the default is the best guess.
  const loaded = list !== undefined && (chosen !== undefined || error !== null);
  return { loaded, model: loaded ? activeModel(list, chosen) : undefined };
}

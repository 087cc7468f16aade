import { useQuery } from "@tanstack/react-query";
import { activeModel, chatModelQuery, type Model, modelsQuery } from "../queries";

/** Returns the answering model of a chat once it is loaded. */
export function useChatModel(chatId: string): { loaded: boolean; model: Model | undefined } {
  const { data: list } = useQuery(modelsQuery);
  const { data: chosen, error } = useQuery(chatModelQuery(chatId));
  // If the choice cannot be loaded, the default is the best guess.
  const loaded = list !== undefined && (chosen !== undefined || error !== null);
  return { loaded, model: loaded ? activeModel(list, chosen) : undefined };
}

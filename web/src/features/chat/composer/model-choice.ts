import type { QueryClient } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import { toastError } from "@/ui/toast";
import { chatModelQuery, chatPath } from "../queries";

/** Lets a model answer in a chat; an error is shown. */
export async function chooseModel(queries: QueryClient, chatId: string, model: string): Promise<void> {
  try {
    await callApi(chatPath(chatId, "model"), { ...jsonBody({ model }), method: "PUT" });
    await queries.invalidateQueries({ queryKey: chatModelQuery(chatId).queryKey });
  } catch (error) {
    toastError(error);
  }
}

/** Adds a model to the favorites, or removes it. */
export async function setFavorite(model: string, favourite: boolean): Promise<void> {
  await callApi("/api/models/favourites", { ...jsonBody({ model, favourite }), method: "PUT" });
}

import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

interface ForkList {
  readonly forks: readonly { readonly messageId: string; readonly branches: readonly string[] }[];
}

/** Branches of a chat: for each message with alternatives, the ids of all alternatives. */
export const branchesQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["branches", chatId],
    queryFn: async () => {
      const { forks } = await callApi<ForkList>(pathOf(chatId));
      return new Map(forks.map(({ messageId, branches }) => [messageId, branches]));
    },
    staleTime: 60_000,
  });

/**
 * Activates the branch that contains a message; returns true if that changed anything.
 * @throws {ApiError} while an answer is being written
 */
export async function switchBranch(chatId: string, messageId: string): Promise<boolean> {
  return (await callApi<{ switched: boolean }>(pathOf(chatId), jsonBody({ messageId }))).switched;
}

function pathOf(chatId: string): string {
  return `/api/sessions/${encodeURIComponent(chatId)}/branches`;
}

import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

interface Forks {
  readonly forks: readonly { readonly messageId: string; readonly branches: readonly string[] }[];
}

/** Where a chat has other branches beside the present one: for each such message, all that could stand in its place. */
export const branchesQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["branches", chatId],
    queryFn: async () => {
      const { forks } = await callApi<Forks>(pathOf(chatId));
      return new Map(forks.map(({ messageId, branches }) => [messageId, branches]));
    },
    staleTime: 60_000,
  });

/** Makes the branch through a message the present one; whether that changed anything.
 * @throws {ApiError} while an answer is being written */
export async function switchBranch(chatId: string, messageId: string): Promise<boolean> {
  return (await callApi<{ switched: boolean }>(pathOf(chatId), jsonBody({ messageId }))).switched;
}

function pathOf(chatId: string): string {
  return `/api/sessions/${encodeURIComponent(chatId)}/branches`;
}

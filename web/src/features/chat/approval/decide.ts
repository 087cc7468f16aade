import { callApi, jsonBody } from "@/lib/api-client";
import { stringifyJson } from "@/lib/json";

/** Answer to an approval request. */
export type Decision = "once" | "always" | "deny";

/**
 * Answers an approval request; `args` replace the model's arguments. The first answer counts, in any tab.
 * @throws {ApiError} if the arguments are refused or the turn has ended
 */
export async function decide(
  chatId: string,
  approvalId: string,
  decision: Decision,
  args: unknown,
): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(chatId)}/approvals/${encodeURIComponent(approvalId)}`;
  await callApi(path, jsonBody({ decision, ...(args !== undefined && { arguments: args }) }, stringifyJson));
}

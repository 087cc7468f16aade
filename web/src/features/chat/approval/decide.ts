import { callApi, jsonBody } from "@/lib/api-client";
import { stringifyJson } from "@/lib/json";

/** What a person can say to a call that waits. */
export type Decision = "once" | "always" | "deny";

/** Decides about a call; `args` stand in the place of the model's. The first decision holds, wherever it was made.
 * @throws {ApiError} when the arguments are refused, or the answer has ended */
export async function decide(
  chatId: string,
  approvalId: string,
  decision: Decision,
  args: unknown,
): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(chatId)}/approvals/${encodeURIComponent(approvalId)}`;
  await callApi(path, jsonBody({ decision, ...(args !== undefined && { arguments: args }) }, stringifyJson));
}

import { queryOptions } from "@tanstack/react-query";
import { errorOf, unreachableError } from "@/lib/api-error";

/** Outcome of a tool call. */
type Outcome = "done" | "error" | "unknown" | "stopped" | "denied";

/** Tool call with its arguments and its result. */
export interface WholeCall {
  readonly name: string;
  readonly serverName: string;
  readonly arguments: unknown;
  readonly result?: unknown;
  readonly error?: string;
  readonly outcome: Outcome;
}

/** File that can be read through the share. */
interface SharedFile {
  readonly type: "file";
  readonly id: string;
  readonly mediaType: string;
  readonly filename?: string;
  readonly size: number;
}

export type SharedPart =
  | SharedFile
  | { readonly type: "hidden-file"; readonly mediaType: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool-call"; readonly name: string; readonly outcome: Outcome }
  | { readonly type: "whole-tool-call"; readonly call: WholeCall };

export interface SharedMessage {
  readonly role: "user" | "assistant";
  readonly createdAt: string;
  readonly parts: readonly SharedPart[];
}

/** Chat at the time when it was shared. */
export interface Snapshot {
  readonly title: string;
  readonly sharedAt: string;
  readonly messages: readonly SharedMessage[];
}

/** Returns the query for a shared chat; null if the link is no longer valid. It needs no session. */
export function snapshotQuery(token: string) {
  return queryOptions({
    queryKey: ["shared", token],
    queryFn: async (): Promise<Snapshot | null> => {
      const response = await fetch(`/api/shared/${encodeURIComponent(token)}`).catch(() => {
        throw unreachableError();
      });
      if (response.status === 404) return null;
      if (!response.ok) throw await errorOf(response);
      return (await response.json()) as Snapshot;
    },
  });
}

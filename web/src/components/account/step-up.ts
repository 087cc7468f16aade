import type { AuthError } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";
import { ApiError } from "@/lib/api-error";

/** Error code of a change that needs a more recent proof of identity. */
const proofNeeded = "reauthentication_needed";

/** Open request for a proof of identity. */
export interface ProofRequest {
  answer: Promise<boolean>;
  settle: (isProven: boolean) => void;
}

let open: ProofRequest | undefined;
const listeners = new Set<() => void>();

function setOpen(request: ProofRequest | undefined): void {
  open = request;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the open request. */
export function useProofRequest(): ProofRequest | undefined {
  return useSyncExternalStore(subscribe, () => open);
}

/** Asks the user for a proof. Concurrent calls share one dialog and its result. */
function requestProof(): Promise<boolean> {
  if (open !== undefined) return open.answer;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  setOpen({
    answer: promise,
    settle: (isProven) => {
      setOpen(undefined);
      resolve(isProven);
    },
  });
  return promise;
}

/** Calls the auth client, and once more after a proof of identity if the server demands one. */
export async function withProof<Result extends { error: AuthError | null }>(
  call: () => Promise<Result>,
): Promise<Result> {
  const result = await call();
  if (result.error?.code !== proofNeeded || !(await requestProof())) return result;
  return call();
}

/** Calls an API that throws, and once more after a proof of identity if the server demands one. */
export async function withApiProof<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const isNeeded = error instanceof ApiError && error.code === proofNeeded;
    if (!isNeeded || !(await requestProof())) throw error;
  }
  return call();
}

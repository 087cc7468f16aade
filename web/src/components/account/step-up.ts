import type { AuthError } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";
import { callApi, jsonBody } from "@/lib/api-client";
import { ApiError } from "@/lib/api-error";

/** The error code of a change for which the last proof of identity is too old. */
const proofNeeded = "reauthentication_needed";

/** A way to prove who one is, as the server names it. */
export type ProofMethod = "password" | "totp" | "email";

interface ProofOptions {
  /** The ways that the account has, the easiest first. */
  methods: ProofMethod[];
  /** Whether the account has a password at all. */
  hasPassword: boolean;
}

/** How the user can prove who they are. */
export function proofOptionsQuery(userId: string) {
  return {
    queryKey: ["proof-options", userId],
    queryFn: () => callApi<ProofOptions>("/api/account/reauthentication"),
    staleTime: 0,
  };
}

/** Proves who the user is, by their password or by a code that was mailed.
 * @throws {ApiError} when it is not right */
export async function prove(proof: { password: string } | { nonce: string }): Promise<void> {
  await callApi("/api/account/reauthentication", jsonBody(proof));
}

/** An open question for a proof. */
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

/** The question that is open now. */
export function useProofRequest(): ProofRequest | undefined {
  return useSyncExternalStore(subscribe, () => open);
}

/** Asks the user for a proof. Whoever asks while the question is open gets the same answer. */
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

/** Makes a call of the auth client, and once more after the user has proved who they are, if it needs that. */
export async function withProof<Result extends { error: AuthError | null }>(
  call: () => Promise<Result>,
): Promise<Result> {
  const result = await call();
  if (result.error?.code !== proofNeeded || !(await requestProof())) return result;
  return call();
}

/** The same for a call of our API, which throws. */
export async function withApiProof<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const isNeeded = error instanceof ApiError && error.code === proofNeeded;
    if (!isNeeded || !(await requestProof())) throw error;
  }
  return call();
}

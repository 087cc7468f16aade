import type { AuthError, Factor } from "@supabase/auth-js";
import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth } from "@/lib/session";

/** API key of a user. */
export interface ApiKey {
  id: string;
  name: string;
  /** Last characters of the key. */
  hint: string;
  scopes: readonly ("chat" | "tools")[];
  createdAt: string;
  /** Rounded to minutes; null if the key was never used. */
  lastUsedAt: string | null;
  /** Null if the key does not expire. */
  expiresAt: string | null;
}

/** Returns the query for the user's API keys, newest first. */
export function apiKeysQuery(userId: string) {
  return queryOptions({
    queryKey: ["api-keys", userId],
    queryFn: async () => (await callApi<{ keys: ApiKey[] }>("/api/keys")).keys,
    staleTime: 0,
  });
}

/** Returns true if a key has expired. */
export function isExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now();
}

/** Creates a key. Its secret is returned only here. */
export async function makeApiKey(
  name: string,
  tools: boolean,
  expiresInDays: number | null,
): Promise<string> {
  const scopes = tools ? ["chat", "tools"] : ["chat"];
  const key = jsonBody({ name, scopes, expiresInDays });
  return (await callApi<{ secret: string }>("/api/keys", key)).secret;
}

/** Revokes all keys of the user. */
export async function endAllApiKeys(): Promise<void> {
  await callApi("/api/keys", { method: "DELETE" });
}

/** Revokes a key. */
export async function endApiKey(id: string): Promise<void> {
  await callApi(`/api/keys/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Proof of identity, as the server names it. */
export type ProofMethod = "password" | "totp" | "webauthn" | "email";

interface ProofOptions {
  /** Methods of the account, the easiest first. */
  methods: ProofMethod[];
  /** True if the account has a password. */
  hasPassword: boolean;
}

/** Returns the query for the account's proofs of identity. */
export function proofOptionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["proof-options", userId],
    queryFn: () => callApi<ProofOptions>("/api/account/reauthentication"),
    staleTime: 0,
  });
}

/**
 * Proves the user's identity by their password or an emailed code.
 * @throws {ApiError} if it is wrong
 */
export async function prove(proof: { password: string } | { nonce: string }): Promise<void> {
  await callApi("/api/account/reauthentication", jsonBody(proof));
}

/** Shared chat of the user. */
export interface Share {
  id: string;
  title: string;
  /** Number of messages. */
  messages: number;
  /** True if arguments and results of tools are included. */
  tools: boolean;
  createdAt: string;
}

/** Returns the query for the user's shares, the newest first. */
export function sharesQuery(userId: string) {
  return queryOptions({
    queryKey: ["shares", userId],
    queryFn: async () => (await callApi<{ shares: Share[] }>("/api/shares")).shares,
    staleTime: 0,
  });
}

export async function endShare(id: string): Promise<void> {
  await callApi(`/api/shares/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Revokes all shares of the user. */
export async function endAllShares(): Promise<void> {
  await callApi("/api/shares", { method: "DELETE" });
}

/** Returns the query for the user's verified authenticator apps and security keys, oldest first. */
export function factorsQuery(userId: string) {
  return queryOptions({
    queryKey: ["factors", userId],
    queryFn: async (): Promise<Factor[]> => {
      const { data, error } = await auth.mfa.listFactors();
      if (error !== null) throw error;
      return data.all.filter((factor) => factor.status === "verified");
    },
  });
}

/** Returns the query for the number of the user's unused recovery codes; null if there are no codes. */
export function recoveryCodesQuery(userId: string) {
  return queryOptions({
    queryKey: ["recovery-codes", userId],
    queryFn: async (): Promise<number | null> => {
      const { data, error } = await auth.mfa.recoveryCodes.getStatus();
      if (error?.code === "mfa_factor_not_found") return null;
      if (error !== null) throw error;
      return data.remaining;
    },
    staleTime: 0,
  });
}

/** Returns true if a factor is a security key, and false if it is an authenticator app. */
export function isSecurityKey({ factor_type: type }: Pick<Factor, "factor_type">): boolean {
  return type === "webauthn";
}

/** Returns the name of a factor, which may have none. */
export function factorName(factor: Pick<Factor, "factor_type" | "friendly_name">): string {
  return factor.friendly_name || t(isSecurityKey(factor) ? "account.securityKey" : "account.totp.unnamed");
}

/** Returns the message for a rejected code. */
export function codeErrorWords(error: AuthError): string {
  if (error.code === "mfa_verification_failed") return t("account.code.wrong");
  if (error.code === "mfa_challenge_expired") return t("account.code.late");
  return authErrorMessage(error);
}

/** Returns the message for a rejected recovery code. */
export function recoveryCodeErrorWords(error: AuthError): string {
  return error.code === "mfa_verification_failed" ? t("account.recoveryCode.wrong") : authErrorMessage(error);
}

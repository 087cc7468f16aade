import { queryOptions } from "@tanstack/react-query";
import { errorOf, unreachableError } from "@/lib/api-error";
import type { Usage } from "@/lib/usage";
import { currentToken, refuseToken } from "./token";

type Method = "GET" | "POST" | "PUT" | "DELETE";

/**
 * Calls the operator's API with the token of this tab. A refused token is forgotten, which leads back to the sign-in.
 * @throws {ApiError} if the server refuses the call or cannot be reached
 */
export async function callOperator<Result = void>(
  path: string,
  method: Method = "GET",
  body?: object,
): Promise<Result> {
  const token = currentToken() ?? "";
  try {
    return await request<Result>(token, path, method, body);
  } catch (error) {
    if (isUnauthorized(error)) refuseToken(token);
    throw error;
  }
}

/** Returns true if the server accepts a token. */
export async function checkToken(token: string): Promise<boolean> {
  try {
    await request(token, "/server", "GET");
    return true;
  } catch (error) {
    if (isUnauthorized(error)) return false;
    throw error;
  }
}

async function request<Result>(token: string, path: string, method: Method, body?: object): Promise<Result> {
  let response: Response;
  try {
    response = await fetch(`/admin/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch {
    throw unreachableError();
  }
  if (!response.ok) throw await errorOf(response);
  return (response.status === 204 ? undefined : await response.json()) as Result;
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 401;
}

export type AccountState = "active" | "anonymous" | "deleted" | "invited" | "locked" | "unconfirmed";

/** Account in the list. */
export interface UserSummary {
  id: string;
  email: string | null;
  state: AccountState;
  createdAt: string;
  lastSignInAt: string | null;
  lockedUntil: string | null;
}

export interface Credential {
  id: string;
  /** Authenticator app, security key or passkey. */
  kind: "totp" | "webauthn" | "passkey";
  name: string;
  createdAt: string;
  isVerified: boolean;
}

export interface UserDetails extends UserSummary {
  emailConfirmedAt: string | null;
  invitedAt: string | null;
  hasPassword: boolean;
  /** Issuers of the identity providers. */
  providers: string[];
  factors: Credential[];
  passkeys: Credential[];
  devices: { userAgent: string | null; usedAt: string }[];
  storedBytes: number;
}

/** Quota of a user; amounts are tokens, turns, US dollars or MiB. */
export interface UserQuota {
  kind: string;
  /** Limit of the settings; null for none. */
  setting: number | null;
  /** Exception for the user; its limit is null for none. */
  exception: { limit: number | null } | null;
  /** Null if it isn't counted. */
  used: number | null;
}

export interface UsageReport {
  from: string;
  to: string;
  users: (Usage & { id: string; email: string | null })[];
  models: (Usage & { model: string; users: number })[];
}

export interface AuditEvent {
  id: string;
  createdAt: string;
  kind: string;
  actor: string;
  user: string | null;
  email: string | null;
  clientAddress: string | null;
  userAgent: string | null;
}

export interface SharedServer {
  id: string;
  name: string;
  description: string;
  url: string;
  hasHeaders: boolean;
  domains: string[];
  groups: string[];
}

export interface RegistrationToken {
  id: string;
  note: string;
  /** Null for addresses of any domain. */
  domain: string | null;
  uses: number;
  maxUses: number;
  state: "valid" | "used-up" | "expired" | "revoked";
  createdAt: string;
  expiresAt: string;
}

export interface ServerInfo {
  version: string;
  siteUrl: string;
  database: string;
  signUps: {
    mode: "open" | "invite" | "closed";
    domains: string[];
    autoconfirm: boolean;
    anonymous: boolean;
    hasMail: boolean;
    hasPasskeys: boolean;
    provider: string | null;
    providerOnly: boolean;
  };
}

export interface Finding {
  name: string;
  verdict: "pass" | "warn" | "fail";
  message: string;
  advice: string | null;
}

export interface Diagnostics {
  healthy: boolean;
  findings: Finding[];
}

export interface BackupStatus {
  folder: string;
  time: string;
  keep: number;
  backups: { name: string; bytes: number; createdAt: string }[];
}

/** Number of users on a page. */
export const USERS_PER_PAGE = 50;

export function usersQuery(search: string, page: number) {
  const query = new URLSearchParams({ search, offset: String(page * USERS_PER_PAGE) });
  return queryOptions({
    queryKey: ["users", search, page],
    queryFn: () => callOperator<{ users: UserSummary[]; total: number }>(`/users?${query}`),
  });
}

export function userPath(id: string): string {
  return `/users/${encodeURIComponent(id)}`;
}

export function userQuery(id: string) {
  return queryOptions({ queryKey: ["user", id], queryFn: () => callOperator<UserDetails>(userPath(id)) });
}

export function quotasQuery(id: string) {
  return queryOptions({
    queryKey: ["quotas", id],
    queryFn: async () => (await callOperator<{ quotas: UserQuota[] }>(`${userPath(id)}/quotas`)).quotas,
  });
}

export type UsagePeriod = "day" | "month";

export function usageQuery(period: UsagePeriod, date: string) {
  return queryOptions({
    queryKey: ["usage", period, date],
    queryFn: () => callOperator<UsageReport>(`/usage?${new URLSearchParams({ period, date })}`),
  });
}

export interface AuditPage {
  events: AuditEvent[];
  hasMore: boolean;
}

export function loadAuditEvents(user: string, kind: string, before: string): Promise<AuditPage> {
  return callOperator<AuditPage>(`/audit-events?${new URLSearchParams({ user, kind, before })}`);
}

export const sharedServersQuery = queryOptions({
  queryKey: ["shared-servers"],
  queryFn: async () => (await callOperator<{ servers: SharedServer[] }>("/shared-servers")).servers,
});

export const registrationTokensQuery = queryOptions({
  queryKey: ["registration-tokens"],
  queryFn: async () => (await callOperator<{ tokens: RegistrationToken[] }>("/registration-tokens")).tokens,
});

export const serverQuery = queryOptions({
  queryKey: ["server"],
  queryFn: () => callOperator<ServerInfo>("/server"),
});

export const backupsQuery = queryOptions({
  queryKey: ["backups"],
  queryFn: async () => (await callOperator<{ schedule: BackupStatus | null }>("/backups")).schedule,
});

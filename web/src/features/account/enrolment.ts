import type { AuthError } from "@supabase/auth-js";
import { withProof } from "@/components/account/step-up";
import { answerWithSecurityKey } from "@/lib/security-keys";
import { auth } from "@/lib/session";
import { t } from "@/lib/t";
import type { CeremonyResult } from "@/lib/webauthn";

/** Authenticator during its setup. */
export interface Enrolment {
  id: string;
  /** QR code as a URL for `img`. */
  picture: string;
  /** Secret for manual entry. */
  secret: string;
}

/** Starts to set up an authenticator, after deleting unfinished setups. */
export async function beginEnrolment(
  name: string,
): Promise<{ data: Enrolment; error: null } | { data: null; error: AuthError }> {
  const failed = await deleteUnfinished();
  if (failed !== null) return { data: null, error: failed };
  const { data, error } = await withProof(() =>
    auth.mfa.enroll({ factorType: "totp", friendlyName: name, issuer: t("app.title") }),
  );
  if (error !== null) return { data: null, error };
  return {
    data: { id: data.id, picture: pictureOf(data.totp.qr_code), secret: data.totp.secret },
    error: null,
  };
}

/**
 * Adds a security key, after deleting unfinished setups.
 * @throws {DOMException} named `InvalidStateError` if the key was added before
 */
export async function addSecurityKey(name: string): Promise<CeremonyResult> {
  const failed = await deleteUnfinished();
  if (failed !== null) return { error: failed, isDone: false };
  const { data, error } = await withProof(() =>
    auth.mfa.enroll({ factorType: "webauthn", friendlyName: name }),
  );
  if (error !== null) return { error, isDone: false };
  return withProof(() => answerWithSecurityKey(data.id));
}

async function deleteUnfinished(): Promise<AuthError | null> {
  const { data, error } = await auth.mfa.listFactors();
  if (error !== null) return error;
  for (const factor of data.all)
    if (factor.status === "unverified") await auth.mfa.unenroll({ factorId: factor.id });
  return null;
}

/** Escapes the QR code's data URL: the client leaves a `#` in it, which would end the URL. */
export function pictureOf(address: string): string {
  const comma = address.indexOf(",");
  return `data:image/svg+xml,${encodeURIComponent(address.slice(comma + 1))}`;
}

/** Groups a secret by four characters, which are easier to type. */
export function inGroups(secret: string): string {
  return secret.replaceAll(/(.{4})(?=.)/gu, "$1 ");
}

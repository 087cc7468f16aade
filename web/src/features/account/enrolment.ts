import type { AuthError } from "@supabase/auth-js";
import { withProof } from "@/components/account/step-up";
import { auth } from "@/lib/session";
import { t } from "@/lib/t";

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
  const known = await auth.mfa.listFactors();
  if (known.error !== null) return { data: null, error: known.error };
  for (const factor of known.data.all)
    if (factor.status === "unverified") await auth.mfa.unenroll({ factorId: factor.id });
  const { data, error } = await withProof(() =>
    auth.mfa.enroll({ factorType: "totp", friendlyName: name, issuer: t("app.title") }),
  );
  if (error !== null) return { data: null, error };
  return {
    data: { id: data.id, picture: pictureOf(data.totp.qr_code), secret: data.totp.secret },
    error: null,
  };
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

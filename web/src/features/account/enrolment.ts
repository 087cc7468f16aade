import type { AuthError } from "@supabase/auth-js";
import { withProof } from "@/components/account/step-up";
import { auth } from "@/lib/session";
import { t } from "@/lib/t";

/** An authenticator that is being set up. */
export interface Enrolment {
  id: string;
  /** The picture to scan, as an address for `img`. */
  picture: string;
  /** The same as text, for who cannot scan it. */
  secret: string;
}

/** Begins to set up an authenticator. What was begun before and never finished makes room. */
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

/** The client puts the picture into an address as it is; a `#` in it would end the address. */
export function pictureOf(address: string): string {
  const comma = address.indexOf(",");
  return `data:image/svg+xml,${encodeURIComponent(address.slice(comma + 1))}`;
}

/** A secret in groups of four, which are easier to copy by hand. */
export function inGroups(secret: string): string {
  return secret.replaceAll(/(.{4})(?=.)/gu, "$1 ");
}

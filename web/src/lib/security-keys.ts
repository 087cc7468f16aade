import type { MFAVerifyWebauthnParams } from "@supabase/auth-js";
import { auth } from "./session";
import { cancelled, type CeremonyResult, orCancelled } from "./webauthn";

/** The site that security keys answer for. The server rejects any other. */
const site = { rpId: location.hostname, rpOrigins: [location.origin] };

/**
 * Has a security key answer a challenge of a factor: an unverified one gets the credential of the key, for a verified one
 * any key of the user signs. The session is raised to the second factor then.
 * @throws {DOMException} named `InvalidStateError` if the key is a factor of this user already
 */
export async function answerWithSecurityKey(factorId: string): Promise<CeremonyResult> {
  const { data, error } = await auth.mfa.challenge({ factorId, webauthn: site });
  if (error !== null) return { error, isDone: false };
  const { type, credential_options: options } = data.webauthn;
  const credential = await orCancelled(askKey(type, options.publicKey));
  if (credential === null) return cancelled;
  const webauthn = { ...site, type, credential_response: (credential as PublicKeyCredential).toJSON() };
  const verified = await auth.mfa.verify({
    factorId,
    challengeId: data.id,
    webauthn: webauthn as unknown as MFAVerifyWebauthnParams["webauthn"],
  });
  return { error: verified.error, isDone: verified.error === null };
}

/** Shows the browser's dialog. The build leaves out the client's conversions, so that options and answers are JSON. */
function askKey(type: "create" | "request", options: unknown): Promise<Credential | null> {
  return type === "create"
    ? navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
          options as PublicKeyCredentialCreationOptionsJSON,
        ),
      })
    : navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
          options as PublicKeyCredentialRequestOptionsJSON,
        ),
      });
}

/** Has any security key of the user answer. */
export async function answerWithAnySecurityKey(): Promise<CeremonyResult> {
  const { data, error } = await auth.mfa.listFactors();
  const factor = data?.webauthn[0];
  return factor === undefined ? { error, isDone: false } : answerWithSecurityKey(factor.id);
}

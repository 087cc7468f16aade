import type { AuthError } from "@supabase/auth-js";
import { auth } from "./session";
import { cancelled, type CeremonyResult, orCancelled } from "./webauthn";

type SerializedCredential = Parameters<typeof auth.passkey.verifyAuthentication>[0]["credential"];

/** Signs in with a passkey that the user picks in the browser's dialog. */
export async function signInWithPasskey(): Promise<CeremonyResult> {
  const { data, error } = await auth.passkey.startAuthentication();
  if (error !== null) return { error, isDone: false };
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    data.options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const credential = await orCancelled(navigator.credentials.get({ publicKey }));
  if (credential === null) return cancelled;
  const verified = await auth.passkey.verifyAuthentication({
    challengeId: data.challenge_id,
    credential: toJson(credential),
  });
  return { error: serverError(verified.error), isDone: verified.error === null };
}

/**
 * Creates a passkey of the signed-in user.
 * @throws {DOMException} named `InvalidStateError` if the device has one for this user
 */
export async function createPasskey(name: string): Promise<CeremonyResult> {
  const { data, error } = await auth.passkey.startRegistration();
  if (error !== null) return { error, isDone: false };
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    data.options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const credential = await orCancelled(navigator.credentials.create({ publicKey }));
  if (credential === null) return cancelled;
  const created = await auth.passkey.verifyRegistration({
    challengeId: data.challenge_id,
    credential: toJson(credential),
  });
  if (created.error !== null) return { error: serverError(created.error), isDone: false };
  // The passkey exists; without a name of its own it is called "Passkey".
  await auth.passkey.update({ passkeyId: created.data.id, friendlyName: name });
  return { error: null, isDone: true };
}

/** The calls above report errors of the server alone; those of the browser come from `navigator.credentials`. */
function serverError(error: Error | null): AuthError | null {
  return error as AuthError | null;
}

function toJson(credential: Credential): SerializedCredential {
  // The client's types have the same fields with the options of a call in place of those of JSON.
  return (credential as PublicKeyCredential).toJSON() as unknown as SerializedCredential;
}

import type { AuthError } from "@supabase/auth-js";
import { auth } from "./session";

/** Result of a ceremony: without an error also if the user closed the browser's dialog, which is no fault. */
export interface PasskeyResult {
  error: AuthError | null;
  /** True if the ceremony was completed. */
  isDone: boolean;
}

type SerializedCredential = Parameters<typeof auth.passkey.verifyAuthentication>[0]["credential"];

const cancelled: PasskeyResult = { error: null, isDone: false };

/** Signs in with a passkey that the user picks in the browser's dialog. */
export async function signInWithPasskey(): Promise<PasskeyResult> {
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
export async function createPasskey(name: string): Promise<PasskeyResult> {
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

/** Returns the credential, or null if the user closed the dialog or did not answer it in time. */
async function orCancelled(dialog: Promise<Credential | null>): Promise<Credential | null> {
  try {
    return await dialog;
  } catch (error) {
    // Browsers give no other reason, so that a page cannot tell which passkeys somebody has.
    if (error instanceof DOMException && error.name === "NotAllowedError") return null;
    throw error;
  }
}

/** The calls above report errors of the server alone; those of the browser come from `navigator.credentials`. */
function serverError(error: Error | null): AuthError | null {
  return error as AuthError | null;
}

function toJson(credential: Credential): SerializedCredential {
  // The client's types have the same fields with the options of a call in place of those of JSON.
  return (credential as PublicKeyCredential).toJSON() as unknown as SerializedCredential;
}

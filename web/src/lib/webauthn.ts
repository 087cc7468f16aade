import type { AuthError } from "@supabase/auth-js";

/** Result of a ceremony: without an error also if the user closed the browser's dialog, which is no fault. */
export interface CeremonyResult {
  error: AuthError | null;
  /** True if the ceremony was completed. */
  isDone: boolean;
}

export const cancelled: CeremonyResult = { error: null, isDone: false };

/** Returns the credential, or null if the user closed the dialog or did not answer it in time. */
export async function orCancelled(dialog: Promise<Credential | null>): Promise<Credential | null> {
  try {
    return await dialog;
  } catch (error) {
    // Browsers give no other reason, so that a page cannot tell which credentials somebody has.
    if (error instanceof DOMException && error.name === "NotAllowedError") return null;
    throw error;
  }
}

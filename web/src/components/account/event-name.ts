import { t } from "@/lib/later-texts";

/** Kinds of events of the audit log that an account's user can see. */
export const eventKinds = [
  "account_created",
  "account_locked",
  "account_unlocked",
  "api_key_created",
  "api_key_deleted",
  "connection_changed",
  "connection_created",
  "connection_deleted",
  "email_changed",
  "factor_added",
  "factor_failed",
  "factor_removed",
  "google_drive_linked",
  "google_drive_unlinked",
  "identity_linked",
  "identity_unlinked",
  "model_provider_added",
  "model_provider_changed",
  "model_provider_removed",
  "passkey_added",
  "passkey_removed",
  "password_changed",
  "quota_changed",
  "recovery_code_used",
  "recovery_codes_created",
  "recovery_codes_removed",
  "server_signed_in",
  "server_signed_out",
  "session_revoked",
  "share_created",
  "share_deleted",
  "sign_in",
  "sign_in_failed",
  "sign_in_link_created",
  "sign_in_throttled",
  "sign_out",
  "tool_allowed",
  "tool_denied",
  "tool_permission_reset",
] as const;

/** Returns the text of a kind; one that a newer server knows alone is shown as it is. */
export function eventName(kind: string): string {
  const known = eventKinds.find((other) => other === kind);
  return known === undefined ? kind : t(`account.activity.${known}`);
}

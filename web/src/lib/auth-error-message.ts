import type { AuthError, AuthWeakPasswordError } from "@supabase/auth-js";
import { retryAfterSeconds } from "./session";
import { t } from "./t";

const MINUTES_FROM_SECONDS = 120;

/** Returns the message of an auth error: a text of the page for common ones, with the time to wait after too many calls. */
export function authErrorMessage(error: AuthError): string {
  const { message, status } = error;
  if (error.code === "reauthentication_needed") return t("auth.proofNeeded");
  if (isKnownCode(error.code)) return t(`auth.error.${error.code}`);
  if (isWeakPassword(error) && error.reasons.includes("pwned")) return t("auth.passwordCommon");
  // The client reports an unreachable server as status 0.
  if (status === 0) return t("error.unreachable");
  // Some messages of the server contain the time already.
  if (status !== 429 || retryAfterSeconds === 0 || /\d/u.test(message)) return message;
  const sentence = message.endsWith(".") ? message : `${message}.`;
  return `${sentence} ${waitWords(retryAfterSeconds)}`;
}

/** Codes that come with one message only. */
const KNOWN_CODES = [
  "user_already_exists",
  "email_exists",
  "same_password",
  "invalid_credentials",
  "user_banned",
  "signup_disabled",
  "email_address_not_authorized",
] as const;

function isKnownCode(code: string | undefined): code is (typeof KNOWN_CODES)[number] {
  return (KNOWN_CODES as readonly unknown[]).includes(code);
}

function isWeakPassword(error: AuthError): error is AuthWeakPasswordError {
  return "reasons" in error;
}

/** Formats a wait; long ones in minutes, rounded up. */
function waitWords(seconds: number): string {
  return seconds <= MINUTES_FROM_SECONDS
    ? t("chat.waitSeconds", { n: seconds })
    : t("auth.waitMinutes", { n: Math.ceil(seconds / 60) });
}

import { type AuthError, isAuthWeakPasswordError } from "@supabase/auth-js";
import { retryAfterSeconds } from "./session";
import { t } from "./t";

const MINUTES_FROM_SECONDS = 120;

/** What an answer of the auth service says, and after too many calls also how long to wait. */
export function authErrorMessage(error: AuthError): string {
  const { message, status } = error;
  if (error.code === "reauthentication_needed") return t("auth.proofNeeded");
  if (isAuthWeakPasswordError(error) && error.reasons.includes("pwned")) return t("auth.passwordCommon");
  // The client reports a server that it did not reach as the status 0.
  if (status === 0) return t("error.unreachable");
  // Some of the server's refusals name the time themselves.
  if (status !== 429 || retryAfterSeconds === 0 || /\d/u.test(message)) return message;
  const sentence = message.endsWith(".") ? message : `${message}.`;
  return `${sentence} ${waitWords(retryAfterSeconds)}`;
}

/** Long waits in minutes, rounded up: nobody counts five hundred seconds. */
function waitWords(seconds: number): string {
  return seconds <= MINUTES_FROM_SECONDS
    ? t("chat.waitSeconds", { n: seconds })
    : t("auth.waitMinutes", { n: Math.ceil(seconds / 60) });
}

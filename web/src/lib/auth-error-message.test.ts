import { AuthApiError, AuthRetryableFetchError } from "@supabase/auth-js";
import { expect, test, vi } from "vitest";
import { authErrorMessage } from "./auth-error-message";

const session = vi.hoisted(() => ({ retryAfterSeconds: 0 }));
vi.mock("./session", () => session);

function tooMany(message: string, retryAfterSeconds: number): string {
  session.retryAfterSeconds = retryAfterSeconds;
  return authErrorMessage(new AuthApiError(message, 429, "over_request_rate_limit"));
}

test("the server's words stand as they are", () => {
  session.retryAfterSeconds = 9;
  expect(authErrorMessage(new AuthApiError("Invalid login credentials", 400, "invalid_credentials"))).toBe(
    "Invalid login credentials",
  );
});

test("after too many calls the time to wait is said, unless the server says it", () => {
  expect(tooMany("Request rate limit reached", 9)).toBe("Request rate limit reached. Try again in 9 s.");
  expect(tooMany("Request rate limit reached", 301)).toBe(
    "Request rate limit reached. Try again in 6 minutes.",
  );
  expect(tooMany("You can only request this after 9 seconds.", 9)).toBe(
    "You can only request this after 9 seconds.",
  );
  expect(tooMany("Request rate limit reached", 0)).toBe("Request rate limit reached");
});

test("a server that is not reached is told in our words", () => {
  expect(authErrorMessage(new AuthRetryableFetchError("Failed to fetch", 0))).toBe(
    "Couldn't reach the server. Check your connection and try again.",
  );
});

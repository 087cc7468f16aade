import { beforeEach, expect, test } from "vitest";
import { boot } from "@/lib/boot";
import { providerRefusal } from "./provider-refusal";

beforeEach(() => {
  boot.provider = { name: "Example Corp", only: false, logout: false };
});

test.each([
  [null, "Example Corp did not confirm"],
  ["unexpected_failure", "couldn't be completed"],
  ["bad_oauth_callback", "couldn't be completed"],
  ["bad_oauth_state", "took too long"],
  ["email_exists", "already an account"],
  ["provider_email_needs_verification", "Example Corp has not confirmed your email address"],
  ["email_address_not_provided", "Example Corp doesn't tell"],
  ["email_provider_disabled", "Sign in with Example Corp"],
  ["signup_disabled", "no new accounts"],
  ["email_address_not_authorized", "this domain"],
  ["registration_token_invalid", "isn't valid"],
  ["registration_token_expired", "has expired"],
  ["registration_token_used_up", "as often as"],
])("%s says what happened", (code, words) => {
  expect(providerRefusal(code)).toContain(words);
});

test("other codes are those of links in emails", () => {
  expect(providerRefusal("otp_expired")).toBeUndefined();
  expect(providerRefusal("<b>")).toBeUndefined();
});

test("without a provider, no error is about it", () => {
  boot.provider = null;
  expect(providerRefusal(null)).toBeUndefined();
  expect(providerRefusal("unexpected_failure")).toBeUndefined();
});

import { expect, test, vi } from "vitest";

vi.mock("@/lib/session", () => ({ auth: {} }));
const { wordsFor } = await import("./mail-landing");

test("a link that has run out is told in our words, and only to who is signed in", () => {
  const link = new URLSearchParams(
    "error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid",
  );
  expect(wordsFor(link, undefined)).toBeUndefined();
  expect(wordsFor(link, "a@b.c")).toMatchObject({ title: "This link does not work any more", tone: "warn" });
});

test("any other fault is told in the server's words", () => {
  const link = new URLSearchParams(
    "error=server_error&error_code=unexpected_failure&error_description=It+broke",
  );
  expect(wordsFor(link, undefined)).toEqual({
    title: "Sign in failed",
    description: "It broke",
    tone: "err",
  });
});

test("what a link has done is said", () => {
  expect(wordsFor(new URLSearchParams("access_token=x&type=signup"), "a@b.c")?.title).toBe("Email confirmed");
  expect(wordsFor(new URLSearchParams("access_token=x&type=email_change"), "a@b.c")?.description).toBe(
    "You now sign in with a@b.c.",
  );
  expect(wordsFor(new URLSearchParams("message=One+down&sb="), "a@b.c")?.description).toBe("One down");
});

test("a new password has a screen of its own, and no link has nothing to say", () => {
  expect(wordsFor(new URLSearchParams("access_token=x&type=recovery"), "a@b.c")).toBeUndefined();
  expect(wordsFor(new URLSearchParams(), "a@b.c")).toBeUndefined();
});

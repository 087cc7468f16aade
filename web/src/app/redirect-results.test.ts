import { expect, test, vi } from "vitest";

vi.mock("@/lib/session", () => ({ auth: {} }));
const { readServiceRedirect, toastForIdentityLink, toastForSession } = await import("./redirect-results");
const { toastForRefusal } = await import("./refused-link");

test("an expired link is reported to a signed-in user only", () => {
  const link = new URLSearchParams(
    "error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid",
  );
  expect(toastForRefusal(link, undefined)).toBeUndefined();
  expect(toastForRefusal(link, "a@b.c")).toMatchObject({
    title: "This link no longer works",
    tone: "warn",
  });
});

test("no text of the address is shown", () => {
  const spoofed = "Call+0800+555";
  for (const query of [
    `error=server_error&error_code=unexpected_failure&error_description=${spoofed}`,
    `error=access_denied&error_code=user_banned&error_description=${spoofed}`,
    `error=${spoofed}&error_code=${spoofed}&error_description=${spoofed}`,
    `error=${spoofed}`,
    `message=${spoofed}&sb=`,
  ]) {
    const words = toastForRefusal(new URLSearchParams(query), "a@b.c");
    expect(words?.title).toBeTruthy();
    expect(words?.description).toBeTruthy();
    expect(JSON.stringify(words)).not.toContain("0800");
  }
});

test("the first half of a change of address asks for the second", () => {
  expect(toastForRefusal(new URLSearchParams("message=One+down&sb="), "a@b.c")?.title).toBe(
    "One more link to open",
  );
});

test("a taken session is reported by the kind of its link", () => {
  expect(toastForSession("signup", "a@b.c")?.title).toBe("Email confirmed");
  expect(toastForSession("email_change", "a@b.c")?.description).toBe("You now sign in with a@b.c.");
  expect(toastForSession("recovery", "a@b.c")).toBeUndefined();
});

test.each([
  ["google-drive", "linked", "ok"],
  ["sign-in", "connected", "ok"],
  ...["google-drive", "sign-in"].flatMap((service) => [
    [service, "denied", "warn"],
    [service, "expired", "err"],
    [service, "failed", "err"],
  ]),
])("%s=%s is told, and leaves the rest of the query", (service, name, tone) => {
  const redirect = readServiceRedirect(`?tab=servers&${service}=${name}&c=1`);
  expect(redirect?.search).toBe("?tab=servers&c=1");
  expect(redirect?.outcome?.tone).toBe(tone);
});

test("what is not known is removed without a word", () => {
  expect(readServiceRedirect("?google-drive=constructor")).toEqual({ outcome: undefined, search: "" });
});

test("any other query is left alone", () => {
  expect(readServiceRedirect("?tab=servers")).toBeUndefined();
  expect(readServiceRedirect("")).toBeUndefined();
});

test("a link of an identity is reported, and its refusal is not called a sign-in", () => {
  expect(toastForIdentityLink(undefined)).toMatchObject({ title: "Single sign-on linked", tone: "ok" });
  const refusal = toastForRefusal(new URLSearchParams("error=server_error&error_code=user_banned"), "a@b.c");
  expect(toastForIdentityLink(refusal)).toEqual({ ...refusal, title: "Single sign-on was not linked" });
});

import type { Session } from "@supabase/auth-js";
import { afterEach, expect, test, vi } from "vitest";
import { isPasswordDue, rememberPasswordDue } from "./sign-in-step";
import { claimsOf, stepOf } from "./sign-in-step";

afterEach(() => vi.unstubAllGlobals());

function tokenOf(claims: object): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `e30.${payload}.x`;
}

function session(claims: object, ...statuses: string[]): Session {
  const factors = statuses.map((status, id) => ({ id: String(id), status, factor_type: "totp" }));
  return { access_token: tokenOf(claims), user: { factors } } as unknown as Session;
}

function keepIn(storage: Map<string, string>): void {
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => storage.set(key, value),
    removeItem: (key: string) => storage.delete(key),
  });
}

test("a factor that has proved to work asks for its code until the token says that it was given", () => {
  expect(stepOf(session({ aal: "aal1" }))).toBe("signed-in");
  expect(stepOf(session({ aal: "aal1" }, "unverified"))).toBe("signed-in");
  expect(stepOf(session({ aal: "aal1" }, "unverified", "verified"))).toBe("needs-code");
  expect(stepOf(session({ aal: "aal2" }, "verified"))).toBe("signed-in");
});

test("a password is due in the sign-in that the link made, in no other, and after the code", () => {
  keepIn(new Map());
  rememberPasswordDue("a");
  expect(stepOf(session({ aal: "aal1", session_id: "a" }))).toBe("needs-password");
  expect(stepOf(session({ aal: "aal1", session_id: "b" }))).toBe("signed-in");
  expect(stepOf(session({ aal: "aal1", session_id: "a" }, "verified"))).toBe("needs-code");
  rememberPasswordDue(undefined);
  expect(stepOf(session({ session_id: "a" }))).toBe("signed-in");
});

test("without storage no password is due", () => {
  vi.stubGlobal("localStorage", undefined);
  rememberPasswordDue("a");
  expect(isPasswordDue("a")).toBe(false);
});

test("claims are read whatever letters are in them; what is no token has none", () => {
  expect(claimsOf(tokenOf({ session_id: "a", name: "Zoë ÿ?>" })).session_id).toBe("a");
  expect(claimsOf("nonsense")).toEqual({});
  expect(claimsOf("")).toEqual({});
});

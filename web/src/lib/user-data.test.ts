import { expect, test, vi } from "vitest";
import { endedSessions, endLifetime, forgetAfter } from "./user-data";

test("each lifetime has its own modules forget, until they take it back", () => {
  const [session, user] = [vi.fn(), vi.fn()];
  const takeBack = forgetAfter("session", session);
  forgetAfter("user", user);
  const before = endedSessions();
  endLifetime("session");
  expect(session).toHaveBeenCalledTimes(1);
  expect(user).not.toHaveBeenCalled();
  expect(endedSessions()).toBe(before + 1);
  takeBack();
  endLifetime("session");
  endLifetime("user");
  expect(session).toHaveBeenCalledTimes(1);
  expect(user).toHaveBeenCalledTimes(1);
});

import { expect, test } from "vitest";
import { around, inWindow, newer, NEWEST_WINDOW, older, type MountedWindow, within } from "./mounted-window";

const list = Array.from({ length: 400 }, (_, index) => index);

test("goes back in steps, never mounts more than 150, and comes back to the newest", () => {
  let window: MountedWindow = NEWEST_WINDOW;
  expect(inWindow(list, window)).toEqual(list.slice(-30));
  for (let step = 0; step < 20; step += 1) {
    window = older(window, list.length);
    expect(inWindow(list, window).length).toBeLessThanOrEqual(150);
  }
  expect(inWindow(list, window)[0]).toBe(0);
  for (let step = 0; step < 20; step += 1) {
    window = newer(window);
    expect(inWindow(list, window).length).toBeLessThanOrEqual(150);
  }
  expect(inWindow(list, window).at(-1)).toBe(399);
});

test("stays where it is when older messages are loaded before it", () => {
  const window = older(NEWEST_WINDOW, 400);
  const longer = [...Array.from({ length: 50 }, (_, index) => -50 + index), ...list];
  expect(inWindow(longer, window)).toEqual(inWindow(list, window));
});

test("the window around a message has it and its neighbours, at either end too", () => {
  for (const newerCount of [0, 5, 200, 395, 399]) {
    const shown = inWindow(list, around(newerCount));
    expect(shown).toContain(list[list.length - 1 - newerCount]);
    expect(shown.length).toBeLessThanOrEqual(60);
  }
});

test("shows the newest when the list has become shorter than its place", () => {
  const farBack = around(395);
  expect(within(farBack, 400)).toBe(farBack);
  expect(inWindow([1, 2], within(farBack, 2))).toEqual([1, 2]);
});

import { expect, test } from "vitest";
import { placeToasts } from "./toast-placement";

const size = { width: 356, height: 80 };
const desk = { width: 1280, height: 800 };
const header = { left: 0, top: 0, width: 1280, height: 114 };

test("stands below the header, at the right", () => {
  expect(placeToasts(size, desk, [header])).toEqual({ left: 914, top: 124 });
});

test("avoids the control that was just used", () => {
  const used = { left: 1000, top: 150, width: 120, height: 36 };
  expect(placeToasts(size, desk, [header, used])).toEqual({ left: 914, top: 196 });
});

test("takes the left side when the right one is full", () => {
  const sheet = { left: 800, top: 0, width: 480, height: 800 };
  expect(placeToasts(size, desk, [header, sheet])).toEqual({ left: 10, top: 124 });
});

test("fits between header and composer of a phone", () => {
  const room = { width: 320, height: 640 };
  const obstacles = [
    { left: 0, top: 0, width: 320, height: 150 },
    { left: 0, top: 500, width: 320, height: 140 },
    { left: 10, top: 180, width: 100, height: 44 },
  ];
  expect(placeToasts({ width: 300, height: 80 }, room, obstacles)).toEqual({ left: 10, top: 234 });
});

test("stands over an open menu of a phone rather than over head, composer or what was used", () => {
  const room = { width: 320, height: 640 };
  const kept = [
    { left: 0, top: 0, width: 320, height: 150 },
    { left: 0, top: 530, width: 320, height: 110 },
    { left: 200, top: 160, width: 44, height: 44 },
  ];
  const menu = { left: 10, top: 155, width: 300, height: 370 };
  expect(placeToasts({ width: 300, height: 80 }, room, kept, [menu])).toEqual({ left: 10, top: 214 });
});

test("covers as little as possible where everything is used", () => {
  const room = { width: 320, height: 200 };
  const obstacles = [
    { left: 0, top: 0, width: 320, height: 100 },
    { left: 0, top: 130, width: 320, height: 70 },
  ];
  expect(placeToasts({ width: 300, height: 80 }, room, obstacles)).toEqual({ left: 10, top: 40 });
});

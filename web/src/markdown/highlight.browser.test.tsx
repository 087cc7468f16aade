import { expect, test } from "vitest";
import { highlight } from "./highlight";

test("of the code that is drawn at once, the last block is read first", async () => {
  const blocks = ["const first = 1;", "const second = 2;", "const third = 3;"];
  const read: string[] = [];
  await Promise.all(
    blocks.map(async (text) => {
      const pieces = await highlight("ts", text);
      expect(pieces?.map(([piece]) => piece).join("")).toBe(text);
      read.push(text);
    }),
  );
  expect(read).toEqual(blocks.toReversed());
  // What came first is not forgotten, and is read once.
  expect(await highlight("ts", "const first = 1;")).toBe(await highlight("ts", "const first = 1;"));
});

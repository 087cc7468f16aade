import { expect, test } from "vitest";
import { shortCount, shortPrice } from "./short-figures";

test("figures are as short as they can be read", () => {
  expect([512, 8_192, 200_000, 1_000_000, 1_048_576, 1_050_000].map(shortCount)).toEqual([
    "512",
    "8k",
    "200k",
    "1M",
    "1M",
    "1.1M",
  ]);
  expect([0.075, 2, 2.5, 0.3, 10].map(shortPrice)).toEqual(["$0.075", "$2", "$2.5", "$0.3", "$10"]);
});

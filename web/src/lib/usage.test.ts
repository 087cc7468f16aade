import { expect, test } from "vitest";
import { formatPrice, formatTokenCount } from "@/lib/usage";

test("figures are as short as they can be read", () => {
  expect([512, 8_192, 200_000, 1_000_000, 1_048_576, 1_050_000].map(formatTokenCount)).toEqual([
    "512",
    "8K",
    "200K",
    "1M",
    "1M",
    "1.1M",
  ]);
  expect([0.075, 2, 2.5, 0.3, 10].map(formatPrice)).toEqual(["$0.075", "$2", "$2.5", "$0.3", "$10"]);
});

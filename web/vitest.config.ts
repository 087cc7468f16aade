import { defineConfig } from "vitest/config";
import { splitTexts } from "./scripts/split-texts.ts";

export default defineConfig({
  plugins: [splitTexts()],
  resolve: { tsconfigPaths: true },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node", testTimeout: 30_000 },
});

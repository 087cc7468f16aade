import { defineConfig } from "vitest/config";
import { textsPlugin } from "./scripts/texts-plugin.ts";

export default defineConfig({
  plugins: [textsPlugin()],
  resolve: { tsconfigPaths: true },
  test: {
    include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
    environment: "node",
    setupFiles: ["src/testing/load-texts.ts"],
    testTimeout: 30_000,
  },
});

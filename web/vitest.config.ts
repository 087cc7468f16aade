import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import { diagramsPlugin } from "./scripts/diagrams-plugin.ts";
import { textsPlugin } from "./scripts/texts-plugin.ts";

const browserTests = "src/**/*.browser.test.tsx";

export default defineConfig({
  plugins: [textsPlugin(), diagramsPlugin()],
  resolve: { tsconfigPaths: true },
  test: {
    testTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: "node",
          include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
          exclude: [browserTests],
          environment: "node",
          setupFiles: ["src/testing/load-texts.ts"],
        },
      },
      {
        extends: true,
        plugins: [react(), tailwindcss()],
        // Packages that were only found during a test would be bundled then, and reload its page.
        optimizeDeps: { entries: ["src/**/*.{ts,tsx}"] },
        test: {
          name: "browser",
          include: [browserTests],
          setupFiles: ["src/testing/load-texts.ts", "src/testing/browser.ts"],
          testTimeout: 10_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            viewport: { width: 1280, height: 800 },
            provider: playwright({
              launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium" },
            }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { browserTargets } from "./scripts/browser-targets.ts";
import { textsOfOperatorPage } from "./scripts/text-parts.ts";
import { textsPlugin } from "./scripts/texts-plugin.ts";

/**
 * Builds the operator's page into the folder of the web app, as a bundle of its own: users never load a part of it, and
 * the server knows its files by their names.
 */
export default defineConfig({
  plugins: [textsPlugin(textsOfOperatorPage), react(), tailwindcss()],
  resolve: { tsconfigPaths: true },
  publicDir: false,
  build: {
    target: browserTargets,
    emptyOutDir: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: "operator.html",
      output: {
        entryFileNames: "assets/operator-[hash].js",
        chunkFileNames: "assets/operator-[name]-[hash].js",
        // The fonts are those of the web app.
        assetFileNames: ({ names }) =>
          names.some((name) => name.endsWith(".css"))
            ? "assets/operator-[hash].css"
            : "assets/[name]-[hash][extname]",
      },
    },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { textsPlugin } from "./scripts/texts-plugin.ts";

/** Address of the server while Vite serves the page. */
const backend = process.env["CHAT_BACKEND"] ?? "http://127.0.0.1:3000";
const backendPaths = ["/auth/v1", "/rest", "/functions", "/api", "/mcp", "/health"];

/** Names of characters are decoded with the help of the document in pages; a worker has none, and needs the table. */
const decodeWithoutDocument: Plugin = {
  name: "decode-without-document",
  enforce: "pre",
  resolveId: (source) =>
    source === "decode-named-character-reference"
      ? fileURLToPath(new URL("node_modules/decode-named-character-reference/index.js", import.meta.url))
      : null,
};

/**
 * Modules that the auth client always imports and the page never calls, and what the client needs of them to start:
 * sign-in with wallets and with security keys.
 */
const unusedAuthModules: Record<string, string> = {
  "ethereum.js":
    "export const getAddress = undefined, fromHex = undefined, toHex = undefined, createSiweMessage = undefined;",
  "webauthn.js": `export class WebAuthnApi {}
    export const createCredential = undefined, getCredential = undefined, browserSupportsWebAuthn = undefined;
    export const deserializeCredentialCreationOptions = undefined, deserializeCredentialRequestOptions = undefined;
    export const serializeCredentialCreationResponse = undefined, serializeCredentialRequestResponse = undefined;
    export const webAuthnAbortService = undefined;`,
};

/** Leaves out {@link unusedAuthModules}. If the client imports more from them, the build fails. */
const withoutUnusedAuth: Plugin = {
  name: "without-unused-auth",
  load: {
    filter: { id: /auth-js\/dist\/module\/lib\/(?:webauthn|web3\/ethereum)\.js$/u },
    handler: (id) => unusedAuthModules[basename(id)],
  },
};

export default defineConfig({
  plugins: [textsPlugin(), withoutUnusedAuth, react(), tailwindcss()],
  worker: { format: "es", plugins: () => [decodeWithoutDocument] },
  resolve: { tsconfigPaths: true },
  build: {
    // The last two years of all three engines, as docs/guide/browsers.md promises; older ones would only cost bytes.
    target: ["chrome131", "edge131", "firefox132", "safari18.1"],
    manifest: true,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // One chunk for the first paint and one for what the lazy parts share: fewer requests, and text compresses
        // better together.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "first", tags: ["$initial"], priority: 2 },
            // What only later screens share stays out of what the first ones load.
            {
              name: "account",
              test: /components\/account|ui\/form/u,
              priority: 2,
            },
            {
              name: "servers",
              test: /features\/servers\/status/u,
              priority: 2,
            },
            {
              name: "apps",
              test: /components\/tool-app\/(?!app-height)|node_modules\/(?:@modelcontextprotocol|@standard-schema|zod)\//u,
              priority: 2,
            },
            {
              name: "models",
              test: /src\/(lib\/usage\.|components\/model-settings\/)/u,
              priority: 2,
            },
            { name: "asking", test: /components\/approval/u, priority: 2 },
            { name: "later", test: /src\/(ui\/(load-more-list|form)|lib\/save-file)\./u, priority: 2 },
            {
              name: "files",
              test: /components\/files\/|show-invisible|icons\/(?:download|file|rotate-cw|x)\.js/u,
              priority: 3,
            },
            { name: "sheet", test: /src\/ui\/sheet/u, priority: 2 },
            {
              name: "result",
              test: /components\/tool-result\/(?!tool-output)|show-invisible/u,
              priority: 2,
            },
            {
              name: "form",
              test: /components\/(schema-form|elicitation)\//u,
              priority: 2,
            },
            {
              name: "mcp-context",
              test: /chat\/mcp-context\/|server-icon|icons\/(?:file-text|message-square-quote)\./u,
              priority: 2,
            },
            {
              name: "chats",
              test: /conversations\/temporary|icons\/eye-off\./u,
              priority: 2,
            },
            // What toasts need comes soon after the first paint, what else floats only when it is opened.
            {
              name: "toasts",
              test: /node_modules\/(?:reselect|@floating-ui\/utils|@base-ui\/(?:utils|react\/(?:toast|merge-props|floating-ui-react\/(?:utils|components\/FloatingPortal)|internals\/(?:reason|constants|createBaseUI|getState|stateAttr|Transition|use-button|useAnimations|useOpenChange|useRender|composite\/root\/CompositeRootContext)|utils\/(?:Common|Floating|Focus|dispatch|get|popupState|resolve|scrollable|useFocusable|useSwipe)|tooltip\/trigger\/TooltipTriggerData)))/u,
              priority: 4,
            },
            {
              name: "floating",
              test: /node_modules\/@(?:base-ui|floating-ui)\/|src\/ui\/(?:floating|menu|popover-popup)/u,
              priority: 2,
            },
            { name: "shared", minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
    // The content security policy allows no inline data outside images, and fonts are preloaded by name.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(backendPaths.map((path) => [path, { target: backend, ws: true }])),
  },
});

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { browserTargets } from "./scripts/browser-targets.ts";
import { diagramsPlugin } from "./scripts/diagrams-plugin.ts";
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

/** Leaves out languages within languages that hardly occur. With C++, Ruby alone would weigh as much as all others. */
const withoutRareGrammars: Plugin = {
  name: "without-rare-grammars",
  enforce: "pre",
  load: { filter: { id: /^\0no-grammar$/u }, handler: () => "export default [];" },
  resolveId: {
    filter: { id: /^\.\/[a-z-]+\.mjs$/u },
    handler: (source, importer) =>
      /@shikijs\/langs\/dist\/(?:lua|php|ruby|xml)\.mjs$/u.test(importer ?? "") &&
      /^\.\/(?:c|cpp|graphql|haml|java|lua|xml|yaml)\.mjs$/u.test(source)
        ? "\0no-grammar"
        : null,
  },
};

/** Leaves out older formats of the fonts of formulas: all browsers that the app supports read WOFF2. */
const withoutOldFonts: Plugin = {
  name: "without-old-fonts",
  enforce: "pre",
  transform: {
    filter: { id: /katex\.min\.css/u },
    handler: (css) => css.replaceAll(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/gu, ""),
  },
};

/**
 * Modules that the auth client always imports and the page never calls, and what the client needs of them to start:
 * sign-in with wallets, the client's own dialogue with authenticators and its conversions of JSON for it
 * (`src/lib/passkeys.ts` and `security-keys.ts` use the browser's),
 * `globalThis` for browsers of 2019, and the administrator's calls but for the one that the client makes to sign out.
 */
const unusedAuthModules: Record<string, string> = {
  "GoTrueAdminApi.js": `import { _request } from "./lib/fetch";
    import { isAuthError } from "./lib/errors";
    export default class GoTrueAdminApi {
      constructor(options) {
        Object.assign(this, options);
        this.fetch ??= (...request) => fetch(...request);
      }
      async signOut(jwt, scope = "global") {
        const request = { headers: this.headers, jwt, noResolveJson: true };
        try {
          await _request(this.fetch, "POST", this.url + "/logout?scope=" + scope, request);
        } catch (error) {
          if (!isAuthError(error)) throw error;
          return { data: null, error };
        }
        return { data: null, error: null };
      }
    }`,
  "polyfills.js": "export const polyfillGlobalThis = () => {};",
  "ethereum.js":
    "export const getAddress = undefined, fromHex = undefined, toHex = undefined, createSiweMessage = undefined;",
  "webauthn.js": `export class WebAuthnApi {}
    export const createCredential = undefined, getCredential = undefined, browserSupportsWebAuthn = undefined;
    const same = (value) => value;
    export { same as deserializeCredentialCreationOptions, same as deserializeCredentialRequestOptions };
    export { same as serializeCredentialCreationResponse, same as serializeCredentialRequestResponse };
    export const webAuthnAbortService = undefined;`,
};

/** Leaves out {@link unusedAuthModules}. If the client imports more from them, the build fails. */
const withoutUnusedAuth: Plugin = {
  name: "without-unused-auth",
  load: {
    filter: {
      id: /auth-js\/dist\/module\/(?:GoTrueAdminApi|lib\/(?:polyfills|webauthn|web3\/ethereum))\.js$/u,
    },
    handler: (id) => unusedAuthModules[basename(id)],
  },
};

/**
 * Leaves out stand-ins for what React 19 has itself. Base UI calls the one with a selector with older versions only.
 */
const withoutReactShims: Plugin = {
  name: "without-react-shims",
  load: {
    filter: { id: /use-sync-external-store\/shim\/(?:index|with-selector)\.js$/u },
    handler: (id) =>
      id.endsWith("with-selector.js")
        ? "export const useSyncExternalStoreWithSelector = undefined;"
        : 'export { useSyncExternalStore } from "react";',
  },
};

export default defineConfig({
  plugins: [
    textsPlugin(),
    diagramsPlugin(),
    withoutUnusedAuth,
    withoutReactShims,
    withoutOldFonts,
    react(),
    tailwindcss(),
  ],
  worker: { format: "es", plugins: () => [decodeWithoutDocument, withoutRareGrammars] },
  resolve: { tsconfigPaths: true },
  build: {
    target: browserTargets,
    manifest: true,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Few files: text compresses better together, and each file is a request. In this order, each group takes the
        // modules that it names and what they import, as far as no group before it has them.
        codeSplitting: {
          groups: [
            { name: "first", tags: ["$initial"] },
            { name: "toasts", test: /src\/ui\/toaster\./u },
            // What a shared chat and the main screen have in common.
            { name: "shared", test: /src\/(?:lib\/user-queries|markdown\/markdown)\./u },
            { name: "home", test: /src\/app\/home-page\./u },
            // What floats is loaded when it is opened.
            {
              name: "floating",
              test: /src\/ui\/(?:menu|popover-popup)\.|@base-ui\/react\/(?:autocomplete|combobox)\//u,
            },
            {
              name: "components",
              test: /lucide-react\/|src\/(?:lib|ui|components\/(?:approval|files|model-settings|tool-result))\//u,
            },
            { name: "account", test: /src\/(?:components\/account|features\/auth)\//u },
            {
              name: "form",
              test: /src\/components\/(?:elicitation|schema-form)\//u,
            },
            // What comes right after the first messages.
            {
              name: "chat-later",
              test: /src\/features\/chat\/(?:approval|attention|files|message-actions|queue|tool-call|transcript)\//u,
            },
            { name: "mcp-context", test: /src\/features\/chat\/mcp-context\//u },
            { name: "chat-menus", test: /src\/features\/chat\/(?:composer|conversations)\//u },
            // A preview is mostly opened from the card of a code block.
            { name: "rich-code", test: /src\/(?:markdown\/rich-code|components\/preview\/versions)\./u },
            // The official bridge to MCP apps has some 50 kB.
            { name: "apps", test: /src\/components\/tool-app\//u },
          ],
        },
      },
    },
    // One style sheet, a request less than one for each part.
    cssCodeSplit: false,
    // The content security policy allows no inline data outside images, and fonts are preloaded by name.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(backendPaths.map((path) => [path, { target: backend, ws: true }])),
  },
});

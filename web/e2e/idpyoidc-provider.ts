import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { clientId, clientSecret, type IdentityProvider, settingsFor } from "./identity-provider.ts";

/**
 * Starts a provider of the Python library `idpyoidc`, which signs ID tokens with the algorithm. `OIDC_PYTHON` names the
 * Python with the library.
 */
export async function startIdpyoidc(algorithm: "RS256" | "ES256"): Promise<IdentityProvider> {
  const python = process.env["OIDC_PYTHON"];
  if (!python) throw new Error("OIDC_PYTHON must be set; `cargo xtask test` does that");
  const script = fileURLToPath(new URL("idpyoidc-provider.py", import.meta.url));
  // It ends with its input, and so with this process.
  const child = spawn(python, [script, algorithm, clientId, clientSecret], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.once("error", reject);
  child.once("close", () => reject(new Error("idpyoidc did not start")));
  createInterface({ input: child.stdout }).once("line", resolve);
  return {
    name: "idpyoidc",
    algorithm,
    settings: settingsFor(await promise),
    register: (appUrl) => child.stdin.write(`${appUrl}\n`),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
    nameField: (page) => page.getByLabel("Name"),
    signIn: async (page, name) => {
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Sign in" }).click();
    },
    decline: (page) => page.getByRole("button", { name: "Decline" }).click(),
    confirmSignOut: (page) => page.getByRole("button", { name: "Sign out" }).click(),
  };
}

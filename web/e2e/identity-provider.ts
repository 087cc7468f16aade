import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";

const clientId = "chat";
const clientSecret = "a secret of the client: with/signs+";

/** A certified OpenID Connect provider with its own pages, on which every name signs in. */
export interface IdentityProvider {
  /** Settings of an app that uses it. */
  settings: Record<string, string>;
  /** Registers the app; its address is known only after its start. */
  register: (appUrl: string) => void;
  stop: () => Promise<void>;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    settings: {
      CHAT_OIDC_ISSUER: issuer,
      CHAT_OIDC_CLIENT_ID: clientId,
      CHAT_OIDC_CLIENT_SECRET: clientSecret,
      CHAT_OIDC_NAME: "Example Corp",
    },
    register: (appUrl) => {
      handle = createProvider(issuer, appUrl).callback();
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function createProvider(issuer: string, appUrl: string): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${appUrl}/auth/v1/callback`],
        post_logout_redirect_uris: [`${appUrl}/auth`],
        backchannel_logout_uri: `${appUrl}/auth/v1/oidc/backchannel-logout`,
      },
    ],
    features: { backchannelLogout: { enabled: true } },
    // Without the dispatcher of the options, which refuses apps on this machine.
    fetch: async (url: string, { method, headers, body }: RequestInit) =>
      await fetch(url, { method, headers, body } as RequestInit),
    cookies: { keys: ["a key of the test"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    pkce: { required: () => true },
    // The address is part of the user information only, as the specification has it for the code flow.
    findAccount: (_context: unknown, name: string) => ({
      accountId: name,
      claims: () => ({
        sub: name,
        email: `${name}@example.com`,
        email_verified: true,
        name: `${name} Example`,
      }),
    }),
  });
}

/** Confirms on the provider's page that the user signs out there. */
export async function signOutAtProvider(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
}

/** Signs in on the provider's pages, and consents. */
export async function signInAtProvider(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(name);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Locator, Page } from "playwright-core";

/** Id of the app at the provider. */
export const clientId = "chat";
/** Secret of the app, with characters that have to be encoded. */
export const clientSecret = "a secret of the client: with/signs+";

/** An OpenID Connect provider with its own pages, on which every name signs in. */
export interface IdentityProvider {
  /** Name of the library. */
  name: string;
  /** Algorithm that signs its ID tokens. */
  algorithm: string;
  /** Settings of an app that uses it. */
  settings: Record<string, string>;
  /** Registers the app; its address is known only after its start. */
  register: (appUrl: string) => void;
  stop: () => Promise<void>;
  /** Field for the name on the sign-in page. */
  nameField: (page: Page) => Locator;
  /** Signs in on the provider's pages, and consents if it asks for that. */
  signIn: (page: Page, name: string) => Promise<void>;
  /** Declines on the sign-in page. */
  decline: (page: Page) => Promise<void>;
  /** Confirms on the provider's page that the user signs out there. */
  confirmSignOut: (page: Page) => Promise<void>;
}

/** Returns the settings of an app that uses the provider with this issuer. */
export function settingsFor(issuer: string): Record<string, string> {
  return {
    CHAT_OIDC_ISSUER: issuer,
    CHAT_OIDC_CLIENT_ID: clientId,
    CHAT_OIDC_CLIENT_SECRET: clientSecret,
    CHAT_OIDC_NAME: "Example Corp",
  };
}

/**
 * Starts the package `oidc-provider`, a certified implementation. Its logout tokens name the user, and the session as well
 * if `namesSession` is true.
 */
export async function startOidcProvider(namesSession = false): Promise<IdentityProvider> {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    name: "oidc-provider",
    algorithm: "RS256",
    settings: settingsFor(issuer),
    register: (appUrl) => {
      handle = createProvider(issuer, appUrl, namesSession).callback();
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
    nameField: (page) => page.getByPlaceholder("Enter any login"),
    signIn: async (page, name) => {
      await page.getByPlaceholder("Enter any login").fill(name);
      await page.getByPlaceholder("and password").fill("any");
      await page.getByRole("button", { name: "Sign-in" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
    },
    decline: (page) => page.getByRole("link", { name: "Cancel" }).click(),
    confirmSignOut: (page) => page.getByRole("button", { name: "Yes, sign me out" }).click(),
  };
}

function createProvider(issuer: string, appUrl: string, namesSession: boolean): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${appUrl}/auth/v1/callback`],
        post_logout_redirect_uris: [`${appUrl}/auth`],
        backchannel_logout_uri: `${appUrl}/auth/v1/oidc/backchannel-logout`,
        backchannel_logout_session_required: namesSession,
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

// An MCP server and its authorization server, both of the TypeScript SDK: discovery, registration, PKCE, the token and
// revocation endpoints and the bearer check are the SDK's own. The provider behind them keeps tokens in memory, asks the
// person on a page, and can be told over /control to end tokens early.
import { randomUUID } from "node:crypto";
import { mcpAuthRouter, getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";

const port = Number(process.env.PORT);
const base = new URL(`http://127.0.0.1:${port}/`);
const resource = new URL("/mcp", base);
/** What a test may change, and what it may look at. */
const state = { lifetime: 600, refuseRefresh: false, registers: process.env.REGISTERS !== "no", iss: undefined, instructions: undefined };
const seen = { codes: 0, renewals: 0, revoked: 0, clients: [] };

const clients = new Map();
const codes = new Map();
const access = new Map();
const refresh = new Map();

const clientsStore = {
  getClient: (id) => clients.get(id),
  ...(state.registers && {
    registerClient(client) {
      clients.set(client.client_id, client);
      return client;
    },
  }),
};

function grant(client, scopes, user) {
  const [token, next] = [randomUUID(), randomUUID()];
  access.set(token, { clientId: client.client_id, scopes, user, expiresAt: Math.floor(Date.now() / 1000) + state.lifetime, refresh: next });
  refresh.set(next, { scopes, user });
  return { access_token: token, token_type: "Bearer", expires_in: state.lifetime, refresh_token: next, scope: scopes.join(" ") };
}

const provider = {
  clientsStore,
  async authorize(client, params, res) {
    const id = randomUUID();
    codes.set(id, { client, params });
    const link = (allow) => `/decide?id=${id}&allow=${allow}`;
    // As large sign-in servers do, it cuts its pages off from those that opened them.
    res.set("Cross-Origin-Opener-Policy", "same-origin");
    res.type("html").send(`<!doctype html><html lang="en"><title>Consent</title><h1>${client.client_name ?? client.client_id} wants to use Notes</h1>
      <p>Scopes: ${(params.scopes ?? []).join(" ") || "none"}</p><a href="${link("yes")}">Allow</a> <a href="${link("no")}">Deny</a></html>`);
  },
  async challengeForAuthorizationCode(_client, code) {
    const known = codes.get(code);
    if (known === undefined) throw new InvalidGrantError("unknown code");
    return known.params.codeChallenge;
  },
  async exchangeAuthorizationCode(client, code, _verifier, redirectUri, asked) {
    const { params, client: owner } = codes.get(code);
    codes.delete(code);
    if (owner.client_id !== client.client_id || redirectUri !== params.redirectUri) throw new InvalidGrantError("not yours");
    if (asked?.href !== resource.href || params.resource?.href !== resource.href) throw new InvalidGrantError("wrong resource");
    seen.codes += 1;
    seen.clients.push(client.client_id);
    return grant(client, params.scopes ?? [], randomUUID().slice(0, 8));
  },
  async exchangeRefreshToken(client, token) {
    const known = refresh.get(token);
    if (state.refuseRefresh || known === undefined) throw new InvalidGrantError("this refresh token is not good");
    refresh.delete(token);
    seen.renewals += 1;
    return grant(client, known.scopes, known.user);
  },
  async verifyAccessToken(token) {
    const known = access.get(token);
    if (known === undefined) throw new InvalidTokenError("unknown token");
    return { token, clientId: known.clientId, scopes: known.scopes, expiresAt: known.expiresAt, extra: { user: known.user } };
  },
  async revokeToken(_client, { token }) {
    seen.revoked += 1;
    refresh.delete(token);
    for (const [name, known] of access) if (name === token || known.refresh === token) access.delete(name);
  },
};

function notes(user) {
  const server = new McpServer({ name: "notes", version: "1.0.0" }, { instructions: state.instructions });
  const say = (text) => async () => ({ content: [{ type: "text", text }] });
  server.registerTool("read_notes", { description: "Reads the notes of who is signed in." }, say(`The notes of ${user}.`));
  server.registerTool("erase_notes", { description: "Erases all notes." }, say("Erased."));
  return server;
}

/** Erasing takes a right that nobody is given before it is needed. */
function checkScope(req, res, next) {
  const wantsMore = req.body?.method === "tools/call" && req.body.params?.name === "erase_notes";
  if (!wantsMore || req.auth.scopes.includes("erase")) return next();
  res.set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="erase", resource_metadata="${getOAuthProtectedResourceMetadataUrl(resource)}"`);
  res.status(403).json({ error: "insufficient_scope" });
}

const app = express();
app.use(express.json());
const unlimited = { rateLimit: false };
app.use(mcpAuthRouter({
  provider, issuerUrl: base, resourceServerUrl: resource, resourceName: "Notes",
  authorizationOptions: unlimited, clientRegistrationOptions: unlimited, revocationOptions: unlimited, tokenOptions: unlimited,
}));
app.get("/decide", (req, res) => {
  const { params } = codes.get(req.query.id);
  const back = new URL(params.redirectUri);
  back.searchParams.set("state", params.state);
  if (state.iss !== undefined) back.searchParams.set("iss", state.iss);
  if (req.query.allow === "yes") back.searchParams.set("code", req.query.id);
  else back.searchParams.set("error", "access_denied");
  res.redirect(back.href);
});
const bearer = requireBearerAuth({ verifier: provider, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource) });
app.post("/mcp", bearer, checkScope, async (req, res) => {
  const server = notes(req.auth.extra.user);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  res.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.all("/mcp", bearer, (_req, res) => res.status(405).end());
app.get("/control", (_req, res) => res.json(seen));
app.get("/control/tokens", (_req, res) => res.json([...access.keys(), ...refresh.keys()]));
app.post("/control", (req, res) => {
  const { forgetAccess, client, ...changes } = req.body;
  if (forgetAccess) access.clear();
  if (client) clients.set(client.client_id, client);
  Object.assign(state, changes);
  res.status(204).end();
});
app.listen(port, "127.0.0.1");

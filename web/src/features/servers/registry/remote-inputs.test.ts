import { expect, test } from "vitest";
import type { RegistryHeader, RegistryInput, RegistryRemote, RegistryServer } from "./queries";
import {
  headersOf,
  matchesUrl,
  neededInputs,
  urlOf,
  type UsableRemote,
  usableRemotes,
} from "./remote-inputs";

const input = (name: string, more: Partial<RegistryInput> = {}): RegistryInput => ({
  name,
  isRequired: false,
  isSecret: false,
  choices: [],
  ...more,
});

const header = (name: string, more: Partial<RegistryHeader> = {}): RegistryHeader => ({
  ...input(name),
  variables: [],
  ...more,
});

function remotesOf(...remotes: readonly (Partial<RegistryRemote> & { url: string })[]) {
  const all = remotes.map((remote) => ({
    transport: "streamable-http" as const,
    isPublisherDomain: true,
    variables: [],
    headers: [],
    ...remote,
  }));
  return usableRemotes({ remotes: all } as unknown as RegistryServer);
}

function usable(remote: Partial<RegistryRemote> & { url: string }): UsableRemote {
  const [first] = remotesOf(remote);
  if (!first) throw new Error(`${remote.url} cannot be used`);
  return first;
}

const values = (entries: Record<string, string>) => new Map(Object.entries(entries));

test("values are percent-encoded in path and query, and names that nobody declares stay", () => {
  const remote = usable({
    url: "https://example.com/{team}/mcp?key={key}&raw={other}",
    variables: [input("team"), input("key"), input("unused")],
  });
  expect(remote.inputs.map(({ name }) => name)).toEqual(["team", "key"]);
  expect(urlOf(remote, values({ "url team": "a/b?", "url key": "x&y=1#" }))).toBe(
    "https://example.com/a%2Fb%3F/mcp?key=x%26y%3D1%23&raw={other}",
  );
});

test("a value in the host cannot lead to another host", () => {
  const remote = usable({
    url: "https://{region}.example.com/mcp",
    variables: [input("region", { default: "eu" })],
  });
  expect(remote.host).toBe("{region}.example.com");
  expect(remote.inputs).toMatchObject([{ isRequired: true, isInHost: true }]);
  expect(urlOf(remote, values({}))).toBe("https://eu.example.com/mcp");
  expect(urlOf(remote, values({ "url region": "us-1.a" }))).toBe("https://us-1.a.example.com/mcp");
  for (const hostile of ["evil.test/", "evil.test#", "a@evil.test:1?", "evil.test\\", "é"])
    expect(urlOf(remote, values({ "url region": hostile }))).toBe("https://{region}.example.com/mcp");
});

test("addresses that deceive or that no browser would open cannot be used", () => {
  for (const url of [
    "https://user:secret@example.com/mcp",
    "https://example.com@evil.test/mcp",
    "https://{user}@evil.test/mcp",
    "javascript:alert(1)//{x}",
    "https://{nobody}.example.com/mcp",
    "https:///mcp",
    "{url}",
  ])
    expect({ url, usable: remotesOf({ url, variables: [input("user"), input("url")] }) }).toEqual({
      url,
      usable: [],
    });
  expect(usable({ url: "https://еxample.com/mcp" }).host).toBe("xn--xample-2of.com");
  expect(usable({ url: String.raw`https://evil.test\.example.com/mcp` }).host).toBe("evil.test");
});

test("a URL is recognised by the template that it was made from", () => {
  const remote = usable({
    url: "https://{region}.example.com/v1/{team}/mcp?key=k-{key}&on=1",
    variables: [input("region"), input("team"), input("key")],
  });
  const matches = (url: string) => matchesUrl(remote, [new URL("https://other.test/"), new URL(url)]);
  const made = urlOf(remote, values({ "url region": "EU", "url team": "a/b.c", "url key": "x&y" }));
  expect(made).toBe("https://EU.example.com/v1/a%2Fb.c/mcp?key=k-x%26y&on=1");
  expect(matches(made)).toBe(true);
  expect(matches(urlOf(remote, values({ "url region": "eu", "url team": "a" })))).toBe(true);
  for (const other of [
    "http://eu.example.com/v1/a/mcp?key=k-x&on=1",
    "https://example.com/v1/a/mcp?key=k-x&on=1",
    "https://a.b.example.com/v1/a/mcp?key=k-x&on=1",
    "https://eu.example.org/v1/a/mcp?key=k-x&on=1",
    "https://eu.example.com:8443/v1/a/mcp?key=k-x&on=1",
    "https://eu.example.com/v1/a/b/mcp?key=k-x&on=1",
    "https://eu.example.com/v1/a/mcp?key=x&on=1",
    "https://eu.example.com/v1/a/mcp?key=k-x&on=1&more=2",
    "https://eu.example.com/v1/a/mcp",
  ])
    expect({ other, matches: matches(other) }).toEqual({ other, matches: false });
});

test("a URL is recognised without variables, and quickly by a hostile template", () => {
  expect(matchesUrl(usable({ url: "https://EXAMPLE.com:443" }), [new URL("https://example.com/")])).toBe(
    true,
  );
  const hostile = usable({ url: `https://example.com/${"{a}a".repeat(2_000)}!`, variables: [input("a")] });
  expect(matchesUrl(hostile, [new URL(`https://example.com/${"a".repeat(2_000)}`)])).toBe(false);
  const twice = usable({ url: "https://example.com/{a}-{a}", variables: [input("a")] });
  expect(matchesUrl(twice, [new URL("https://example.com/b-b")])).toBe(true);
  expect(matchesUrl(twice, [new URL("https://example.com/b+b")])).toBe(false);
});

test("a server with more inputs than a connection has headers cannot be used", () => {
  const headers = Array.from({ length: 500 }, (_, n) => header(`X-${n}`, { isRequired: true }));
  expect(remotesOf({ url: "https://example.com/mcp", headers })).toEqual([]);
});

test("streamable HTTP is preferred", () => {
  const sse = { url: "https://example.com/sse", transport: "sse" as const };
  expect(remotesOf(sse).map(({ url }) => url)).toEqual([sse.url]);
  const both = remotesOf(sse, { url: "https://example.com/mcp" });
  expect(both.map(({ url }) => url)).toEqual(["https://example.com/mcp"]);
});

test("headers are fixed, entered, or put together from their variables", () => {
  const remote = usable({
    url: "https://example.com/mcp",
    headers: [
      header("X-Client", { value: "chat {version}" }),
      header("X-Key", { isSecret: true }),
      header("Authorization", {
        value: "Bearer {token}",
        variables: [input("token", { isRequired: true, isSecret: true })],
      }),
      header("x-key", { value: "second" }),
    ],
  });
  expect(neededInputs(remote).map(({ name, headerName }) => [name, headerName])).toEqual([
    ["X-Key", "X-Key"],
    ["token", "Authorization"],
  ]);
  expect(headersOf(remote, values({ "header 1 ": " k ", "header 2 token": "t" }))).toEqual([
    { name: "X-Client", value: "chat {version}" },
    { name: "X-Key", value: "k" },
    { name: "Authorization", value: "Bearer t" },
  ]);
  expect(headersOf(remote, values({}))).toEqual([
    { name: "X-Client", value: "chat {version}" },
    { name: "x-key", value: "second" },
  ]);
});

test("a secret header asks for the variable that it does not declare", () => {
  const remote = usable({
    url: "https://example.com/mcp",
    headers: [header("Authorization", { value: "Bearer {api_key}", isRequired: true, isSecret: true })],
  });
  expect(remote.inputs).toMatchObject([{ name: "api_key", isSecret: true, isRequired: true }]);
  expect(headersOf(remote, values({ "header 0 api_key": "k" }))).toEqual([
    { name: "Authorization", value: "Bearer k" },
  ]);
});

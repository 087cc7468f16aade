import { parseUrl, webAddress } from "@/lib/safe-url";
import type { RegistryHeader, RegistryInput, RegistryRemote, RegistryServer } from "./queries";

/** Limit of the database for the headers of a connection; a form of that length is no longer one click, either. */
const MAX_INPUTS = 32;
/** Name of a variable in braces. */
const BRACES = /\{([^{}\s]{1,100})\}/gu;
/** Characters of a host. Any other could lead the request, and a key with it, to another one. */
const HOST_PART = /^[A-Za-z0-9.-]+$/u;
/** Part of a URL that stands for a variable, as `placeholder` makes it, and its index. */
const PLACEHOLDER = /varzq(\d+)qz/gu;
const ANY_PLACEHOLDER = /varzq\d+qz/u;
/** Scheme, authority and the rest of a URL, split as browsers split it. */
const URL_PARTS = /^(https?:\/\/)([^/?#\\]+)(.*)$/isu;

/** Value that the user enters before a server can be added. */
export interface RemoteInput extends RegistryInput {
  /** Identifies the input among those of its remote; name of its form field. */
  key: string;
  /** Header that carries the value; absent for a variable of the URL. */
  headerName?: string;
  /** True if the value becomes a part of the host. */
  isInHost: boolean;
}

/** Remote that can be added. */
export interface UsableRemote extends RegistryRemote {
  /** Host as a browser would resolve it, with the names of variables in braces. */
  host: string;
  inputs: readonly RemoteInput[];
}

/** Values by the key of their input. */
export type InputValues = ReadonlyMap<string, string>;

/** Returns the remotes that can be added: those over streamable HTTP, or all if there is none. */
export function usableRemotes({ remotes }: RegistryServer): readonly UsableRemote[] {
  const usable = remotes.flatMap((remote) => {
    const host = displayHost(remote);
    const inputs = inputsOf(remote);
    return host === undefined || inputs.length > MAX_INPUTS ? [] : [{ ...remote, host, inputs }];
  });
  const streamable = usable.filter(({ transport }) => transport === "streamable-http");
  return streamable.length > 0 ? streamable : usable;
}

/** Returns the inputs without which a server probably refuses the connection. */
export function neededInputs({ inputs }: UsableRemote): readonly RemoteInput[] {
  return inputs.filter(
    ({ isRequired, isSecret, headerName, default: preset }) =>
      isRequired || isSecret || (headerName === undefined && preset === undefined),
  );
}

/** Returns the URL with the values in it: percent-encoded in path and query, unchanged in the host. */
export function urlOf(remote: UsableRemote, values: InputValues): string {
  return fillUrl(remote.url, (name) => valueOf(remote, `url ${name}`, values));
}

/**
 * Returns true if the remote's template gives one of these URLs for some values. A variable stands for one label of the
 * host, one segment of the path, or one parameter of the query, or for a part of it. Its value can be empty.
 */
export function matchesUrl(remote: UsableRemote, urls: readonly URL[]): boolean {
  const template = parseUrl(fillPlaceholders(remote));
  if (template === null) return false;
  const expected = piecesOf(template);
  return urls.some((url) =>
    piecesOf(url).every((pieces, part) => {
      const patterns = expected[part] ?? [];
      return (
        pieces.length === patterns.length &&
        pieces.every((piece, at) => matchesPiece(patterns[at] ?? "", piece))
      );
    }),
  );
}

/** Returns the parts of a URL, each split where the value of a variable has to end. */
function piecesOf({ protocol, host, pathname, search, hash }: URL): readonly (readonly string[])[] {
  return [[protocol], host.split("."), pathname.split("/"), search.split("&"), [hash]];
}

/** Compares without a regular expression: one made of a stranger's template could take very long. */
function matchesPiece(pattern: string, piece: string): boolean {
  const [start = "", ...others] = pattern.split(ANY_PLACEHOLDER);
  const end = others.pop();
  if (end === undefined) return piece === start;
  if (!piece.startsWith(start)) return false;
  let at = start.length;
  for (const literal of others) {
    const found = piece.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return piece.length >= at + end.length && piece.endsWith(end);
}

/** Returns the headers with the values in them, without those that stay empty. */
export function headersOf(
  remote: UsableRemote,
  values: InputValues,
): readonly { name: string; value: string }[] {
  const seen = new Set<string>();
  return remote.headers
    .map((header, index) => ({ name: header.name, value: headerValue(remote, header, index, values).trim() }))
    .filter(({ name, value }) => {
      // Names of headers are not case-sensitive.
      const isNew = value !== "" && !seen.has(name.toLowerCase());
      if (isNew) seen.add(name.toLowerCase());
      return isNew;
    });
}

function headerValue(
  remote: UsableRemote,
  { value }: RegistryHeader,
  index: number,
  values: InputValues,
): string {
  const own = remote.inputs.filter(({ key }) => key.startsWith(`header ${index} `));
  if (value === undefined) return valueOf(remote, `header ${index} `, values) ?? "";
  const entered = own.map(({ key }) => valueOf(remote, key, values) ?? "");
  // “Bearer ” without its token would only be refused.
  if (own.length > 0 && entered.every((one) => one === "")) return "";
  return fillBraces(value, (name) => valueOf(remote, `header ${index} ${name}`, values));
}

/** Returns the value of an input, or its default; undefined if there is no such input. */
function valueOf(remote: UsableRemote, key: string, values: InputValues): string | undefined {
  const input = remote.inputs.find((one) => one.key === key);
  return input && (values.get(key) ?? input.default ?? "").trim();
}

function inputsOf({ url, variables, headers }: RegistryRemote): readonly RemoteInput[] {
  const used = namesIn(url);
  const inHost = namesIn(URL_PARTS.exec(url)?.[2] ?? "");
  const inputs = [
    ...variables
      .filter(({ name }) => used.has(name))
      .map((input) => {
        const isInHost = inHost.has(input.name);
        // Without all of its host, no URL is valid.
        return { ...input, key: `url ${input.name}`, isInHost, isRequired: input.isRequired || isInHost };
      }),
    ...headers.flatMap(headerInputs),
  ];
  return [...new Map(inputs.map((input) => [input.key, input])).values()];
}

function headerInputs(header: RegistryHeader, index: number): readonly RemoteInput[] {
  const place = { headerName: header.name, isInHost: false };
  const { value, variables, ...input } = header;
  if (value === undefined) return [{ ...input, ...place, key: `header ${index} ` }];
  const used = namesIn(value);
  const declared = variables.filter(({ name }) => used.has(name));
  const isAsked = header.isRequired || header.isSecret;
  // Many servers name a variable in “Bearer {key}” and do not declare it.
  const undeclared = isAsked && declared.length === 0 ? [...used] : [];
  return [
    ...declared,
    ...undeclared.map((name) => ({
      name,
      ...(header.description !== undefined && { description: header.description }),
      isRequired: header.isRequired,
      isSecret: true,
      choices: [],
    })),
  ].map((variable) => ({ ...variable, ...place, key: `header ${index} ${variable.name}` }));
}

/** Returns the host of a remote for display; undefined if no browser would open the URL, or it holds credentials. */
function displayHost(remote: RegistryRemote): string | undefined {
  const host = webAddress(fillPlaceholders(remote))?.host;
  if (host === undefined || !/^[\w.\-:[\]]+$/u.test(host)) return undefined;
  return host.replaceAll(PLACEHOLDER, (whole, index: string) => {
    const name = remote.variables[Number(index)]?.name;
    return name === undefined ? whole : `{${name}}`;
  });
}

/** Returns the URL of a remote with placeholders for its variables, so that it can be parsed. */
function fillPlaceholders({ url, variables }: RegistryRemote): string {
  const names = variables.map(({ name }) => name);
  return fillUrl(url, (name) => (names.includes(name) ? placeholder(names.indexOf(name)) : undefined));
}

/** Returns a part of a URL that stands for a variable while the URL is parsed. */
function placeholder(index: number): string {
  return `varzq${index}qz`;
}

type Lookup = (name: string) => string | undefined;

function fillUrl(url: string, lookup: Lookup): string {
  const [, scheme = "", authority = "", rest = ""] = URL_PARTS.exec(url) ?? [];
  const inHost = (name: string) => {
    const value = lookup(name);
    return value !== undefined && HOST_PART.test(value) ? value : undefined;
  };
  const encoded = (name: string) => {
    const value = lookup(name);
    return value === undefined ? undefined : encodeURIComponent(value);
  };
  return scheme + fillBraces(authority, inHost) + fillBraces(rest, encoded);
}

function namesIn(template: string): ReadonlySet<string> {
  return new Set(Array.from(template.matchAll(BRACES), ([, name = ""]) => name));
}

/** Replaces the names in braces that are known; others stay. */
function fillBraces(template: string, lookup: Lookup): string {
  return template.replaceAll(BRACES, (whole, name: string) => lookup(name) ?? whole);
}

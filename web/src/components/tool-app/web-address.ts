import { parseUrl } from "@/lib/parse-url";

/** Parses an address of a web page as a browser would open it; undefined for everything else. */
export function webAddress(text: string): URL | undefined {
  const url = parseUrl(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  // A user name before the host only serves to deceive.
  return url.username === "" && url.password === "" ? url : undefined;
}

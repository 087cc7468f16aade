import { parseUrl } from "@/lib/parse-url";

/** The address of a web page, in the form in which a browser would open it; undefined for everything else. */
export function webAddress(text: string): URL | undefined {
  const url = parseUrl(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  // A name in front of the host is there to deceive.
  return url.username === "" && url.password === "" ? url : undefined;
}

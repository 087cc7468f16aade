/** What can be read from a browser's own description of itself. */
export interface DeviceDescription {
  browser: string | undefined;
  system: string | undefined;
  /** Whether it is held in the hand. */
  mobile: boolean;
}

type Rule = readonly [name: string, pattern: RegExp];

/** Browsers pretend to be others: whoever pretends comes first. */
const browsers: readonly Rule[] = [
  ["Edge", /\bEdg(?:A|iOS)?\//u],
  ["Opera", /\bOPR\//u],
  ["Samsung Internet", /\bSamsungBrowser\//u],
  ["Firefox", /\b(?:Firefox|FxiOS)\//u],
  ["Chrome", /\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//u],
  ["Safari", /\bVersion\/.*\bSafari\//u],
];

const systems: readonly Rule[] = [
  ["iPhone", /\biPhone\b/u],
  ["iPad", /\biPad\b/u],
  ["Android", /\bAndroid\b/u],
  ["ChromeOS", /\bCrOS\b/u],
  ["Windows", /\bWindows NT\b/u],
  ["macOS", /\bMac OS X\b|\bMacintosh\b/u],
  ["Linux", /\bLinux\b|\bX11\b/u],
];

/** Reads a `User-Agent`; what it does not say in a known way is left open. */
export function describeDevice(userAgent: string | null): DeviceDescription {
  const text = userAgent ?? "";
  const match = (rules: readonly Rule[]) => rules.find(([, pattern]) => pattern.test(text))?.[0];
  const system = match(systems);
  return { browser: match(browsers), system, mobile: /iPhone|Android/u.test(system ?? "") };
}

/** Browser and system in a `User-Agent`. */
interface DeviceDescription {
  browser: string | undefined;
  system: string | undefined;
  /** True for phones and tablets. */
  mobile: boolean;
}

type Rule = readonly [name: string, pattern: RegExp];

/** Browsers claim to be others, so the most specific names come first. */
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

/** Parses a `User-Agent`; unknown parts are undefined. */
export function describeDevice(userAgent: string | null): DeviceDescription {
  const text = userAgent ?? "";
  const match = (rules: readonly Rule[]) => rules.find(([, pattern]) => pattern.test(text))?.[0];
  const system = match(systems);
  return { browser: match(browsers), system, mobile: /iPhone|Android/u.test(system ?? "") };
}

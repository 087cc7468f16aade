/** The last two years of all three engines, as docs/guide/browsers.md promises; older ones would only cost bytes. */
export const browserTargets = ["chrome131", "edge131", "firefox132", "safari18.1"];

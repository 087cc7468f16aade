/** The parts of the texts that the build leaves out of the page's first load; `scripts/split-texts.ts` makes them. */
declare module "*/en.json?account" {
  const texts: import("@/lib/t").Texts<"account">;
  export default texts;
}

declare module "*/en.json?form" {
  const texts: import("@/lib/t").Texts<"form">;
  export default texts;
}

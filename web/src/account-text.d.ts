/** The texts whose names begin with `account.`; the build leaves them out of the page's first load. */
declare module "*/en.json?account" {
  const texts: Readonly<Record<import("@/lib/t").AccountKey, string>>;
  export default texts;
}

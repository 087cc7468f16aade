/** Texts of a language that `scripts/texts-plugin.ts` has compiled. */
declare module "*.json?first" {
  const texts: Readonly<Record<string, import("icu-minify/format").CompiledMessage>>;
  export default texts;
}

declare module "*.json?later" {
  const texts: Readonly<Record<string, import("icu-minify/format").CompiledMessage>>;
  export default texts;
}

/** URL of the script that draws diagrams, which `scripts/diagrams-plugin.ts` builds. */
declare module "virtual:diagram-renderer" {
  const url: string;
  export default url;
}

/** The parts of the texts that the build leaves out of the page's first load; `scripts/split-texts.ts` makes them. */
declare module "*/en.json?account" {
  const texts: import("@/lib/t").Texts<"account">;
  export default texts;
}

declare module "*/en.json?apps" {
  const texts: import("@/lib/t").Texts<"apps">;
  export default texts;
}

declare module "*/en.json?files" {
  const texts: import("@/lib/t").Texts<"files">;
  export default texts;
}

declare module "*/en.json?form" {
  const texts: import("@/lib/t").Texts<"form">;
  export default texts;
}

declare module "*/en.json?approval" {
  const texts: import("@/lib/t").Texts<"approval">;
  export default texts;
}

declare module "*/en.json?elicitation" {
  const texts: import("@/lib/t").Texts<"elicitation">;
  export default texts;
}

declare module "*/en.json?permission" {
  const texts: import("@/lib/t").Texts<"permission">;
  export default texts;
}

declare module "*/en.json?servers" {
  const texts: import("@/lib/t").Texts<"servers">;
  export default texts;
}

declare module "*/en.json?task" {
  const texts: import("@/lib/t").Texts<"task">;
  export default texts;
}

declare module "*/en.json?tools" {
  const texts: import("@/lib/t").Texts<"tools">;
  export default texts;
}

declare module "*/en.json?history" {
  const texts: import("@/lib/t").Texts<"history">;
  export default texts;
}

declare module "*/en.json?share" {
  const texts: import("@/lib/t").Texts<"share">;
  export default texts;
}

declare module "*/en.json?offers" {
  const texts: import("@/lib/t").Texts<"offers">;
  export default texts;
}

declare module "*/en.json?result" {
  const texts: import("@/lib/t").Texts<"result">;
  export default texts;
}

declare module "*/en.json?models" {
  const texts: import("@/lib/t").Texts<"models">;
  export default texts;
}

declare module "*/en.json?steering" {
  const texts: import("@/lib/t").Texts<"steering">;
  export default texts;
}

declare module "*/en.json?queue" {
  const texts: import("@/lib/t").Texts<"queue">;
  export default texts;
}

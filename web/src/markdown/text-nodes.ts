import type { Literal } from "mdast";

/** Text shown exactly as written, white space included. */
interface PlainText extends Literal {
  type: "plainText";
}

/** Formula with its delimiters. */
interface MathText extends Literal {
  type: "math";
}

declare module "mdast" {
  interface RootContentMap {
    plainText: PlainText;
    math: MathText;
  }
  interface PhrasingContentMap {
    plainText: PlainText;
    math: MathText;
  }
}

export function plainText(value: string): PlainText {
  return { type: "plainText", value };
}

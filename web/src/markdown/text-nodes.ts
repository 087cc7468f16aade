import type { Literal } from "mdast";

/** Words that are shown exactly as they were written, white space included. */
export interface PlainText extends Literal {
  type: "plainText";
}

/** A formula, with its delimiters. */
export interface MathText extends Literal {
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

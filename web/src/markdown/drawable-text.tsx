import { Fragment, type ReactNode } from "react";

/** Characters of a word that fit a line of any width, with some to spare. */
const MAX_WORD_LENGTH = 200;
/** Marks on one letter. Scripts and emoji need up to six; thousands take the layout engine minutes. */
const MAX_COMBINING_MARKS = 8;

const LONG_WORD = new RegExp(`\\S{${MAX_WORD_LENGTH}}(?=\\S)`, "u");
/** Up to the place where a long word may be broken: never within a character, and never before a mark on one. */
const WORD_PIECE = new RegExp(`\\S{1,${MAX_WORD_LENGTH}}[\\p{M}\\u200c\\u200d]*`, "gu");
const LONG_RUN_OF_MARKS = new RegExp(`(\\p{M}{${MAX_COMBINING_MARKS}})\\p{M}+`, "gu");
const MANY_MARKS = new RegExp(`\\p{M}{${MAX_COMBINING_MARKS + 1}}`, "u");

/** Leaves out the marks beyond those that a letter can bear, for drawing only. */
export function withoutExcessMarks(text: string): string {
  return MANY_MARKS.test(text) ? text.replaceAll(LONG_RUN_OF_MARKS, "$1") : text;
}

/**
 * A text as the layout engine can bear it: it takes time in proportion to the square of a word's length, so long words
 * get places where they may break. What is copied from the page is the text without them.
 */
export function drawable(source: string): ReactNode {
  const text = withoutExcessMarks(source);
  if (text.length <= MAX_WORD_LENGTH || !LONG_WORD.test(text)) return text;
  return text.split(/(\S{200,})/u).map((piece, index) =>
    // Words and what is between them alternate.
    index % 2 === 0 ? piece : <LongWord key={index} word={piece} />,
  );
}

function LongWord({ word }: { word: string }) {
  return (word.match(WORD_PIECE) ?? [word]).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}

/** Takes out of an excerpt, piece by piece, what is only there to be drawn: stars, backticks, signs of headings, lines of tables. */
export function withoutMarkup(excerpt: string): (piece: string) => string {
  const hasTable = /\|\s*:?-{3}/u.test(excerpt);
  return (piece) => {
    const words = piece.replace(/(?<!\s)\*\*|\*\*(?!\s)|`+|(?<=^|\s)#{1,6}\s/gu, "");
    // A bar outside of a table means something.
    return hasTable ? words.replace(/\s*\|(?:[\s|]|:?-{3,}:?)*/gu, " ") : words;
  };
}

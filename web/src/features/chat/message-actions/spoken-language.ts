/** Frequent words that only one of the languages has. */
const words: Readonly<Record<string, ReadonlySet<string>>> = {
  en: new Set("the and is of that with for are this you not it from have which".split(" ")),
  de: new Set("der die und das ist nicht ein eine mit für auf sich werden auch von dem".split(" ")),
  fr: new Set("le les des est une pour dans qui sur pas avec vous sont cette du".split(" ")),
  es: new Set("el los las y por una con para del se más como está esta su".split(" ")),
};

/** Words that a text must have of a language before it counts. */
const MIN_WORDS = 3;

/** Returns the language tag in which to speak a text: the language whose frequent words it has most, or else `fallback`. */
export function spokenLanguage(text: string, fallback: string): string {
  const found = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const counts = Object.entries(words).map(([language, frequent]) => ({
    language,
    count: found.filter((word) => frequent.has(word)).length,
  }));
  const [best, next] = counts.toSorted((a, b) => b.count - a.count);
  if (!best || best.count < MIN_WORDS || best.count === next?.count) return fallback;
  // The user's variety, such as en-GB, has the better voice.
  return fallback.toLowerCase().startsWith(best.language) ? fallback : best.language;
}

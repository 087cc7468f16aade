import { pageLocale } from "./language";

/** The formatters of the browser, each made once: making one takes longer than formatting with it. */
export const formatters = {
  getNumberFormat: memoized(
    (locale, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options),
  ),
  getDateTimeFormat: memoized(
    (locale, options?: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options),
  ),
  getPluralRules: memoized(
    (locale, options?: Intl.PluralRulesOptions) => new Intl.PluralRules(locale, options),
  ),
};

/** Formats a number in the page's language. */
export function formatNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return formatters.getNumberFormat(pageLocale(), options).format(value);
}

/** Formats a date or time in the page's language and the user's time zone. */
export function formatDate(date: Date, options: Intl.DateTimeFormatOptions): string {
  return formatters.getDateTimeFormat(pageLocale(), options).format(date);
}

/** Formats a day before or after today in the page's language, such as “yesterday”. */
export function formatRelativeDay(days: number): string {
  return new Intl.RelativeTimeFormat(pageLocale(), { numeric: "auto" }).format(days, "day");
}

/** Joins the items of a list as the page's language does, such as “a, b and c”. */
export function formatList(items: readonly string[]): string {
  return new Intl.ListFormat(pageLocale()).format(items);
}

function memoized<Options, Formatter>(
  make: (locale: string, options?: Options) => Formatter,
): (locale?: Intl.LocalesArgument, options?: Options) => Formatter {
  const made = new Map<string, Formatter>();
  return (locale, options) => {
    const key = `${String(locale)} ${JSON.stringify(options)}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const formatter = make(String(locale), options);
    made.set(key, formatter);
    return formatter;
  };
}

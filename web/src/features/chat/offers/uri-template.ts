/**
 * URI templates (RFC 6570), as far as texts go: all operators, prefixes and the explode mark, with one text for each
 * variable. Lists and objects cannot be typed into a field.
 */

interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  /** What follows the name of a variable whose text is empty. */
  readonly ifEmpty: string;
  /** Whether reserved characters stay as they are. */
  readonly reserved: boolean;
}

const PLAIN: Operator = { first: "", separator: ",", named: false, ifEmpty: "", reserved: false };
const OPERATORS: Readonly<Record<string, Operator>> = {
  "+": { ...PLAIN, reserved: true },
  "#": { ...PLAIN, first: "#", reserved: true },
  ".": { ...PLAIN, first: ".", separator: "." },
  "/": { ...PLAIN, first: "/", separator: "/" },
  ";": { ...PLAIN, first: ";", separator: ";", named: true },
  "?": { ...PLAIN, first: "?", separator: "&", named: true, ifEmpty: "=" },
  "&": { ...PLAIN, first: "&", separator: "&", named: true, ifEmpty: "=" },
};

const EXPRESSION = /\{([+#./;?&]?)([^{}]+)\}/gu;
const VARIABLE = /^([^:*]+)(?::(\d{1,4})|\*)?$/u;

/** The names of a template's variables, in order, each once. */
export function variablesOf(template: string): readonly string[] {
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, , list = ""]) =>
    list.split(",").flatMap((item) => VARIABLE.exec(item.trim())?.[1] ?? []),
  );
  return [...new Set(names)];
}

/** The template with these texts. A variable without a text is left out, as the standard has it. */
export function expand(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(EXPRESSION, (_whole, sign: string, list: string) => {
    const operator = OPERATORS[sign] ?? PLAIN;
    const pieces = list.split(",").flatMap((item) => piece(item.trim(), operator, values));
    return pieces.length === 0 ? "" : operator.first + pieces.join(operator.separator);
  });
}

function piece(item: string, operator: Operator, values: Readonly<Record<string, string>>): string[] {
  const [, name = "", length] = VARIABLE.exec(item) ?? [];
  const value = values[name];
  if (value === undefined) return [];
  const cut = length === undefined ? value : [...value].slice(0, Number(length)).join("");
  const text = operator.reserved ? encodeAllButReserved(cut) : encode(cut);
  if (!operator.named) return [text];
  return [text === "" ? name + operator.ifEmpty : `${name}=${text}`];
}

/** Everything but letters, digits and `-._~` as bytes of UTF-8. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The same, but signs that have a meaning in addresses stay, and so do bytes that are encoded already. */
function encodeAllButReserved(text: string): string {
  return text
    .toWellFormed()
    .split(/(%[0-9A-Fa-f]{2}|[:/?#[\]@!$&'()*+,;=])/u)
    .map((part, index) => (index % 2 === 1 ? part : encode(part)))
    .join("");
}

/**
 * URI templates (RFC 6570) with one text per variable: all operators, prefixes and the explode mark. Lists and objects
 * cannot be typed into a field.
 */

interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  /** Separator after the name of a variable whose value is empty. */
  readonly ifEmpty: string;
  /** True if reserved characters are not percent-encoded. */
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

/** Returns the names of a template's variables, in order, without duplicates. */
export function variablesOf(template: string): readonly string[] {
  const names = [...template.matchAll(EXPRESSION)].flatMap(([, , list = ""]) =>
    list.split(",").flatMap((item) => VARIABLE.exec(item.trim())?.[1] ?? []),
  );
  return [...new Set(names)];
}

/** Expands a template. A variable without a value is left out, as the RFC demands. */
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

/** Percent-encodes all bytes except letters, digits and `-._~`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Percent-encodes like {@link encode}, but leaves reserved characters and existing escapes. */
function encodeAllButReserved(text: string): string {
  return text
    .toWellFormed()
    .split(/(%[0-9A-Fa-f]{2}|[:/?#[\]@!$&'()*+,;=])/u)
    .map((part, index) => (index % 2 === 1 ? part : encode(part)))
    .join("");
}

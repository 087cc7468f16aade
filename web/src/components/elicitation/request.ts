import { isObject, type JsonObject } from "@/lib/json";
import { showInvisible } from "@/lib/show-invisible";
import type { Field, GroupField } from "@/components/schema-form/field-model";

/** Response to an elicitation, as MCP defines it. */
export type ElicitationAction = "accept" | "decline" | "cancel";

/** Longest text with a single-line field, in characters. */
const MAX_LINE_CHARS = 200;

/** Elicitation of values by a form. */
export interface FormRequest {
  mode: "form";
  message: string;
  form: GroupField;
}

/** Elicitation to open a page. */
export interface UrlRequest {
  mode: "url";
  message: string;
  url: URL;
  /** True if the host is in Punycode, and may resemble another. */
  punycode: boolean;
  /** True if the call continues when the user reports the visit; otherwise agreeing is enough. */
  retriesCall: boolean;
}

/** Sign-in to the server, which the call needs. */
interface SignInRequest {
  mode: "sign-in";
  connectionId: string;
  /** True if the user is signed in and has to grant more permissions. */
  additionalScopes: boolean;
}

export type InteractionRequest = FormRequest | UrlRequest | SignInRequest;

/** Parses an interaction; null if this page does not know its kind. */
export function parseRequest(value: unknown): InteractionRequest | null {
  if (!isObject(value)) return null;
  if (value["mode"] === "form") {
    const fields = Array.isArray(value["fields"]) ? value["fields"].filter(isObject) : [];
    return { mode: "form", message: textIn(value, "message"), form: formOf(fields) };
  }
  if (value["mode"] === "url" && URL.canParse(textIn(value, "url"))) {
    return {
      mode: "url",
      message: textIn(value, "message"),
      url: new URL(textIn(value, "url")),
      punycode: value["punycode"] === true,
      retriesCall: value["retriesCall"] === true,
    };
  }
  if (value["mode"] !== "sign-in") return null;
  const additionalScopes = value["additionalScopes"] === true;
  return { mode: "sign-in", connectionId: textIn(value, "connectionId"), additionalScopes };
}

/** Returns the form model of a request's fields. */
function formOf(fields: readonly JsonObject[]): GroupField {
  return {
    kind: "group",
    name: "",
    label: "",
    description: undefined,
    required: true,
    nullable: false,
    default: undefined,
    fields: fields.map(fieldOf),
  };
}

function fieldOf(field: JsonObject): Field {
  const description = textIn(field, "description");
  const base = {
    name: textIn(field, "name"),
    label: showInvisible(textIn(field, "title")),
    description: description === "" ? undefined : showInvisible(description),
    required: field["required"] === true,
    nullable: false,
    default: field["default"],
  };
  const { values, titles } = choicesIn(field);
  switch (field["kind"]) {
    case "number":
      return {
        ...base,
        kind: "number",
        integer: field["integer"] === true,
        minimum: numberIn(field, "minimum"),
        maximum: numberIn(field, "maximum"),
      };
    case "boolean":
      return { ...base, kind: "boolean" };
    case "one":
      return { ...base, kind: "choice", options: values, titles };
    case "many":
      return {
        ...base,
        kind: "many",
        options: values,
        titles,
        minItems: numberIn(field, "minItems"),
        maxItems: numberIn(field, "maxItems"),
      };
    default: {
      const maxLength = numberIn(field, "maxLength");
      return {
        ...base,
        kind: "text",
        format: textIn(field, "format") || (isOneLine(field["default"], maxLength) ? "text" : undefined),
        // Patterns of servers are not run here, because they could block the page. The server checks them itself.
        pattern: undefined,
        minLength: numberIn(field, "minLength"),
        maxLength,
      };
    }
  }
}

/** Returns true for short texts, where Enter would only add an invisible character. */
function isOneLine(given: unknown, maxLength: number | undefined): boolean {
  const lines = typeof given === "string" && given.includes("\n");
  return maxLength !== undefined && maxLength <= MAX_LINE_CHARS && !lines;
}

function choicesIn(field: JsonObject): { values: string[]; titles: string[] } {
  const options = Array.isArray(field["options"]) ? field["options"].filter(isObject) : [];
  return {
    values: options.map((option) => textIn(option, "value")),
    titles: options.map((option) => showInvisible(textIn(option, "title"))),
  };
}

function textIn(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

function numberIn(object: JsonObject, key: string): number | undefined {
  const value = object[key];
  return typeof value === "number" ? value : undefined;
}

import { isObject, type JsonObject } from "@/lib/json";
import { showInvisible } from "@/lib/show-invisible";
import type { Field, GroupField } from "@/components/schema-form/field-model";

/** What a person does with a question. The three mean different things to a server. */
export type ElicitationAction = "accept" | "decline" | "cancel";

/** The longest text that is asked for in one line, in characters. */
const MAX_LINE_CHARS = 200;

/** Values to be filled in. */
export interface FormRequest {
  mode: "form";
  message: string;
  form: GroupField;
}

/** A page to be visited. */
export interface UrlRequest {
  mode: "url";
  message: string;
  url: URL;
  /** The host is written in Punycode, so that it may look like another. */
  punycode: boolean;
  /** The call goes on when the person says that the visit is done; otherwise agreeing is enough. */
  makesCallAgain: boolean;
}

/** A sign-in to the server, without which the call is not made. */
export interface SignInRequest {
  mode: "sign-in";
  connectionId: string;
  /** They are signed in, and have to allow the server more. */
  moreRights: boolean;
}

export type InteractionRequest = FormRequest | UrlRequest | SignInRequest;

/** A question from what the server of the app says about it; null for what this page does not know. */
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
      makesCallAgain: value["makesCallAgain"] === true,
    };
  }
  if (value["mode"] !== "sign-in") return null;
  const moreRights = value["moreRights"] === true;
  return { mode: "sign-in", connectionId: textIn(value, "connectionId"), moreRights };
}

/** The form model of a question's fields. */
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
        // A server's expression is not run here: it could keep the page busy for ever. The server tries it itself.
        pattern: undefined,
        minLength: numberIn(field, "minLength"),
        maxLength,
      };
    }
  }
}

/** A text as short as a name has no second line: Enter in it would only add a character that nobody sees. */
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

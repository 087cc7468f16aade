import { isObject, jsonOrUndefined } from "./json";
import { t } from "./t";

/** Refused or failed API call, with a message for the user. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status, or 0 if the server was unreachable. */
  readonly status: number;
  /** Stable error code; empty if there is none. */
  readonly code: string;
  /** Wait in seconds that the server demands after too many calls. */
  readonly retryAfterSeconds: number | undefined;
  /** True if the message is the server's and not a text of the page. */
  readonly isServerText: boolean;

  constructor(message: string, status: number, code = "", retryAfterSeconds?: number, isServerText = false) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.isServerText = isServerText;
  }
}

/** Returns the error of a request that reached no server. */
export function unreachableError(): ApiError {
  return new ApiError(t("error.unreachable"), 0);
}

/** Returns the message of anything thrown. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** Parses the error of a failed response, in any of the API's shapes. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const { message, code } = parseErrorBody(text);
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  const own = code !== undefined && isKnownCode(code) ? t(`error.code.${code}`) : undefined;
  return new ApiError(
    own ?? message ?? t("error.status", { status: String(response.status) }),
    response.status,
    code,
    Number.isFinite(wait) ? wait : undefined,
    own === undefined && message !== undefined,
  );
}

/** Codes whose meaning needs no details of the server. */
const KNOWN_CODES = ["unauthorized", "overloaded", "outage", "internal", "not_found"] as const;

function isKnownCode(code: string): code is (typeof KNOWN_CODES)[number] {
  return KNOWN_CODES.some((known) => known === code);
}

interface ErrorBody {
  message?: string | undefined;
  code?: string | undefined;
}

/**
 * Parses an error body: `{error: {code, message}}` of `/api`, `{error, code}` of the chat, `{success: false, error}` of
 * the proxy, and `{code, message}` of PostgREST.
 */
export function parseErrorBody(text: string): ErrorBody {
  const body = jsonOrUndefined(text);
  if (!isObject(body)) return {};
  const inner = body["error"];
  if (isObject(inner)) return { message: string(inner["message"]), code: string(inner["code"]) };
  return {
    message: string(body["error"]) ?? string(body["message"]) ?? string(body["msg"]),
    code: string(body["code"]) ?? string(body["error_code"]),
  };
}

function string(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

import { isObject, jsonOrUndefined } from "./json";
import { t } from "./t";

/** Refused or failed API call, with the server's message. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status, or 0 if the server was unreachable. */
  readonly status: number;
  /** Stable error code; empty if there is none. */
  readonly code: string;
  /** Wait in seconds that the server demands after too many calls. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, status: number, code = "", retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Parses the error of a failed response, in any of the API's shapes. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const { message, code } = parseErrorBody(text);
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(
    message ?? t("error.status", { status: String(response.status) }),
    response.status,
    code,
    Number.isFinite(wait) ? wait : undefined,
  );
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

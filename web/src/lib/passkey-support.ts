/** True if the browser has passkeys, and the page is one that may use them: over TLS, or on the same computer. */
export const supportsPasskeys = "parseRequestOptionsFromJSON" in (globalThis.PublicKeyCredential ?? {});

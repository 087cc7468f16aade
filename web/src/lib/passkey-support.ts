import { boot } from "./boot";

/** True if the browser has passkeys, and the page is one that may use them: over TLS, or on the same computer. */
export const supportsPasskeys = "parseRequestOptionsFromJSON" in (globalThis.PublicKeyCredential ?? {});

/** True if users can sign in with passkeys on this page: browsers bind them to the domain of the site. */
export const offersPasskeys = boot.passkeys === globalThis.location?.hostname && supportsPasskeys;

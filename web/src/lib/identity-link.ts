/** Query parameter of the URL to which the identity provider leads back after linking an identity. */
export const identityLinkMark = "identity";

/** Returns the URL that opens the security settings after linking an identity. */
export function identityLinkTarget(origin: string): string {
  return `${origin}/?settings=security&${identityLinkMark}=linked`;
}

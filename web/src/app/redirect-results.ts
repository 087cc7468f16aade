import { showEmailLinkResult } from "./email-link-result";
import { showServiceRedirectResult } from "./service-redirect-result";

/** Says what a link or another site that led here has done. */
export function showRedirectResults(): void {
  showServiceRedirectResult();
  void showEmailLinkResult();
}

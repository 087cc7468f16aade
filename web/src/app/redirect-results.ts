import { showEmailLinkResult } from "./email-link-result";
import { showServiceRedirectResult } from "./service-redirect-result";

/** Shows the result of the email link or redirect that opened the page. */
export function showRedirectResults(): void {
  showServiceRedirectResult();
  void showEmailLinkResult();
}

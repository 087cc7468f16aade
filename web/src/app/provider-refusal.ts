import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { registrationRefusal } from "@/lib/registration-refusal";

/** Code of an error that the identity provider itself has reported. */
const OTHER_ERROR = "";

/**
 * Returns the text for a sign-in at the identity provider that failed, by the code in the URL; undefined if the code is
 * not about a sign-in at a provider, or there is no provider.
 */
export function providerRefusal(code: string | null): string | undefined {
  if (!boot.provider) return undefined;
  const { name } = boot.provider;
  switch (code ?? OTHER_ERROR) {
    case OTHER_ERROR:
      return t("account.provider.declined", { name });
    case "unexpected_failure":
    case "bad_oauth_callback":
      return t("account.provider.failed");
    case "bad_oauth_state":
      return t("account.provider.expired");
    case "email_exists":
      return t("account.provider.emailExists");
    case "provider_email_needs_verification":
      return t("account.provider.unverified", { name });
    case "email_address_not_provided":
      return t("account.provider.noEmail", { name });
    case "email_provider_disabled":
      return t("account.provider.only", { name });
    case "identity_already_exists":
      return t("account.provider.taken", { name });
    case "signup_disabled":
      return t("auth.error.signup_disabled");
    case "email_address_not_authorized":
      return t("auth.error.email_address_not_authorized");
    default:
      return registrationRefusal(code);
  }
}

import { t } from "@/lib/later-texts";

/** Returns why a registration token was refused, by the code of the error; undefined if the error is another one. */
export function registrationRefusal(code: string | null | undefined): string | undefined {
  switch (code) {
    case "registration_token_invalid":
      return t("account.register.invalid");
    case "registration_token_expired":
      return t("account.register.expired");
    case "registration_token_used_up":
      return t("account.register.usedUp");
    default:
      return undefined;
  }
}

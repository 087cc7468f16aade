import type { Provider } from "@supabase/auth-js";
import { authErrorMessage } from "@/lib/auth-error-message";
import { boot } from "@/lib/boot";
import { auth } from "@/lib/session";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { toast } from "@/ui/toast";

/** Name of the identity provider in the server's API; the client's types list only providers of Supabase. */
const providerName: string = "oidc";

/** Leaves the page for the identity provider, which leads back to `startUrl`. */
async function signInWithProvider(startUrl: string, queryParams?: Record<string, string>): Promise<void> {
  const options = { redirectTo: location.origin + startUrl, ...(queryParams && { queryParams }) };
  const { error } = await auth.signInWithOAuth({ provider: providerName as Provider, options });
  if (error !== null)
    toast({ title: t("auth.signInFailed"), description: authErrorMessage(error), tone: "err" });
}

interface ProviderButtonProps {
  /** Returns the URL at which the new session starts. */
  startUrl: () => string;
  /** Parameters for the server, besides the usual ones. */
  queryParams?: Record<string, string>;
}

/** Button that signs in at the identity provider, above the forms if there are any. */
export function ProviderButton({ startUrl, queryParams }: ProviderButtonProps) {
  const { provider } = boot;
  if (!provider) return null;
  return (
    <>
      <Button
        variant={provider.only ? "primary" : "line"}
        className="mt-5 h-auto! min-h-9 w-full py-2 whitespace-normal! touch:min-h-11"
        onClick={() => void signInWithProvider(startUrl(), queryParams)}
      >
        <span className="leading-snug text-balance wrap-anywhere">
          {t("auth.provider", { name: provider.name })}
        </span>
      </Button>
      {!provider.only && (
        <p className="mt-5 flex items-center gap-3 text-sm text-ink-2 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
          {t("auth.or")}
        </p>
      )}
    </>
  );
}

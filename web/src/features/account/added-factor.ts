import { useQueryClient } from "@tanstack/react-query";
import { factorsQuery, recoveryCodesQuery } from "@/components/account/queries";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { toast } from "@/ui/toast";
import { issueFirstRecoveryCodes } from "./recovery-codes";

interface AddedFactorTexts {
  /** What sign-ins ask for from now on. */
  first: string;
  /** Title where sign-ins asked for a factor before. */
  another: string;
}

/**
 * Returns the function to call when a factor is set up. It updates the section, tells the user, and with the first factor
 * creates recovery codes, which it returns.
 */
export function useAddedFactor(
  user: SignedInUser,
  texts: AddedFactorTexts,
): () => Promise<readonly string[] | undefined> {
  const client = useQueryClient();
  return async () => {
    const { queryKey } = factorsQuery(user.id);
    const isFirst = client.getQueryData(queryKey)?.length === 0;
    // Without them, the section offers to create them.
    const codes = isFirst ? await issueFirstRecoveryCodes() : undefined;
    void client.invalidateQueries({ queryKey });
    void client.invalidateQueries({ queryKey: recoveryCodesQuery(user.id).queryKey });
    toast(
      isFirst
        ? { title: t("account.twoStep.on"), description: texts.first, tone: "ok" }
        : { title: texts.another, tone: "ok" },
    );
    return codes;
  };
}

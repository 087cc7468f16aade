import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Checkbox } from "@/ui/field";
import { toastFailure } from "@/ui/toast";
import { apiKeysQuery, endAllApiKeys, endAllShares, sharesQuery } from "./queries";

interface Revocation {
  /** Checkboxes for the keys and links to revoke; empty if there are none. */
  choices: ReactNode;
  /** Revokes the selected ones. */
  revoke: () => Promise<void>;
}

/**
 * Offers to revoke keys and links together with a password change, because anyone who knew the old password may have
 * created them.
 */
export function useRevocation(user: SignedInUser): Revocation {
  const client = useQueryClient();
  const keys = apiKeysQuery(user.id);
  const shares = sharesQuery(user.id);
  const keyCount = useQuery(keys).data?.length ?? 0;
  const shareCount = useQuery(shares).data?.length ?? 0;
  const [endsKeys, setEndsKeys] = useState(false);
  const [endsShares, setEndsShares] = useState(false);

  async function revoke(): Promise<void> {
    try {
      if (endsKeys) await endAllApiKeys();
      if (endsShares) await endAllShares();
    } catch (error) {
      toastFailure(t("account.revoke.failed"), error);
    }
    await Promise.all([
      client.invalidateQueries({ queryKey: keys.queryKey }),
      client.invalidateQueries({ queryKey: shares.queryKey }),
    ]);
  }

  const choices = (keyCount > 0 || shareCount > 0) && (
    <fieldset className="grid gap-1.5">
      <legend className="pb-1.5 text-sm text-ink-2">{t("account.revoke.also")}</legend>
      {keyCount > 0 && (
        <Checkbox
          className="text-md"
          label={t("account.revoke.keys", { n: keyCount })}
          checked={endsKeys}
          onChange={setEndsKeys}
        />
      )}
      {shareCount > 0 && (
        <Checkbox
          className="text-md"
          label={t("account.revoke.shares", { n: shareCount })}
          checked={endsShares}
          onChange={setEndsShares}
        />
      )}
    </fieldset>
  );
  return { choices, revoke };
}

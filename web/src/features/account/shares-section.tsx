import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { endShare, type Share, sharesQuery } from "@/components/account/queries";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { toast, toastError } from "@/ui/toast";
import { whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { focusSection, Section } from "./section";

const SECTION = "shares";

/** Chats that the user shares, with buttons to stop sharing. */
export function SharesSection({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const query = sharesQuery(user.id);
  const { data: shares, error } = useQuery(query);
  const end = useMutation({
    mutationFn: (share: Share) => endShare(share.id),
    onSuccess: (_, ended) => {
      client.setQueryData(query.queryKey, (list) => (list ?? []).filter(({ id }) => id !== ended.id));
      focusSection(SECTION);
      toast({ title: t("account.shares.ended"), description: ended.title, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <Section id={SECTION} title={t("account.shares")} about={t("account.shares.about")}>
      {shares === undefined && (error ? <FailedRow queryKey={query.queryKey} /> : <LoadingRow />)}
      {shares?.length === 0 && <p className="px-4 py-3 text-md text-ink-2">{t("account.shares.none")}</p>}
      {shares !== undefined && shares.length > 0 && (
        <ul className="divide-y divide-line">
          {shares.map((share) => (
            <li key={share.id} className="flex items-center gap-3 px-4 py-2.5 text-md">
              <div className="min-w-0 flex-1">
                <p className="truncate">{share.title}</p>
                <p className="text-sm text-ink-2 wrap-anywhere">{aboutOf(share)}</p>
              </div>
              <Button
                size="sm"
                aria-label={t("account.shares.endOf", { title: share.title })}
                disabled={end.isPending}
                onClick={() => end.mutate(share)}
              >
                {t("account.shares.end")}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function aboutOf({ createdAt, messages, tools }: Share): string {
  const facts = [whenOf(createdAt), t("account.shares.messages", { n: messages })];
  if (tools) facts.push(t("account.shares.tools"));
  return facts.join(" · ");
}

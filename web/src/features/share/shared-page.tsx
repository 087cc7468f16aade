import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { FileUrlContext } from "@/components/files/file-ref";
import { formatDate } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { UserQueries } from "@/lib/user-queries";
import { Button, buttonClass } from "@/ui/button";
import { Logo } from "@/ui/logo";
import { type Snapshot, snapshotQuery } from "./queries";
import { SharedMessageView } from "./shared-message";

/** Read-only page of a shared chat. */
export function SharedPage({ token }: { token: string }) {
  return (
    <UserQueries>
      <SharedChat token={token} />
    </UserQueries>
  );
}

function SharedChat({ token }: { token: string }) {
  const client = useQueryClient();
  const query = snapshotQuery(token);
  const { data, error } = useQuery(query);
  useEffect(() => {
    if (data) document.title = `${data.title} · ${t("app.title")}`;
  }, [data]);
  return (
    <div className="grid h-safe grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]">
      <header className="bleed-head flex items-center gap-3 border-b border-line bg-surface px-5 py-2.5 max-wide:px-3">
        <Logo className="max-phone:hidden" />
        <p className="min-w-0 flex-1 truncate font-semibold">{t("app.title")}</p>
        <a href="/" className={buttonClass({ size: "sm" })}>
          {t("share.home")}
        </a>
      </header>
      <main className="overflow-auto px-5 py-8 max-wide:px-3.5 max-wide:py-5" tabIndex={0}>
        <div className="mx-auto max-w-measure">
          {data && (
            <FileUrlContext
              value={(url) => url.replace("/v1/files/", `/api/shared/${encodeURIComponent(token)}/files/`)}
            >
              <Shown snapshot={data} />
            </FileUrlContext>
          )}
          {data === null && <Notice title={t("share.gone")} text={t("share.gone.text")} />}
          {data === undefined && error instanceof Error && (
            <Notice
              title={t("share.failed")}
              text={error.message}
              onRetry={() => void client.invalidateQueries({ queryKey: query.queryKey })}
            />
          )}
        </div>
      </main>
    </div>
  );
}

interface NoticeProps {
  title: string;
  text: string;
  onRetry?: () => void;
}

function Notice({ title, text, onRetry }: NoticeProps) {
  return (
    <div role="status" className="grid justify-items-center gap-2 pt-16 text-center">
      <h1 className="text-lg">{title}</h1>
      <p className="text-ink-2">{text}</p>
      {onRetry && <Button onClick={onRetry}>{t("share.again")}</Button>}
    </div>
  );
}

function Shown({ snapshot }: { snapshot: Snapshot }) {
  return (
    <>
      <h1 className="text-xl leading-7 wrap-anywhere">{snapshot.title}</h1>
      <p className="mt-1 mb-8 text-sm text-ink-2">
        {t("share.shared", {
          when: formatDate(new Date(snapshot.sharedAt), { dateStyle: "long", timeStyle: "short" }),
        })}
      </p>
      {snapshot.messages.map((message, index) => (
        // A snapshot never changes.
        <SharedMessageView key={index} message={message} />
      ))}
    </>
  );
}

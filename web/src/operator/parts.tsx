import { type ReactNode, useEffect, useId } from "react";
import { formatDate } from "@/lib/intl";
import { whenOf } from "@/features/account/format-when";
import { cn } from "@/lib/cn";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { ErrorMessage } from "@/ui/error-message";
import { t } from "./t";

interface PageHeadProps {
  title: string;
  about?: string;
  /** Controls beside the title. */
  children?: ReactNode;
}

/** Heading of a section, which names the page as well. */
export function PageHead({ title, about, children }: PageHeadProps) {
  useEffect(() => {
    document.title = t("operator.page", { section: title });
  }, [title]);
  return (
    <div className="mb-5 flex flex-wrap items-center gap-x-3 gap-y-3">
      <div className="min-w-0 flex-1 basis-60">
        <h2 className="text-lg wrap-anywhere">{title}</h2>
        {about !== undefined && <p className="text-md text-ink-2">{about}</p>}
      </div>
      {children}
    </div>
  );
}

interface PanelProps {
  title: string;
  about?: string | undefined;
  /** Control beside the title. */
  action?: ReactNode;
  className?: string;
  children?: ReactNode;
}

/** Titled card. */
export function Panel({ title, about, action, className, children }: PanelProps) {
  const id = useId();
  return (
    <Card aria-labelledby={id} className={cn("min-w-0 self-start overflow-hidden", className)}>
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2 px-5 pt-[18px] pb-3 max-wide:px-4">
        <div className="min-w-0 flex-1 basis-40">
          <h3 id={id}>{title}</h3>
          {about !== undefined && <p className="text-sm wrap-anywhere text-ink-2">{about}</p>}
        </div>
        {action}
      </div>
      {children}
    </Card>
  );
}

/** What a panel shows instead of an empty list. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className="px-5 pb-5 text-md text-ink-2 max-wide:px-4">{children}</p>;
}

interface LoadedProps<Data> {
  query: {
    data: Data | undefined;
    error: Error | null;
    isFetching: boolean;
    refetch: () => Promise<unknown>;
  };
  children: (data: NonNullable<Data>) => ReactNode;
}

/** Content that is loaded: a placeholder at first, and what went wrong with a way to try again. */
export function Loaded<Data>({ query, children }: LoadedProps<Data>) {
  const { data, error, isFetching, refetch } = query;
  if (data !== undefined && data !== null) return children(data);
  if (error === null) return <Placeholder />;
  return (
    <div className="flex flex-wrap items-center gap-3 px-5 pb-5 max-wide:px-4">
      <div className="min-w-0 flex-1">
        <p className="text-md">{t("operator.loadFailed")}</p>
        <ErrorMessage error={error} />
      </div>
      <Button size="sm" busy={isFetching} disabled={isFetching} onClick={() => void refetch()}>
        {t("operator.retry")}
      </Button>
    </div>
  );
}

/** Placeholder for rows that are loading, shown only after a delay. */
export function Placeholder() {
  return (
    <div role="status" className="appear-late grid gap-4 px-5 pt-2 pb-6 max-wide:px-4">
      {["w-3/5", "w-2/5", "w-1/2"].map((width) => (
        <span key={width} className={cn("block h-3.5 rounded-sm bg-sunken", width)} />
      ))}
    </div>
  );
}

interface FactsProps {
  facts: readonly (readonly [name: string, value: ReactNode] | undefined)[];
}

/** Names with their values, side by side where there is room. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl className="divide-y divide-line border-t border-line">
      {facts
        .filter((fact) => fact !== undefined)
        .map(([name, value]) => (
          <div key={name} className="flex flex-wrap gap-x-4 px-5 py-2.5 text-md max-wide:px-4">
            <dt className="w-40 shrink-0 text-ink-2">{name}</dt>
            <dd className="min-w-0 flex-1 basis-40 wrap-anywhere">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Formats a time with its date. */
export function timeOf(moment: string): string {
  return formatDate(new Date(moment), { dateStyle: "medium", timeStyle: "short" });
}

/** Formats a time that may not have come, as readers say it. */
export function whenOrNever(moment: string | null): string {
  return moment === null ? t("operator.never") : whenOf(moment);
}

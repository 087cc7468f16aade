import { useMutation } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { use, useLayoutEffect, useRef } from "react";
import { claimsOf } from "@/components/approval/definition";
import { errorText } from "@/lib/error-text";
import { t } from "@/lib/later-texts";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ChatId } from "../chat-context";
import { decide, type Decision } from "../queries";
import type { ApprovalRequest } from "../stream/message";

const shortClaims = {
  "approval.claim.reads": "approval.short.reads",
  "approval.claim.writes": "approval.short.writes",
  "approval.claim.destroys": "approval.short.destroys",
} as const;

/** Badge with the first claim that a server makes about a tool waiting for approval. */
export function ClaimBadge({ approval }: { approval: ApprovalRequest }) {
  const [claim] = claimsOf(approval.definition);
  const short = shortClaims[claim as keyof typeof shortClaims];
  if (short === undefined) return null;
  return <Badge tone={claim === "approval.claim.destroys" ? "warn" : "neutral"}>{t(short)}</Badge>;
}

/** Sticky heading over several calls that wait for approval. */
export function ApprovalGroupHead({ count }: { count: number }) {
  return (
    <h4 className="sticky -top-5 z-10 wide:-top-7 flex min-h-[42px] items-center gap-2.5 rounded-t-md border border-warn-dot bg-warn-soft px-3 text-md font-medium text-warn">
      <TriangleAlert aria-hidden="true" className="size-4 shrink-0" />
      {t("approval.group.title", { n: count })}
    </h4>
  );
}

/** Buttons that answer all calls of a group. Each call can still be answered on its own. */
export function ApprovalGroupFoot({ approvals }: { approvals: readonly ApprovalRequest[] }) {
  const chatId = use(ChatId);
  const foot = useRef<HTMLDivElement>(null);
  const answer = useMutation({
    mutationFn: async (decision: Decision) => {
      const results = await Promise.allSettled(
        approvals.map(({ id }) => decide(chatId, id, decision, undefined)),
      );
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  });
  useLayoutEffect(() => {
    const own = foot.current;
    const card = own?.previousElementSibling?.querySelector("button");
    // The buttons disappear after the decision; keyboard users continue from the last card.
    return () => {
      if (own?.contains(document.activeElement) === true) card?.focus();
    };
  }, []);
  const respond = (decision: Decision) => {
    if (!answer.isPending) answer.mutate(decision);
  };
  return (
    <div
      ref={foot}
      role="group"
      aria-label={t("approval.group.title", { n: approvals.length })}
      className="-mt-2 flex flex-wrap items-center gap-2 rounded-b-md border border-warn-dot border-t-line bg-surface px-3 py-2.5"
    >
      {answer.isError && (
        <p role="alert" className="w-full text-sm text-err wrap-anywhere">
          {errorText(answer.error)}
        </p>
      )}
      <Button
        size="sm"
        variant="primary"
        aria-disabled={answer.isPending || undefined}
        onClick={() => respond("once")}
      >
        {t("approval.group.allow", { n: approvals.length })}
      </Button>
      <Button
        size="sm"
        variant="danger"
        aria-disabled={answer.isPending || undefined}
        onClick={() => respond("deny")}
      >
        {t("approval.group.deny")}
      </Button>
    </div>
  );
}

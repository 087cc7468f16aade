import { useMutation } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { use, useId, useState } from "react";
import { claimsOf } from "@/components/approval/definition";
import { DefinitionChanges } from "@/components/approval/definition-changes";
import { TextBlock } from "@/components/tool-result/text-block";
import { formatList } from "@/lib/intl";
import { isObject, parseJson, stringifyJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { allowTools } from "@/lib/tool-permission";
import { useNow } from "@/lib/use-now";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { Field, Textarea } from "@/ui/field";
import { useFocusHandover } from "@/ui/focus";
import { ChatId } from "../chat-context";
import { decide, type Decision } from "../queries";
import type { ApprovalRequest, ToolPart } from "../stream/message";

interface Response {
  decision: Decision;
  /** Arguments in place of the model's. */
  args: unknown;
  /** Connection whose read-only tools are all allowed permanently first. */
  allowing: string | undefined;
}

interface ApprovalProps {
  part: ToolPart;
  approval: ApprovalRequest;
}

/**
 * Approval request of a tool call: what the call would do, and the buttons to answer. It takes no focus, and no key
 * press answers it.
 */
export function Approval({ part, approval }: ApprovalProps) {
  const chatId = use(ChatId);
  // Keyboard users continue from the card.
  const panel = useFocusHandover<HTMLElement>();
  const titleId = useId();
  const [draft, setDraft] = useState<string>();
  const [draftError, setDraftError] = useState<string>();
  const answer = useMutation({
    mutationFn: async ({ decision, args, allowing }: Response) => {
      if (allowing !== undefined) await allowTools(allowing, "read-only", "always");
      await decide(chatId, approval.id, decision, args);
    },
  });
  const { description } = approval.definition;
  // The changes contain it.
  const isDescriptionChanged =
    approval.before !== undefined && approval.before["description"] !== description;
  const claims = claimsOf(approval.definition);
  const server = part.serverName ?? "";

  function respond(decision: Decision, allowing?: string): void {
    if (answer.isPending) return;
    const read = draft === undefined || decision === "deny" ? {} : argumentsIn(draft);
    setDraftError(read.error);
    if (read.error === undefined) answer.mutate({ decision, args: read.value, allowing });
  }

  return (
    <section
      ref={panel}
      aria-labelledby={titleId}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 border-t border-line px-3.5 pt-3 pb-3.5"
    >
      {/* The row above names tool and server where it has room for both. */}
      <h4 id={titleId} className="text-md wrap-anywhere wide:sr-only">
        {t("approval.title", { tool: part.toolName, server })}
      </h4>
      {(approval.before ?? approval.instructions) !== undefined && <DefinitionChanges approval={approval} />}
      {typeof description === "string" && description !== "" && !isDescriptionChanged && (
        <p
          className="max-h-40 overflow-y-auto text-sm whitespace-pre-line text-ink-2 wrap-anywhere"
          tabIndex={0}
        >
          {showInvisible(description)}
        </p>
      )}
      {claims.length > 0 && (
        <p className="text-sm text-ink-2">
          {t("approval.claims", { server, claims: formatList(claims.map((claim) => t(claim))) })}
        </p>
      )}
      {draft === undefined ? (
        <div>
          <p className="mb-1 text-xs text-ink-2">{t("approval.arguments")}</p>
          <TextBlock text={stringifyJson(part.input, 2)} />
        </div>
      ) : (
        <Field label={t("approval.arguments")} error={draftError}>
          {(ids) => (
            <Textarea
              {...ids}
              value={draft}
              onChange={(event) => setDraft(event.target.value)}
              spellCheck={false}
              className="min-h-28 font-mono text-sm"
            />
          )}
        </Field>
      )}
      <ErrorMessage error={answer.error} />
      {/* However long the call is, its answers stay in sight; the edge of the transcript fades. */}
      <div
        role="group"
        aria-label={t("approval.title", { tool: part.toolName, server })}
        className="sticky bottom-5 -mx-3.5 -mb-3.5 flex flex-wrap gap-2 rounded-b-md border-t border-line bg-surface px-3.5 py-3"
      >
        <Button size="sm" variant="primary" aria-disabled={answer.isPending} onClick={() => respond("once")}>
          {t("approval.once")}
        </Button>
        <Button size="sm" aria-disabled={answer.isPending} onClick={() => respond("always")}>
          {t("approval.always")}
        </Button>
        <ReadOnlyToolsButton
          approvals={[approval]}
          isPending={answer.isPending}
          onAllow={(connectionId) => respond("always", connectionId)}
        />
        {draft === undefined && (
          <Button size="sm" onClick={() => setDraft(stringifyJson(part.input, 2))}>
            {t("approval.edit")}
          </Button>
        )}
        <Button size="sm" variant="danger" aria-disabled={answer.isPending} onClick={() => respond("deny")}>
          {t("approval.deny")}
        </Button>
      </div>
    </section>
  );
}

function argumentsIn(text: string): { value?: unknown; error?: string } {
  try {
    const value = parseJson(text);
    return isObject(value) ? { value } : { error: t("approval.notObject") };
  } catch (cause) {
    return { error: t("approval.notJson", { reason: cause instanceof Error ? cause.message : "" }) };
  }
}

const shortClaims = {
  "approval.claim.reads": "approval.short.reads",
  "approval.claim.writes": "approval.short.writes",
  "approval.claim.destroys": "approval.short.destroys",
} as const;

/** Says in the row of a call that its tool has changed since the user allowed it. */
export function ChangedNote() {
  return <span className="text-sm whitespace-nowrap text-warn">{t("approval.short.changed")}</span>;
}

/** Badge with the first claim that a server makes about a tool waiting for approval. */
export function ClaimBadge({ approval }: { approval: ApprovalRequest }) {
  const [claim] = claimsOf(approval.definition);
  const short = shortClaims[claim as keyof typeof shortClaims];
  if (short === undefined) return null;
  return <Badge tone={claim === "approval.claim.destroys" ? "warn" : "neutral"}>{t(short)}</Badge>;
}

/**
 * Returns when a request was made, in milliseconds since 1970. The server sends no time, but its ids contain one: they
 * are UUIDs of version 7.
 */
function requestedAt({ id }: ApprovalRequest): number | undefined {
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7/u.exec(id) ?? [];
  return high === undefined ? undefined : Number.parseInt(`${high}${low}`, 16);
}

/** Time that the oldest of the requests has waited. Screen readers skip it, because it changes every second. */
export function WaitingTime({ approvals }: { approvals: readonly ApprovalRequest[] }) {
  const [shownAt] = useState(Date.now);
  const since = Math.min(...approvals.map((approval) => requestedAt(approval) ?? shownAt));
  const now = useNow(1_000);
  return (
    <span aria-hidden="true" className="text-sm font-normal text-ink-2 tabular-nums">
      {formatWaitingTime(Math.max(0, Math.floor((now - since) / 1_000)))}
    </span>
  );
}

/** Formats seconds as a clock does: "0:42", "1:02:03". */
export function formatWaitingTime(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const parts = hours > 0 ? [hours, minutes, seconds % 60] : [minutes, seconds % 60];
  return parts.map((part, index) => String(part).padStart(index > 0 ? 2 : 1, "0")).join(":");
}

/** Sticky heading over several calls that wait for approval. */
export function ApprovalGroupHead({ approvals }: { approvals: readonly ApprovalRequest[] }) {
  return (
    <h4 className="sticky -top-5 z-10 wide:-top-7 flex min-h-[42px] items-center gap-2.5 rounded-t-md border border-warn-dot bg-warn-soft px-3 text-md font-medium text-warn">
      <TriangleAlert aria-hidden="true" className="size-4 shrink-0" />
      <span className="flex-1">{t("approval.group.title", { n: approvals.length })}</span>
      <WaitingTime approvals={approvals} />
    </h4>
  );
}

/** Buttons that answer all calls of a group. Each call can still be answered on its own. */
export function ApprovalGroupFoot({ approvals }: { approvals: readonly ApprovalRequest[] }) {
  const chatId = use(ChatId);
  const foot = useFocusHandover<HTMLDivElement>(buttonOfLastCard);
  const answer = useMutation({
    mutationFn: async ({ decision, allowing }: Omit<Response, "args">) => {
      if (allowing !== undefined) await allowTools(allowing, "read-only", "always");
      const answered = allowing === undefined ? approvals : approvals.filter(isReadOnly);
      const results = await Promise.allSettled(
        answered.map(({ id }) => decide(chatId, id, decision, undefined)),
      );
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  });
  const respond = (decision: Decision, allowing?: string) => {
    if (!answer.isPending) answer.mutate({ decision, allowing });
  };
  return (
    <div
      ref={foot}
      role="group"
      aria-label={t("approval.group.title", { n: approvals.length })}
      className="-mt-2 flex flex-wrap items-center gap-2 rounded-b-md border border-warn-dot border-t-line bg-surface px-3 py-2.5"
    >
      <ErrorMessage error={answer.error} className="w-full" />
      <Button
        size="sm"
        variant="primary"
        aria-disabled={answer.isPending || undefined}
        onClick={() => respond("once")}
      >
        {t("approval.group.allow", { n: approvals.length })}
      </Button>
      <ReadOnlyToolsButton
        approvals={approvals}
        isPending={answer.isPending}
        onAllow={(connectionId) => respond("always", connectionId)}
      />
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

interface ReadOnlyToolsButtonProps {
  approvals: readonly ApprovalRequest[];
  isPending: boolean;
  onAllow: (connectionId: string) => void;
}

/** Button that allows all read-only tools of a server, if it is clear which server. */
function ReadOnlyToolsButton({ approvals, isPending, onAllow }: ReadOnlyToolsButtonProps) {
  const server = serverOfReadOnlyTools(approvals);
  if (server === undefined) return null;
  return (
    <Button size="sm" aria-disabled={isPending || undefined} onClick={() => onAllow(server.id)}>
      {t("approval.alwaysReadOnly", { server: server.name })}
    </Button>
  );
}

/** Returns true for a tool that its server describes as read-only and has not changed since it was allowed. */
function isReadOnly({ definition, before, instructions }: ApprovalRequest): boolean {
  return (before ?? instructions) === undefined && claimsOf(definition).includes("approval.claim.reads");
}

/** Returns the server of the read-only tools among these, if it is the same one for all. */
function serverOfReadOnlyTools(
  approvals: readonly ApprovalRequest[],
): { id: string; name: string } | undefined {
  const [first, ...others] = approvals.filter(isReadOnly);
  if (first?.connectionId === undefined || first.serverName === undefined) return undefined;
  const isOne = others.every(({ connectionId }) => connectionId === first.connectionId);
  return isOne ? { id: first.connectionId, name: first.serverName } : undefined;
}

function buttonOfLastCard(foot: HTMLElement): HTMLElement | null | undefined {
  return foot.previousElementSibling?.querySelector("button");
}

import { useMutation } from "@tanstack/react-query";
import { PencilLine } from "lucide-react";
import { use, useId, useLayoutEffect, useRef, useState } from "react";
import { claimsOf } from "@/components/approval/definition";
import { DefinitionChanges } from "@/components/approval/definition-changes";
import { TextBlock } from "@/components/tool-result/text-block";
import { errorText } from "@/lib/error-text";
import { formatList } from "@/lib/intl";
import { isObject, parseJson, stringifyJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { Field, Textarea } from "@/ui/field";
import { ChatId } from "../chat-context";
import { decide, type Decision } from "../queries";
import type { ApprovalRequest, ToolPart } from "../stream/message";

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
  const panel = useRef<HTMLElement>(null);
  const titleId = useId();
  const [draft, setDraft] = useState<string>();
  const [draftError, setDraftError] = useState<string>();
  const answer = useMutation({
    mutationFn: ({ decision, args }: { decision: Decision; args: unknown }) =>
      decide(chatId, approval.id, decision, args),
  });
  useLayoutEffect(() => {
    const own = panel.current;
    const card = own?.parentElement?.querySelector("button");
    // The request disappears after the decision; keyboard users continue from the card.
    return () => {
      if (own?.contains(document.activeElement) === true) card?.focus();
    };
  }, []);
  const { description } = approval.definition;
  const claims = claimsOf(approval.definition);
  const server = part.serverName ?? "";

  function respond(decision: Decision): void {
    if (answer.isPending) return;
    const read = draft === undefined || decision === "deny" ? {} : argumentsIn(draft);
    setDraftError(read.error);
    if (read.error === undefined) answer.mutate({ decision, args: read.value });
  }

  return (
    <section
      ref={panel}
      aria-labelledby={titleId}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 border-t border-line px-3.5 pt-3 pb-3.5"
    >
      <h4 id={titleId} className="text-md wrap-anywhere">
        {t("approval.title", { tool: part.toolName, server })}
      </h4>
      {(approval.before ?? approval.instructions) !== undefined && <DefinitionChanges approval={approval} />}
      {typeof description === "string" && description !== "" && (
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
      {answer.status === "error" && (
        <p role="alert" className="text-sm text-err wrap-anywhere">
          {errorText(answer.error)}
        </p>
      )}
      {/* However long the call is, its answers and its name stay in sight; the edge of the transcript fades. */}
      <div
        role="group"
        aria-label={t("approval.title", { tool: part.toolName, server })}
        className="sticky bottom-5 -mx-3.5 -mb-3.5 flex flex-wrap gap-2 rounded-b-md bg-surface px-3.5 pt-2 pb-3.5"
      >
        <p className="flex w-full min-w-0 items-baseline gap-2 text-sm">
          <span className="min-w-0 font-medium wrap-anywhere">{part.toolName}</span>
          <span className="min-w-0 truncate text-ink-2">{server}</span>
        </p>
        <Button size="sm" aria-disabled={answer.isPending} onClick={() => respond("once")}>
          {t("approval.once")}
        </Button>
        <Button size="sm" aria-disabled={answer.isPending} onClick={() => respond("always")}>
          {t("approval.always")}
        </Button>
        <Button size="sm" variant="danger" aria-disabled={answer.isPending} onClick={() => respond("deny")}>
          {t("approval.deny")}
        </Button>
        {draft === undefined && (
          <Button
            size="sm"
            variant="quiet"
            className="ml-auto"
            onClick={() => setDraft(stringifyJson(part.input, 2))}
          >
            <PencilLine aria-hidden="true" />
            {t("approval.edit")}
          </Button>
        )}
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

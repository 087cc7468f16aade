import { useMutation } from "@tanstack/react-query";
import { useId, useLayoutEffect, useRef } from "react";
import { showInvisible } from "@/lib/show-invisible";
import { t } from "./elicitation-text";
import { FormQuestion } from "./form-question";
import { type Action, type Request, toRequest } from "./request";
import { SignInQuestion } from "./sign-in-question";
import { VisitQuestion } from "./visit-question";

/** How a question is answered. */
export type Say = (action: Action, content?: unknown) => void;

interface ElicitationProps {
  /** The connection whose server asks. */
  server: string;
  request: unknown;
  onAnswer: (action: Action, content?: unknown) => Promise<void>;
}

/** A question that a call waits with, and the ways to answer it. It takes no focus, and no key answers by itself. */
export function Elicitation({ server, request, onAnswer }: ElicitationProps) {
  const panel = useRef<HTMLElement>(null);
  const titleId = useId();
  const answer = useMutation({
    mutationFn: ({ action, content }: { action: Action; content?: unknown }) => onAnswer(action, content),
  });
  useLayoutEffect(() => {
    const own = panel.current;
    const around = own?.parentElement?.querySelector("button");
    // It goes away when it is answered; who came to it with the keyboard goes on from what it belongs to.
    return () => {
      if (own?.contains(document.activeElement) === true) around?.focus();
    };
  }, []);
  const asked = toRequest(request);
  if (asked === null) return null;
  const say: Say = (action, content) => {
    if (!answer.isPending) answer.mutate({ action, content });
  };
  return (
    <section
      ref={panel}
      aria-labelledby={titleId}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 border-t border-line px-3.5 pt-3 pb-3.5"
    >
      <h3 id={titleId} className="text-md wrap-anywhere">
        {titleOf(asked, server)}
      </h3>
      {asked.mode !== "sign-in" && asked.message !== "" && (
        <p className="max-h-60 overflow-y-auto whitespace-pre-line wrap-anywhere" tabIndex={0}>
          {showInvisible(asked.message)}
        </p>
      )}
      <Question asked={asked} server={server} busy={answer.isPending} say={say} />
      {answer.status === "error" && (
        <p role="alert" className="text-sm text-err wrap-anywhere first-letter:uppercase">
          {answer.error.message}
        </p>
      )}
    </section>
  );
}

function titleOf(asked: Request, server: string): string {
  if (asked.mode === "form") return t("elicitation.form.title", { server });
  if (asked.mode === "url") return t("elicitation.url.title", { server });
  return t(asked.moreRights ? "elicitation.signIn.more" : "elicitation.signIn.title", { server });
}

interface QuestionProps {
  asked: Request;
  server: string;
  busy: boolean;
  say: Say;
}

function Question({ asked, ...rest }: QuestionProps) {
  if (asked.mode === "form") return <FormQuestion form={asked.form} {...rest} />;
  if (asked.mode === "url") return <VisitQuestion visit={asked} busy={rest.busy} say={rest.say} />;
  return <SignInQuestion connectionId={asked.connectionId} {...rest} />;
}

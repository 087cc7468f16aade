import { useMutation } from "@tanstack/react-query";
import { useId } from "react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { ErrorMessage } from "@/ui/error-message";
import { useFocusHandover } from "@/ui/focus";
import { FormElicitation } from "./form-elicitation";
import { type ElicitationAction, type InteractionRequest, parseRequest } from "./request";
import { SignInPrompt } from "./sign-in-prompt";
import { UrlElicitation } from "./url-elicitation";

/** Responds to an elicitation. */
export type Respond = (action: ElicitationAction, content?: unknown) => void;

interface ElicitationProps {
  /** Name of the connection whose server asks. */
  server: string;
  request: unknown;
  onAnswer: (action: ElicitationAction, content?: unknown) => Promise<void>;
}

/**
 * Interaction that a tool call waits for, with the buttons to respond. It takes no focus, and no key press responds.
 */
export function Elicitation({ server, request, onAnswer }: ElicitationProps) {
  // Keyboard users continue from the element that contains the request.
  const panel = useFocusHandover<HTMLElement>();
  const titleId = useId();
  const answer = useMutation({
    mutationFn: ({ action, content }: { action: ElicitationAction; content?: unknown }) =>
      onAnswer(action, content),
  });
  const parsed = parseRequest(request);
  if (parsed === null) return null;
  const respond: Respond = (action, content) => {
    if (!answer.isPending) answer.mutate({ action, content });
  };
  return (
    <section
      ref={panel}
      aria-labelledby={titleId}
      className="grid grid-cols-[minmax(0,1fr)] gap-3 border-t border-line px-3.5 pt-3 pb-3.5"
    >
      <h3 id={titleId} className="text-md wrap-anywhere">
        {titleOf(parsed, server)}
      </h3>
      {parsed.mode !== "sign-in" && parsed.message !== "" && (
        <p className="max-h-60 overflow-y-auto whitespace-pre-line wrap-anywhere" tabIndex={0}>
          {showInvisible(parsed.message)}
        </p>
      )}
      <InteractionForm parsed={parsed} server={server} busy={answer.isPending} respond={respond} />
      <ErrorMessage error={answer.error} />
    </section>
  );
}

function titleOf(parsed: InteractionRequest, server: string): string {
  if (parsed.mode === "form") return t("elicitation.form.title", { server });
  if (parsed.mode === "url") return t("elicitation.url.title", { server });
  return t(parsed.additionalScopes ? "elicitation.signIn.more" : "elicitation.signIn.title", { server });
}

interface InteractionFormProps {
  parsed: InteractionRequest;
  server: string;
  busy: boolean;
  respond: Respond;
}

function InteractionForm({ parsed, ...rest }: InteractionFormProps) {
  if (parsed.mode === "form") return <FormElicitation form={parsed.form} {...rest} />;
  if (parsed.mode === "url")
    return <UrlElicitation request={parsed} busy={rest.busy} respond={rest.respond} />;
  return <SignInPrompt connectionId={parsed.connectionId} {...rest} />;
}

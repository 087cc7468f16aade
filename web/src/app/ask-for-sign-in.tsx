import { useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Logo } from "@/ui/logo";

interface SignInChoice {
  /** Email address of the account that the link signs in to. */
  email: string;
  /** Email address of the signed-in account. */
  current: string | undefined;
}

/** Email addresses may be long. */
const wrapping = "h-auto! min-h-9 py-2 leading-tight! touch:min-h-11 whitespace-normal! wrap-anywhere";

interface QuestionProps extends SignInChoice {
  onAnswer: (isAccepted: boolean) => void;
}

/** Full-screen question whether to sign in with a link's account. */
function SignInQuestion({ email, current, onAnswer }: QuestionProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("h2")?.focus();
  }, []);
  // If accepting ends a session, refusing is the first button.
  const accept = (
    <Button
      key="accept"
      variant={current === undefined ? "primary" : "line"}
      className={wrapping}
      onClick={() => onAnswer(true)}
    >
      {t("account.link.question.yes", { email })}
    </Button>
  );
  const refuse = (
    <Button
      key="refuse"
      variant={current === undefined ? "line" : "primary"}
      className={wrapping}
      onClick={() => onAnswer(false)}
    >
      {current === undefined
        ? t("account.link.question.no")
        : t("account.link.question.keep", { email: current })}
    </Button>
  );
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-question"
      aria-describedby="sign-in-question-text"
      // Escape refuses.
      onClose={() => onAnswer(false)}
      className="m-0 h-dvh max-h-none w-screen max-w-none bg-paper px-5 py-6"
    >
      <div className="grid min-h-full grid-cols-[minmax(0,1fr)] place-items-center">
        <Card className="w-[min(400px,100%)] p-7">
          <Logo className="mb-4 size-11 rounded-[13px]" />
          {/* Neither answer has the focus: a key that was meant for another page must not choose. */}
          <h2 id="sign-in-question" tabIndex={-1} className="rounded-sm text-xl outline-none wrap-anywhere">
            {t("account.link.question", { email })}
          </h2>
          <div id="sign-in-question-text" className="mt-2 grid gap-2 text-ink-2 wrap-anywhere">
            <p>{t("account.link.question.text")}</p>
            {current !== undefined && <p>{t("account.link.question.current", { email: current })}</p>}
          </div>
          <div className="mt-5 grid gap-2">{current === undefined ? [accept, refuse] : [refuse, accept]}</div>
        </Card>
      </div>
    </dialog>
  );
}

/** Asks whether to sign in with a link's account; resolves to the answer. */
export function askForSignIn(choice: SignInChoice): Promise<boolean> {
  return new Promise((resolve) => {
    const place = document.body.appendChild(document.createElement("div"));
    const root = createRoot(place);
    root.render(
      <SignInQuestion
        {...choice}
        onAnswer={(isAccepted) => {
          root.unmount();
          place.remove();
          resolve(isAccepted);
        }}
      />,
    );
  });
}

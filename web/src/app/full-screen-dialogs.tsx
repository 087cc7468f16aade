import { type ReactNode, useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Logo } from "@/ui/logo";

/** Email addresses may be long. */
const wrapping = "h-auto! min-h-9 py-2 leading-tight! touch:min-h-11 whitespace-normal! wrap-anywhere";

interface SignInChoice {
  /** Email address of the account that the link signs in to. */
  email: string;
  /** Email address of the signed-in account. */
  current: string | undefined;
}

/** Asks whether to sign in with a link's account; resolves to the answer. */
export function askForSignIn({ email, current }: SignInChoice): Promise<boolean> {
  return showDialog((answer) => {
    const accept = (
      <Button
        key="accept"
        variant={current === undefined ? "primary" : "line"}
        className={wrapping}
        onClick={() => answer(true)}
      >
        {t("account.link.question.yes", { email })}
      </Button>
    );
    const refuse = (
      <Button
        key="refuse"
        variant={current === undefined ? "line" : "primary"}
        className={wrapping}
        onClick={() => answer(false)}
      >
        {current === undefined
          ? t("account.link.question.no")
          : t("account.link.question.keep", { email: current })}
      </Button>
    );
    return (
      // Escape refuses.
      <FullScreenDialog
        title={t("account.link.question", { email })}
        descriptionId={QUESTION_TEXT_ID}
        onClose={() => answer(false)}
      >
        <div id={QUESTION_TEXT_ID} className="mt-2 grid gap-2 text-ink-2 wrap-anywhere">
          <p>{t("account.link.question.text")}</p>
          {current !== undefined && <p>{t("account.link.question.current", { email: current })}</p>}
        </div>
        {/* If accepting ends a session, refusing is the first button. */}
        <div className="mt-5 grid gap-2">{current === undefined ? [accept, refuse] : [refuse, accept]}</div>
      </FullScreenDialog>
    );
  });
}

/** Covers the page with the result of a sign-in until the user closes the window or chooses to stay. */
export function showSignInDone({ title, text }: { title: string; text: string }): void {
  void showDialog<void>((close) => (
    <FullScreenDialog title={title} onClose={close}>
      <p className="mt-1 text-ink-2">{text}</p>
      <p className="mt-3">{t("account.server.closeWindow")}</p>
      <Button className="mt-5" onClick={() => close()}>
        {t("account.server.stay")}
      </Button>
    </FullScreenDialog>
  ));
}

const TITLE_ID = "full-screen-title";
const QUESTION_TEXT_ID = "full-screen-question";

interface FullScreenDialogProps {
  title: string;
  /** Id of the description of a question. Then no button has the focus at first. */
  descriptionId?: string;
  onClose: () => void;
  children: ReactNode;
}

/** Modal card that covers the page. */
function FullScreenDialog({ title, descriptionId, onClose, children }: FullScreenDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // A key that was meant for another page must not choose.
    if (descriptionId !== undefined) dialog.current?.querySelector("h2")?.focus();
  }, [descriptionId]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={TITLE_ID}
      aria-describedby={descriptionId}
      onClose={onClose}
      className="m-0 h-dvh max-h-none w-screen max-w-none bg-paper px-5 py-6"
    >
      <div className="grid min-h-full grid-cols-[minmax(0,1fr)] place-items-center">
        <Card className="w-[min(400px,100%)] p-7">
          <Logo className="mb-4 size-11 rounded-[13px]" />
          <h2 id={TITLE_ID} tabIndex={-1} className="rounded-sm text-xl outline-none wrap-anywhere">
            {title}
          </h2>
          {children}
        </Card>
      </div>
    </dialog>
  );
}

/** Renders a dialog outside of the app until it calls back with its result. */
function showDialog<Result>(render: (settle: (result: Result) => void) => ReactNode): Promise<Result> {
  return new Promise((resolve) => {
    const place = document.body.appendChild(document.createElement("div"));
    const root = createRoot(place);
    root.render(
      render((result) => {
        root.unmount();
        place.remove();
        resolve(result);
      }),
    );
  });
}

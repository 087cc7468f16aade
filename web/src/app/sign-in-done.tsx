import { useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Logo } from "@/ui/logo";

interface SignInDoneProps {
  title: string;
  text: string;
  onClose: () => void;
}

/** Full-window result of a sign-in in a window of its own. */
function SignInDone({ title, text, onClose }: SignInDoneProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-done"
      onClose={onClose}
      className="m-0 h-dvh max-h-none w-screen max-w-none bg-paper px-5 py-6"
    >
      <div className="grid min-h-full grid-cols-[minmax(0,1fr)] place-items-center">
        <Card className="w-[min(400px,100%)] p-7">
          <Logo className="mb-4 size-11 rounded-[13px]" />
          <h2 id="sign-in-done" className="text-xl">
            {title}
          </h2>
          <p className="mt-1 text-ink-2">{text}</p>
          <p className="mt-3">{t("account.server.closeWindow")}</p>
          <Button className="mt-5" onClick={() => dialog.current?.close()}>
            {t("account.server.stay")}
          </Button>
        </Card>
      </div>
    </dialog>
  );
}

/** Covers the page with the result of a sign-in until the user closes the window or chooses to stay. */
export function showSignInDone(words: { title: string; text: string }): void {
  const place = document.body.appendChild(document.createElement("div"));
  const root = createRoot(place);
  const leave = () => {
    root.unmount();
    place.remove();
  };
  root.render(<SignInDone {...words} onClose={leave} />);
}

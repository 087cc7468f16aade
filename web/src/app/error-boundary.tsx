import { Component, type ReactNode } from "react";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";

interface Props {
  children: ReactNode;
}

interface State {
  failed: boolean;
}

/** Error boundary that keeps a failing component from unmounting the rest of the page. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(): State {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <div
        role="alert"
        className="grid h-full min-h-60 place-content-center justify-items-center gap-3 p-5 text-center"
      >
        <h2 className="text-lg">{t("app.crash.title")}</h2>
        <p className="text-ink-2">{t("app.crash.text")}</p>
        <Button onClick={() => this.setState({ failed: false })}>{t("app.crash.retry")}</Button>
      </div>
    );
  }
}

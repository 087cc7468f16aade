import { Component, type ComponentType, lazy, type ReactNode } from "react";
import { pause } from "./backoff";
import { checkPageVersion } from "./page-version";
import { t } from "./t";

/** Milliseconds to wait before each further attempt to load a part that could not be loaded. */
const RETRY_DELAYS_MS = [300, 1_500];

class PartLoadError extends Error {}

/**
 * A component that is loaded when it is first shown. What the network lost is asked for again, then said in the part's
 * place with a button to try again; the rest of the page goes on. `React.lazy` alone would keep a failure for ever.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const makePart = () =>
    lazy(async () => {
      try {
        return { default: await loadWithRetries(load) };
      } catch (cause) {
        void checkPageVersion();
        throw new PartLoadError("a part of the page could not be loaded", { cause });
      }
    });
  let Part = makePart();
  // Not before the failure has been shown: React renders once more what has thrown, and would load without end.
  const forgetFailure = () => {
    Part = makePart();
  };
  return function LazyPart(props: Props) {
    return <PartBoundary onRetry={forgetFailure}>{() => <Part {...props} />}</PartBoundary>;
  };
}

/** Loads something now and keeps it ready; a failure matters only to whoever needs it later. */
export function preload(load: () => Promise<unknown>): void {
  load().catch(() => undefined);
}

/** @throws what the last attempt threw */
export async function loadWithRetries<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await load();
    } catch {
      // Ends early when the network is back.
      await pause(delay, new AbortController().signal);
    }
  }
  return load();
}

interface BoundaryProps {
  children: () => ReactNode;
  /** Called before the part is asked for again. */
  onRetry: () => void;
}

interface BoundaryState {
  error: unknown;
}

class PartBoundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: undefined };

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }

  override componentDidMount(): void {
    addEventListener("online", this.#retry);
  }

  override componentWillUnmount(): void {
    removeEventListener("online", this.#retry);
    // Where the part is shown next, it is loaded again.
    if (this.state.error instanceof PartLoadError) this.props.onRetry();
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return <LoadedPart render={this.props.children} />;
    // A fault of the part itself is no matter of loading it.
    if (!(error instanceof PartLoadError)) throw error;
    return (
      <div role="alert" className="flex flex-wrap items-center gap-2 p-2 text-sm text-ink-2">
        <p>{t("app.part.failed")}</p>
        <button
          type="button"
          onClick={this.#retry}
          className="min-h-8 rounded-sm border border-line-strong bg-surface px-2.5 font-medium text-ink hover:bg-sunken touch:min-h-11"
        >
          {t("app.crash.retry")}
        </button>
      </div>
    );
  }

  readonly #retry = () => {
    if (!(this.state.error instanceof PartLoadError)) return;
    this.props.onRetry();
    this.setState({ error: undefined });
  };
}

/** Asks for the part at each rendering: after a failure it is another one. */
function LoadedPart({ render }: { render: () => ReactNode }) {
  return render();
}

import { Component, type ComponentType, lazy, type ReactNode, useState } from "react";
import { pause } from "./backoff";
import { checkPageVersion } from "./page-version";
import { t } from "./t";
import { loadLaterTexts } from "./texts";

/** Delays before further attempts to load a part. */
const RETRY_DELAYS_MS = [300, 1_500];

class PartLoadError extends Error {}

/** Component that is loaded when it is first rendered, or in advance. */
interface LazyPart<Props> {
  (props: Props): ReactNode;
  /** Loads the part in advance; failures matter only when it is rendered. */
  readonly preload: () => Promise<void>;
}

/**
 * Returns a component that is loaded when it is first rendered, with the texts that come after the first screens. A
 * failed load is retried, then shown in the part's place with a retry button, unless the part is `isQuiet` because
 * nothing of it is visible; the rest of the page keeps working.
 * `React.lazy` alone would cache a failure forever.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  isQuiet = false,
): LazyPart<Props> {
  return lazyFirstPart(() => withLaterTexts(load), isQuiet);
}

/** Returns a lazy part of the first screens, which has no later texts and does not wait for them. */
export function lazyFirstPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  isQuiet = false,
): LazyPart<Props> {
  const makePart = (isWanted: boolean) =>
    lazy(async () => {
      try {
        return { default: await loadWithRetries(load) };
      } catch (cause) {
        const isCurrent = checkPageVersion();
        // Some browsers keep a module that failed for as long as the page lives. Then only a new page can load it; drafts
        // are kept, and the URL says what is open.
        if (isWanted && (await isCurrent)) await reloadPage();
        throw new PartLoadError("a part of the page could not be loaded", { cause });
      }
    });
  let Part = makePart(false);
  // Only after the failure has been shown: React renders a throwing component once more, which would load endlessly.
  const forgetFailure = (isWanted: boolean) => {
    Part = makePart(isWanted);
  };
  let preloaded: ComponentType<Props> | undefined;
  function LazyPart(props: Props) {
    // React replaces the placeholder of a part after 300 ms at the earliest; a preloaded part needs none.
    const [Preloaded] = useState(() => preloaded);
    if (Preloaded) return <Preloaded {...props} />;
    return (
      <PartBoundary onRetry={forgetFailure} isQuiet={isQuiet}>
        {() => <Part {...props} />}
      </PartBoundary>
    );
  }
  return Object.assign(LazyPart, {
    preload: () =>
      load().then(
        (part) => void (preloaded = part),
        () => undefined,
      ),
  });
}

/** Reloads the page. Never resolves, so that what waits for the new page shows that it is loading. */
function reloadPage(): Promise<never> {
  location.reload();
  return new Promise<never>(() => undefined);
}

/** Loads modules that use the later texts, and these texts. */
export async function withLaterTexts<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  const [loaded] = await Promise.all([load(), loadLaterTexts()]);
  return loaded;
}

/** Loads a part in advance; failures matter only to later callers. */
export function preload(load: () => Promise<unknown>): void {
  load().catch(() => undefined);
}

/**
 * Loads with retries.
 * @throws the error of the last attempt
 */
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
  /** Called before the part is loaded again, with true if the user asked for it. */
  onRetry: (isWanted: boolean) => void;
  /** Shows nothing in the part's place if it cannot be loaded. */
  isQuiet: boolean;
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
    addEventListener("online", this.#retryOnline);
  }

  override componentWillUnmount(): void {
    removeEventListener("online", this.#retryOnline);
    // Wherever the part is rendered next, it is loaded again.
    if (this.state.error instanceof PartLoadError) this.props.onRetry(false);
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return <LoadedPart render={this.props.children} />;
    // Errors of the part itself belong to other boundaries.
    if (!(error instanceof PartLoadError)) throw error;
    if (this.props.isQuiet) return null;
    return (
      <div role="alert" className="flex flex-wrap items-center gap-2 p-2 text-sm text-ink-2">
        <p>{t("app.part.failed")}</p>
        <button
          type="button"
          onClick={() => this.#retry(true)}
          className="min-h-8 rounded-sm border border-line-strong bg-surface px-2.5 font-medium text-ink hover:bg-sunken touch:min-h-11"
        >
          {t("app.crash.retry")}
        </button>
      </div>
    );
  }

  readonly #retryOnline = () => this.#retry(false);

  #retry(isWanted: boolean): void {
    if (!(this.state.error instanceof PartLoadError)) return;
    this.props.onRetry(isWanted);
    this.setState({ error: undefined });
  }
}

/** Requests the part in each render: after a failure it is a new one. */
function LoadedPart({ render }: { render: () => ReactNode }) {
  return render();
}

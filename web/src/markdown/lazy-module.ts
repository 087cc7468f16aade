import { useEffect, useReducer } from "react";
import { loadWithRetries, withLaterTexts } from "@/lib/lazy-part";

/**
 * Returns a hook that loads a module when it is first wanted, and returns it once it is there. Unlike a lazy component,
 * it leaves what is shown alone until then and after a failure, because answers can be read without it.
 */
export function lazyModule<Module>(load: () => Promise<Module>): (isWanted: boolean) => Module | undefined {
  let loaded: Module | undefined;
  let loading: Promise<void> | undefined;
  return function useLazyModule(isWanted) {
    const [, renderAgain] = useReducer((count: number) => count + 1, 0);
    useEffect(() => {
      if (!isWanted || loaded !== undefined) return undefined;
      let isMounted = true;
      loading ??= loadWithRetries(() => withLaterTexts(load)).then(
        (module) => void (loaded = module),
        // A later block tries again.
        () => void (loading = undefined),
      );
      void loading.then(() => isMounted && renderAgain());
      return () => void (isMounted = false);
    }, [isWanted]);
    return isWanted ? loaded : undefined;
  };
}

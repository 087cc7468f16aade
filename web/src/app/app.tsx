import { lazy, Suspense } from "react";
import { useSession } from "@/lib/session";
import { ErrorBoundary } from "./error-boundary";
import { LoadingPage } from "./loading-page";
import { Routes } from "./routes";

// Nothing has happened yet at the first paint that a toast could tell.
const Toaster = lazy(async () => ({ default: (await import("@/ui/toaster")).Toaster }));

export function App() {
  const session = useSession();
  return (
    <ErrorBoundary>
      <Suspense fallback={<LoadingPage />}>
        <Routes session={session} />
      </Suspense>
      <Suspense>
        <Toaster />
      </Suspense>
    </ErrorBoundary>
  );
}

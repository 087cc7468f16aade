import { Suspense } from "react";
import { useSession } from "@/lib/session";
import { ErrorBoundary } from "./error-boundary";
import { Toaster } from "./lazy-parts";
import { LoadingPage } from "./loading-page";
import { Routes } from "./routes";

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

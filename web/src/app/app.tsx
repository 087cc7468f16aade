import { Suspense } from "react";
import { useLanguage } from "@/lib/language";
import { useSession } from "@/lib/session";
import { ErrorBoundary } from "./error-boundary";
import { Toaster } from "./lazy-parts";
import { LoadingPage, Routes } from "./routes";

export function App() {
  const session = useSession();
  // Renders everything again when the language changes. Memoized components do the same for themselves.
  useLanguage();
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

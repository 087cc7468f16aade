import { Suspense, useEffect } from "react";
import { Link, Redirect, Route, Switch, useLocation, useSearchParams } from "wouter";
import { AuthPage } from "@/features/auth/auth-page";
import { useLanguage } from "@/lib/language";
import { type SessionState, useSession } from "@/lib/session";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { ErrorBoundary } from "./error-boundary";
import { HomePage, preloadHome, SharedPage, Toaster } from "./lazy-parts";
import { returnUrl, saveReturnUrl } from "./return-url";

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

interface RoutesProps {
  session: SessionState;
}

/** The three screens of the web app, with the session that each one needs. */
function Routes({ session }: RoutesProps) {
  return (
    <Switch>
      <Route path="/">
        <HomeRoute session={session} />
      </Route>
      <Route path="/auth">
        <AuthRoute session={session} />
      </Route>
      <Route>
        <NotFoundPage />
      </Route>
    </Switch>
  );
}

function HomeRoute({ session }: RoutesProps) {
  const [params] = useSearchParams();
  const shared = params.get("share");
  // Shared chats need no session.
  if (shared !== null) return <SharedPage token={shared} />;
  if (session.status === "checking") return <LoadingPage />;
  if (session.status === "signed-in") return <HomePage key={session.user.id} user={session.user} />;
  // A user who still has to enter a code or a new password is not signed in yet.
  saveReturnUrl();
  return <Redirect to="/auth" replace />;
}

function AuthRoute({ session }: RoutesProps) {
  if (session.status === "checking") return <LoadingPage />;
  if (session.status === "signed-in") return <Redirect to={returnUrl()} replace />;
  return <AuthPage session={session} startUrl={returnUrl} onEngaged={() => void preloadHome()} />;
}

/** Page while the session is being checked. */
function LoadingPage() {
  return (
    <main className="grid h-full place-items-center">
      <p role="status" className="appear-late flex items-center gap-2.5 text-ink-2">
        <Spinner />
        {t("app.loading")}
      </p>
    </main>
  );
}

function NotFoundPage() {
  const [path] = useLocation();
  useEffect(() => {
    console.error("404: no page at", path);
  }, [path]);
  return (
    <main className="grid h-full place-content-center justify-items-center px-5 text-center">
      <p className="text-[3.5rem] leading-16 tracking-tighter text-ink-2 tabular-nums">
        {t("notFound.code")}
      </p>
      <h1 className="mt-2 mb-[18px]">{t("notFound.title")}</h1>
      <Link href="/" className={buttonClass()}>
        {t("notFound.home")}
      </Link>
    </main>
  );
}

import { Redirect, Route, Switch, useSearchParams } from "wouter";
import { AuthPage } from "@/features/auth/auth-page";
import type { SessionState } from "@/lib/session";
import { t } from "@/lib/t";
import { Spinner } from "@/ui/spinner";
import { HomePage, preloadHome, SharedPage } from "./lazy-parts";
import { NotFoundPage } from "./not-found-page";
import { returnUrl, saveReturnUrl } from "./return-url";

interface RoutesProps {
  session: SessionState;
}

/** The three screens of the web app, with the session that each one needs. */
export function Routes({ session }: RoutesProps) {
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
  return <AuthPage session={session} onEngaged={() => void preloadHome()} />;
}

/** Page while the session is being checked. */
export function LoadingPage() {
  return (
    <main className="grid h-full place-items-center">
      <p role="status" className="appear-late flex items-center gap-2.5 text-ink-2">
        <Spinner />
        {t("app.loading")}
      </p>
    </main>
  );
}

import { LogOut } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link, Redirect, Route, Router, Switch, useLocation } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { UserQueries } from "@/lib/user-queries";
import { cn } from "@/lib/cn";
import { Button } from "@/ui/button";
import { Logo } from "@/ui/logo";
import { Toaster } from "@/ui/toaster";
import { AuditLogPage } from "./audit-log-page";
import { RegistrationLinksPage } from "./registration-links-page";
import { SharedServersPage } from "./shared-servers-page";
import { SignInForm } from "./sign-in-form";
import { SystemPage } from "./system-page";
import { t } from "./t";
import { setToken, useToken } from "./token";
import { UsagePage } from "./usage-page";
import { UserPage } from "./user-page";
import { UsersPage } from "./users-page";

/** The server has one path for the page. */
const hashRouting = { hook: useHashLocation };

/** The operator's page: the sign-in form without a token, otherwise the sections. */
export function OperatorApp() {
  const token = useToken();
  if (token === null) return <SignInForm />;
  return (
    // What one token has loaded is not shown to the next.
    <UserQueries key={token}>
      <Router {...hashRouting}>
        <Sections />
      </Router>
      <Toaster />
    </UserQueries>
  );
}

const sections = [
  { path: "/users", label: "operator.users" },
  { path: "/registration-links", label: "operator.links" },
  { path: "/usage", label: "operator.usage" },
  { path: "/audit-log", label: "operator.audit" },
  { path: "/shared-servers", label: "operator.servers" },
  { path: "/system", label: "operator.system" },
] as const;

function Sections() {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(location);
  useEffect(() => {
    if (shown.current === location) return;
    // A link of the page has led elsewhere: readers continue at the beginning.
    shown.current = location;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [location]);
  return (
    <div className="grid min-h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]">
      <OperatorHeader location={location} />
      <main
        ref={main}
        tabIndex={-1}
        className="mx-auto w-full max-w-page px-5 pt-6 pb-12 outline-none max-wide:px-3 max-wide:pt-4"
      >
        <Switch>
          <Route path="/users" component={UsersPage} />
          <Route path="/users/:id">{({ id }) => <UserPage key={id} id={id} />}</Route>
          <Route path="/registration-links" component={RegistrationLinksPage} />
          <Route path="/usage" component={UsagePage} />
          <Route path="/audit-log/:user?">
            {({ user = "" }) => <AuditLogPage key={user} user={decodeURIComponent(user)} />}
          </Route>
          <Route path="/shared-servers" component={SharedServersPage} />
          <Route path="/system" component={SystemPage} />
          <Route>
            <Redirect to="/users" replace />
          </Route>
        </Switch>
      </main>
    </div>
  );
}

function OperatorHeader({ location }: { location: string }) {
  return (
    <header className="bleed-head flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-surface px-5 py-2.5 max-wide:px-3">
      <div className="flex min-w-0 flex-1 items-center gap-3">
        <Logo />
        <div className="min-w-0">
          <h1 className="leading-5 whitespace-nowrap">{t("operator.title")}</h1>
          <p className="truncate text-sm leading-[18px] text-ink-2">{t("operator.subtitle")}</p>
        </div>
      </div>
      <nav
        aria-label={t("operator.sections")}
        className="min-w-0 max-[1100px]:order-last max-[1100px]:w-full"
      >
        <ul className="flex gap-0.5 overflow-x-auto rounded-[12px] bg-sunken p-[3px]">
          {sections.map(({ path, label }) => (
            <li key={path} className="flex-1">
              <SectionLink path={path} label={t(label)} isCurrent={location.startsWith(path)} />
            </li>
          ))}
        </ul>
      </nav>
      <div className="flex flex-1 justify-end">
        <Button variant="quiet" className="px-2.5" onClick={() => setToken(null)}>
          <LogOut aria-hidden="true" />
          {t("operator.signOut")}
        </Button>
      </div>
    </header>
  );
}

interface SectionLinkProps {
  path: string;
  label: string;
  isCurrent: boolean;
}

function SectionLink({ path, label, isCurrent }: SectionLinkProps) {
  const link = useRef<HTMLAnchorElement>(null);
  // On phones the links scroll.
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [isCurrent]);
  return (
    <Link
      ref={link}
      href={path}
      aria-current={isCurrent ? "page" : undefined}
      className={cn(
        "flex h-8 items-center justify-center rounded-[9px] px-3.5 text-md font-medium whitespace-nowrap touch:h-11 max-wide:px-2.5",
        "-outline-offset-2 transition-colors duration-150 hover:text-ink",
        isCurrent ? "bg-surface text-ink shadow-raised" : "text-ink-2",
      )}
    >
      {label}
    </Link>
  );
}

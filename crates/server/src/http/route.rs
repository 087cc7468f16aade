//! Entries of the route table. There is no other way to a route: `cargo xtask check` refuses axum's own.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;

use crate::app::App;

/// Who may call a route. The handler enforces it; the matrix of the route table's tests calls every route as everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody; a token changes nothing.
    Anyone,
    /// A person with an access token, about what is their own. Where the person has a second factor, it has been sent.
    SignedIn,
    /// The same before the second factor is sent: the calls with which it is.
    FirstFactor,
    /// A person with an access token, about a thing that the request names. What belongs to others is not found.
    Owner,
    /// Everybody, and everybody sees the rows that are theirs: nobody's are none. Writing takes an access token.
    OwnRows,
    /// A person with an access token, or this server itself with a token that it made for the purpose.
    OwnToken,
    /// The administrator, with the service role key.
    Admin,
}

/// One route: its method, path and callers, and what answers.
#[derive(Debug)]
pub struct Route {
    method: Method,
    path: &'static str,
    access: Access,
    answer: MethodRouter<App>,
}

impl Route {
    fn new<H, T>(method: Method, filter: MethodFilter, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        Self { method, path, access, answer: on(filter, handler) }
    }
}

macro_rules! methods {
    ($($name:ident $method:ident;)+) => {$(
        #[doc = concat!("A route for `", stringify!($method), "`.")]
        pub fn $name<H, T>(path: &'static str, access: Access, handler: H) -> Route
        where
            H: Handler<T, App>,
            T: 'static,
        {
            Route::new(Method::$method, MethodFilter::$method, path, access, handler)
        }
    )+};
}

// `get` answers HEAD too, with the same headers and no body.
methods! {
    get GET;
    post POST;
    put PUT;
    patch PATCH;
    delete DELETE;
    options OPTIONS;
}

/// Routes below one path that share a protocol.
#[derive(Debug)]
pub struct Section {
    prefix: &'static str,
    routes: Vec<Route>,
    dress: fn(Router<App>) -> Router<App>,
}

impl Section {
    /// `dress` adds the protocol's own words for paths and methods that are not there, and what surrounds every answer.
    pub fn new(
        prefix: &'static str,
        routes: impl IntoIterator<Item = Route>,
        dress: fn(Router<App>) -> Router<App>,
    ) -> Self {
        Self { prefix, routes: routes.into_iter().collect(), dress }
    }

    /// What is known of each route.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.routes.iter().map(|Route { method, path, access, .. }| {
            // The root of a section is the section's path itself.
            let path = if *path == "/" && !self.prefix.is_empty() { "" } else { path };
            Entry { method: method.clone(), path: format!("{}{path}", self.prefix), access: *access }
        })
    }

    /// Adds the section to a router.
    pub fn add_to(self, router: Router<App>) -> Router<App> {
        let root = self.routes.iter().find(|route| route.path == "/").map(|route| route.answer.clone());
        let routes =
            self.routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.answer));
        let routes = (self.dress)(routes);
        if self.prefix.is_empty() {
            return router.merge(routes);
        }
        let router = router.nest(self.prefix, routes);
        // A nested root answers without the slash at its end only.
        root.into_iter().fold(router, |router, root| router.route(&format!("{}/", self.prefix), root))
    }
}

/// What is known of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The method. `GET` stands for `HEAD` too.
    pub method: Method,
    /// The whole path, with `{name}` for what varies.
    pub path: String,
    /// Who may call.
    pub access: Access,
}

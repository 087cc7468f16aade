//! Entries of a route table. All routes are declared through this module: `cargo xtask check` rejects axum's own
//! routing functions elsewhere, so that every route states its [`Access`]. `S` is the state of the router.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;

use crate::openapi::{Operation, OperationHandler, OperationOutput};

/// Callers that a route admits. The handler's extractor enforces it; a test calls every route of the table as every
/// kind of caller and compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any caller. A token is not read.
    Anyone,
    /// A user with an access token, acting on their own data. A user with a second factor must have verified it.
    SignedIn,
    /// As [`SignedIn`](Self::SignedIn), but the second factor may still be missing: the calls that verify it.
    FirstFactor,
    /// A user with an access token, acting on a resource that the request names. Resources of other users respond
    /// 404.
    Owner,
    /// Any caller, who sees only their own rows: none without a token. Writing requires an access token.
    OwnRows,
    /// A user with an access token, or this server with an internal token that it issued for this purpose.
    OwnToken,
    /// The administrator, with the service role key; at the operator's listener, with its token.
    Admin,
}

/// A route of the table: method, path, [`Access`], handler and, for the OpenAPI document, its description.
#[derive(Debug)]
pub struct Route<S> {
    method: Method,
    path: &'static str,
    access: Access,
    handler: MethodRouter<S>,
    description: Option<RouteDescription>,
}

/// The description of a route in the OpenAPI document.
#[derive(Debug, Clone, Copy)]
pub struct RouteDescription {
    /// What the route does, in one sentence or two.
    pub summary: &'static str,
    /// Adds what follows from the handler's signature.
    pub describe: fn(&mut Operation<'_>),
}

impl<S: Clone + Send + Sync + 'static> Route<S> {
    /// Creates a route whose `filter` matches `method`.
    fn new<H, T>(method: Method, filter: MethodFilter, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self { method, path, access, handler: on(filter, handler), description: None }
    }

    /// Adds the description, which follows from the signature of the handler.
    pub fn describe<H, Inputs, Output>(self, summary: &'static str, _handler: H) -> Self
    where
        H: OperationHandler<Inputs, Output>,
    {
        Self { description: Some(RouteDescription { summary, describe: H::describe }), ..self }
    }

    /// Adds the description of a route that only responds with the error `E`.
    pub fn describe_error<E: OperationOutput>(self, summary: &'static str) -> Self {
        Self { description: Some(RouteDescription { summary, describe: E::describe }), ..self }
    }
}

macro_rules! methods {
    ($($name:ident $method:ident;)+) => {$(
        #[doc = concat!("A route for `", stringify!($method), "`.")]
        pub fn $name<H, T, S>(path: &'static str, access: Access, handler: H) -> Route<S>
        where
            H: Handler<T, S>,
            T: 'static,
            S: Clone + Send + Sync + 'static,
        {
            Route::new(Method::$method, MethodFilter::$method, path, access, handler)
        }
    )+};
}

// axum's `GET` filter matches `HEAD` as well and responds with the same headers and no body.
methods! {
    get GET;
    post POST;
    put PUT;
    patch PATCH;
    delete DELETE;
    options OPTIONS;
}

/// Returns a vector of routes, each with the summary of its operation as a documentation comment.
#[macro_export]
macro_rules! routes {
    ($($(#[doc = $summary:literal])+ $method:ident($path:literal, $access:expr, $handler:expr)),+ $(,)?) => {
        vec![
            $($crate::route::$method($path, $access, $handler).describe(concat!($($summary),+).trim_ascii(), $handler)),+
        ]
    };
}

/// A group of routes below one path prefix that share a protocol, and so the shape of their errors.
#[derive(Debug)]
pub struct Section<S> {
    prefix: &'static str,
    routes: Vec<Route<S>>,
    layers: fn(Router<S>) -> Router<S>,
}

impl<S: Clone + Send + Sync + 'static> Section<S> {
    /// Creates a section. `layers` adds the layers of the protocol: its responses for unknown paths and methods, and
    /// everything that wraps all of its responses.
    pub fn new(
        prefix: &'static str,
        routes: impl IntoIterator<Item = Route<S>>,
        layers: fn(Router<S>) -> Router<S>,
    ) -> Self {
        Self { prefix, routes: routes.into_iter().collect(), layers }
    }

    /// Returns the [`Entry`] of each route, with the whole path.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.routes.iter().map(|Route { method, path, access, description, .. }| {
            // The root of a section is the section's path itself.
            let path = if *path == "/" && !self.prefix.is_empty() { "" } else { path };
            Entry {
                method: method.clone(),
                path: format!("{}{path}", self.prefix),
                access: *access,
                description: *description,
            }
        })
    }

    /// Adds the section's routes to `router`, below the section's prefix.
    pub fn add_to(self, router: Router<S>) -> Router<S> {
        let root = self.routes.iter().find(|route| route.path == "/").map(|route| route.handler.clone());
        let routes =
            self.routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
        // Before nesting, so that the layers also apply to the section's 404 and 405 responses.
        let routes = (self.layers)(routes);
        if self.prefix.is_empty() {
            return router.merge(routes);
        }
        let router = router.nest(self.prefix, routes);
        // axum's `nest` serves the root only without a trailing slash, so the path with a slash gets its own route.
        root.into_iter().fold(router, |router, root| router.route(&format!("{}/", self.prefix), root))
    }
}

/// Public facts about a [`Route`]: everything except its handler.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The HTTP method. `GET` includes `HEAD`.
    pub method: Method,
    /// The whole path, with `{name}` for each parameter.
    pub path: String,
    /// Callers that the route admits.
    pub access: Access,
    /// Its description in the OpenAPI document, unless a file describes it.
    pub description: Option<RouteDescription>,
}

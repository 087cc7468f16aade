//! The app on a free port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::{Clock, SystemClock, Timestamp};
use server::app::App;
use server::config::{Config, Source};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::{Database, Person};

/// An app that is running. It stops when it is dropped.
pub struct TestApp {
    /// Where it is, without a slash at the end.
    pub url: String,
    /// The app itself.
    pub app: App,
    /// What the requests go through.
    pub http: reqwest::Client,
    /// The address of its database, for opening it again.
    pub database_url: String,
    /// Its data folder.
    pub folder: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    served: Option<tokio::task::JoinHandle<()>>,
}

/// How an app is to be started.
#[derive(Debug, Clone)]
pub struct Builder {
    database: Database,
    settings: Vec<(String, String)>,
    clock: Option<Arc<MockClock>>,
    folder: Option<(Arc<TempDir>, String)>,
    is_exposed: bool,
}

impl Builder {
    /// On this kind of database.
    pub fn database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// With a setting, as in the environment.
    pub fn set(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }

    /// With a clock of the test's own.
    pub fn clock(mut self, clock: &Arc<MockClock>) -> Self {
        self.clock = Some(Arc::clone(clock));
        self
    }

    /// On the data of an app that was stopped.
    pub fn on_data_of(mut self, folder: &Arc<TempDir>, database_url: &str) -> Self {
        self.folder = Some((Arc::clone(folder), database_url.to_owned()));
        self
    }

    /// As one that other machines can reach: people may not connect it to places on its own machine. (It listens on
    /// loopback all the same.)
    pub fn exposed(mut self) -> Self {
        self.is_exposed = true;
        self
    }

    /// Starts it.
    pub async fn start(self) -> TestApp {
        let (folder, database_url) = self.folder.unwrap_or_else(|| {
            let folder = TempDir::new().unwrap();
            let url = self.database.create(&folder);
            (Arc::new(folder), url)
        });
        let mut source = Source::default()
            .with("CHAT_DATA_DIR", folder.path().display().to_string())
            .with("DATABASE_URL", database_url.clone())
            .with("CHAT_LOCAL_MODEL", "off")
            .with("CHAT_RATE_LIMITS", "off");
        for (name, value) in self.settings {
            source = source.with(&name, value);
        }
        let config = Config::from_source(source).unwrap();
        let listener = server::http::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let clock: Arc<dyn Clock> = self.clock.map_or_else(|| Arc::new(SystemClock) as _, |clock| clock as _);
        let told = if self.is_exposed { SocketAddr::from(([0, 0, 0, 0], address.port())) } else { address };
        let app = App::start_at(config, told, clock).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = app.clone();
        #[expect(clippy::disallowed_methods, reason = "the handle is awaited in stop")]
        let served = tokio::spawn(async move {
            server::http::serve(serving.clone(), listener, async { drop(stopped.await) }).await;
            serving.stop().await;
        });
        TestApp {
            url: format!("http://{address}"),
            app,
            http: http_client(),
            database_url,
            folder,
            stop: Some(stop),
            served: Some(served),
        }
    }
}

impl TestApp {
    /// With the usual settings, on the database that the environment names.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// For other settings.
    pub fn builder() -> Builder {
        Builder {
            database: Database::of_environment(),
            settings: Vec::new(),
            clock: None,
            folder: None,
            is_exposed: false,
        }
    }

    /// On this kind of database.
    pub async fn on(database: Database) -> Self {
        Self::builder().database(database).start().await
    }

    /// A new person with an account, signed in.
    pub async fn person(&self) -> Person {
        Person::sign_up(self).await
    }

    /// Stops it as the system would, and waits until it has stopped.
    pub async fn stop(mut self) -> (Arc<TempDir>, String) {
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            served.await.unwrap();
        }
        (Arc::clone(&self.folder), self.database_url.clone())
    }
}

/// A client for requests to apps and scripted servers on loopback.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
pub fn http_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// The same with a connection of its own for each request.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
pub fn client_without_pool() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
}

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct MockClock(AtomicI64);

impl MockClock {
    /// A clock that stands at a fixed moment.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_795_255_200_000_000)))
    }

    /// Moves it on.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for MockClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

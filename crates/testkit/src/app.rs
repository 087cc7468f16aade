//! The application on a free port, with a database and a data folder of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent::chats::maintenance::ChatMaintenance;
use api::AppState;
use domain::{Clock, SystemClock, Timestamp};
use platform::config::{Config, Source};
use server::app::App;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::{Database, Person};

/// A running server. It stops when it is dropped; [`TestApp::stop`] also waits for the end.
pub struct TestApp {
    /// Origin of the server, without a trailing slash.
    pub url: String,
    /// Origin of the operator's listener, without a trailing slash, if the settings name one. Its address in the settings
    /// has the port 0.
    pub admin_url: Option<String>,
    /// The services, for tests that look inside or call them directly.
    pub state: AppState,
    /// Maintenance of chats, files and the search index.
    pub maintenance: Arc<ChatMaintenance>,
    /// The client that sends the requests.
    pub http: reqwest::Client,
    /// URL of the database, to start another server on the same data.
    pub database_url: String,
    /// The data folder.
    pub folder: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    served: Option<tokio::task::JoinHandle<()>>,
}

/// Settings for starting a [`TestApp`].
#[derive(Debug, Clone)]
pub struct Builder {
    database: Database,
    settings: Vec<(String, String)>,
    clock: Option<Arc<MockClock>>,
    folder: Option<(Arc<TempDir>, String)>,
    is_exposed: bool,
}

impl Builder {
    /// Selects the kind of [`Database`].
    pub fn database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// Sets an environment variable of the configuration.
    pub fn set(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces the system clock by a [`MockClock`].
    pub fn clock(mut self, clock: &Arc<MockClock>) -> Self {
        self.clock = Some(Arc::clone(clock));
        self
    }

    /// Uses the data of a stopped [`TestApp`] instead of an empty folder and database.
    pub fn on_data_of(mut self, folder: &Arc<TempDir>, database_url: &str) -> Self {
        self.folder = Some((Arc::clone(folder), database_url.to_owned()));
        self
    }

    /// Starts the server as one that other machines can reach, so that users may not connect to addresses on its own
    /// machine. It listens on the loopback interface all the same.
    pub fn exposed(mut self) -> Self {
        self.is_exposed = true;
        self
    }

    /// Starts the [`TestApp`], with rate limits, the MCP registry and the built-in model switched off unless the settings say otherwise.
    pub async fn start(self) -> TestApp {
        let (folder, database_url) = self.folder.unwrap_or_else(|| {
            let folder = TempDir::new().unwrap();
            let url = self.database.create(&folder);
            (Arc::new(folder), url)
        });
        let mut source = Source::default()
            .with("CHAT_DATA_DIR", folder.path().display().to_string())
            .with("DATABASE_URL", database_url.clone())
            // Both would slow tests down or make them depend on each other.
            .with("CHAT_LOCAL_MODEL", "off")
            // A public server, which tests must not ask.
            .with("CHAT_MCP_REGISTRY", "off")
            .with("CHAT_RATE_LIMITS", "off");
        for (name, value) in self.settings {
            source = source.with(&name, value);
        }
        let config = Config::from_source(source).unwrap();
        // Port 0: the system selects a free port, so that tests can run in parallel.
        let listener = http_server::serve::listen(SocketAddr::from(([127, 0, 0, 1], 0)), "CHAT_LISTEN").unwrap();
        // The system has selected a port by now.
        let address = listener.local_addr().unwrap();
        let clock: Arc<dyn Clock> = self.clock.map_or_else(|| Arc::new(SystemClock) as _, |clock| clock as _);
        // The network policy depends on the address that is configured, not on the socket.
        let told = if self.is_exposed { SocketAddr::from(([0, 0, 0, 0], address.port())) } else { address };
        let app = App::start_at(config, told, clock).await.unwrap();
        let admin_url = app.state.config.admin_listener.as_ref().map(|admin| {
            let listener = http_server::serve::listen(admin.address, "CHAT_ADMIN_LISTEN").unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            app.state.tasks.spawn("admin listener", api::serve_admin(app.state.clone(), listener));
            url
        });
        let (stop, stopped) = oneshot::channel();
        let (state, maintenance) = (app.state.clone(), Arc::clone(&app.maintenance));
        #[expect(clippy::disallowed_methods, reason = "the handle is awaited in stop")]
        let served = tokio::spawn(async move {
            api::serve(app.state.clone(), listener, async { drop(stopped.await) }).await;
            app.stop().await;
        });
        TestApp {
            url: format!("http://{address}"),
            admin_url,
            state,
            maintenance,
            http: http_client(),
            database_url,
            folder,
            stop: Some(stop),
            served: Some(served),
        }
    }
}

impl TestApp {
    /// Starts a server with default settings on the [`Database`] that the environment selects.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Returns a [`Builder`] for other settings.
    pub fn builder() -> Builder {
        Builder {
            database: Database::of_environment(),
            settings: Vec::new(),
            clock: None,
            folder: None,
            is_exposed: false,
        }
    }

    /// Starts a server with default settings on this kind of database.
    pub async fn on(database: Database) -> Self {
        Self::builder().database(database).start().await
    }

    /// Creates a user with an account and signs in, as a [`Person`].
    pub async fn person(&self) -> Person {
        Person::sign_up(self).await
    }

    /// Shuts the server down as the operating system would, and waits for the end. Returns its data for
    /// [`Builder::on_data_of`].
    pub async fn stop(mut self) -> (Arc<TempDir>, String) {
        // Closing the channel is the signal to stop.
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            served.await.unwrap();
        }
        (Arc::clone(&self.folder), self.database_url.clone())
    }
}

/// Returns a client for servers on the loopback interface. It ignores the environment's proxies.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
pub fn http_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Like [`http_client`], but with a new connection for each request.
#[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
pub fn client_without_pool() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
}

/// A clock that only moves when a test advances it.
#[derive(Debug)]
pub struct MockClock(AtomicI64);

impl MockClock {
    /// Creates a clock at a fixed time in November 2026.
    pub fn new() -> Arc<Self> {
        // Microseconds since the epoch, as in `Timestamp`.
        Arc::new(Self(AtomicI64::new(1_795_255_200_000_000)))
    }

    /// Advances the clock by whole seconds.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for MockClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
